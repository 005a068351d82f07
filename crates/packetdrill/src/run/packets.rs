//! Packets of a script: inbound ones become segments, outbound ones are compared with the segments sent.

use transport::{Flags, SackBlocks, Segment, State, SynOptions};
use units::{Duration, Ecn, Time};

use super::Runner;
use super::clock::{TimeRange, seconds};
use super::cookies::Cookies;
use super::stamps::Stamps;
use super::stop::{Stop, fail, skip};
use crate::host::{Host, Sent};
use crate::script::{IpEcn, OptionList, Packet, PacketFlags, TcpOption};

impl Runner {
    pub(super) fn inject(&mut self, packet: &Packet) -> Result<(), Stop> {
        let now = self.clock.now;
        self.listen_again(packet)?;
        let Some(host) = &mut self.host else {
            return skip("packet to a host without a socket");
        };
        if self.rules.strict
            && let Some(sent) = host.peek_sent()
        {
            let text = describe(sent, host.our_shift(), &self.cookies);
            return fail(format!(
                "a packet arrives, and what was sent at {} is not expected: {text}",
                seconds(sent.at)
            ));
        }
        // The kernel counts from the handshake as long as there are no data.
        let open = matches!(host.info().state, State::Listen | State::SynSent | State::SynReceived);
        if packet.len > 0 || open {
            self.data_received = now;
        }
        let opening = host.info().state == State::SynSent;
        if packet.flags.syn {
            self.peers_start = Some(packet.seq);
        }
        let whole = segment(packet, host.peers_shift(), &self.stamps, &mut self.cookies)?;
        for part in parts(whole, self.rules.mss) {
            host.inject(now, &part);
        }
        let reset = packet.flags.rst && host.info().state == State::Closed;
        self.failure.reset |= reset;
        self.failure.refused |= reset && opening;
        self.try_blocked()
    }

    /// Waits for the segment that `packet` describes and compares it; returns when it was sent.
    pub(super) fn expect(&mut self, packet: &Packet, range: &TimeRange) -> Result<Time, Stop> {
        let Some(mut sent) = self.next_sent(range.deadline())? else {
            return fail(format!("expected {} at {}, but nothing was sent", text_of(packet), range.text()));
        };
        // A packet may stand for several segments, of which a paced sender sends the later ones later.
        while (1..packet.len).contains(&sent.segment.len) && !self.rules.strict_segments {
            let Some(next) = self.await_sent(range.deadline())? else { break };
            if !continues(&sent.segment, &next.segment) {
                break;
            }
            merge(&mut sent, &next);
            self.next_sent(range.deadline())?;
        }
        self.compare(packet, &sent)?;
        range.check(&text_of(packet), sent.at)?;
        self.clock.now = self.clock.now.max(sent.at);
        Ok(sent.at)
    }

    fn difference(&self, what: &str, packet: &Packet, sent: &Sent) -> String {
        let shift = self.host.as_ref().map_or(0, Host::our_shift);
        let sent_text = describe(sent, shift, &self.cookies);
        format!("{what} differ: expected {}, sent was {sent_text} at {}", text_of(packet), seconds(sent.at))
    }

    fn compare(&mut self, packet: &Packet, sent: &Sent) -> Result<(), Stop> {
        let segment = &sent.segment;
        let shift = self.host.as_ref().map_or(0, Host::our_shift);
        let mut flags = flags_of(segment.flags);
        if !self.rules.strict {
            flags.psh = packet.flags.psh;
        }
        let ack = segment.flags.has(Flags::ACK).then_some(segment.ack);
        // A SYN has its numbers as they are, all others count from those of the SYNs.
        let start = self.peers_start.filter(|_| packet.flags.syn).unwrap_or(0);
        let wanted = packet.ack.map(|ack| ack.saturating_sub(start));
        let different = [
            ("flags", flags != packet.flags),
            ("sequence numbers", !packet.flags.syn && segment.seq != packet.seq),
            ("lengths", segment.len != packet.len),
            ("acknowledgment numbers", ack != wanted),
            ("windows", packet.window.is_some_and(|window| window != raw_window(segment, shift))),
            ("marks of the IP header", !packet.ecn.is_none_or(|ecn| fits(ecn, segment.ecn))),
        ];
        if let Some((what, _)) = different.iter().find(|(_, different)| *different) {
            return fail(self.difference(what, packet, sent));
        }
        let OptionList::These(expected) = &packet.options else {
            return Ok(());
        };
        let real = options_of(segment, &self.cookies);
        // Timestamps are compared by the time since the first one.
        let same = expected.len() == real.len()
            && expected.iter().zip(&real).all(|(a, b)| match (a, b) {
                (TcpOption::Timestamps(..), TcpOption::Timestamps(..)) => true,
                _ => a == b,
            });
        if !same {
            return fail(self.difference("options", packet, sent));
        }
        for (option, real) in expected.iter().zip(&real) {
            if let (TcpOption::Timestamps(script, _), TcpOption::Timestamps(real, _)) = (option, real) {
                self.compare_stamps(*script, *real, sent.at)?;
            }
        }
        Ok(())
    }

    /// Maps a timestamp of the script to the one sent. Where ticks are given, both clocks must have advanced equally
    /// since the first pair.
    fn compare_stamps(&mut self, script: u32, real: u32, at: Time) -> Result<(), Stop> {
        self.stamps.real.insert(script, real);
        let (first_script, first_real) = *self.stamps.first.get_or_insert((script, real));
        let Some(tick) = self.rules.stamp_tick else { return Ok(()) };
        let expected = tick * u64::from(script.wrapping_sub(first_script));
        let found = STAMP_TICK * u64::from(real.wrapping_sub(first_real));
        let off = expected.saturating_sub(found).max(found.saturating_sub(expected));
        let allowed = self.clock.tolerance.max(at.since(Time::ZERO).mul_f64(self.clock.percent / 100.0));
        if off <= allowed {
            return Ok(());
        }
        let found = (found.as_nanos() / tick.as_nanos()) as u32;
        fail(format!("expected the timestamp {script}, found {} ticks after the first, {first_script}", found))
    }
}

/// The connection's timestamps count milliseconds, as Linux's do.
const STAMP_TICK: Duration = Duration::from_millis(1);

/// The segment of an inbound packet.
fn segment(packet: &Packet, shift: u8, stamps: &Stamps, cookies: &mut Cookies) -> Result<Segment, Stop> {
    let mut segment = Segment {
        seq: if packet.flags.syn { 0 } else { packet.seq },
        ack: packet.ack.unwrap_or(0),
        len: packet.len,
        flags: bits(packet.flags),
        ..Segment::default()
    };
    let shift = if packet.flags.syn { 0 } else { shift };
    segment.window = u64::from(packet.window.unwrap_or(0)) << shift;
    if let Some(IpEcn::Is(ecn)) = packet.ecn {
        segment.ecn = ecn;
    }
    let OptionList::These(options) = &packet.options else {
        return Ok(segment);
    };
    // RFC 9293 section 3.7.1: the defaults of missing options.
    let mut syn = SynOptions { mss: 536, window_scale: None, sack_permitted: false, fast_open: None };
    for option in options {
        match option {
            TcpOption::Mss(mss) => syn.mss = *mss,
            TcpOption::WindowScale(shift) => syn.window_scale = Some(*shift),
            TcpOption::SackPermitted => syn.sack_permitted = true,
            TcpOption::Nop | TcpOption::Eol => {}
            TcpOption::FastOpen(digits) => syn.fast_open = Some(cookies.option(digits, false)),
            TcpOption::FastOpenExperimental(digits) => syn.fast_open = Some(cookies.option(digits, true)),
            TcpOption::Sack(blocks) => segment.sack = blocks.iter().copied().collect::<SackBlocks>(),
            TcpOption::Timestamps(value, echo) => {
                let echo = match (stamps.real.get(echo), echo) {
                    (Some(real), _) => *real,
                    (None, 0) => 0,
                    (None, _) if packet.flags.syn && !packet.flags.ack => 0, // it answers nothing
                    (None, _) => return fail(format!("the echoed timestamp {echo} was never sent")),
                };
                segment.timestamps = Some((*value, echo));
            }
        }
    }
    segment.syn = packet.flags.syn.then_some(syn);
    Ok(segment)
}

/// Cuts a long packet into segments, as a network card would.
fn parts(whole: Segment, mss: Option<u32>) -> Vec<Segment> {
    let most = mss.unwrap_or(u32::MAX).max(1);
    let mut parts = Vec::new();
    let mut rest = whole;
    while rest.len > most {
        let mut part = rest;
        part.len = most;
        part.flags = without(part.flags, Flags::FIN | Flags::PSH);
        parts.push(part);
        rest.seq += u64::from(most);
        rest.len -= most;
    }
    parts.push(rest);
    parts
}

fn without(flags: Flags, not: Flags) -> Flags {
    let all = [Flags::FIN, Flags::SYN, Flags::RST, Flags::PSH, Flags::ACK, Flags::ECE, Flags::CWR];
    all.into_iter().filter(|flag| flags.has(*flag) && !not.has(*flag)).fold(Flags::default(), |kept, flag| kept | flag)
}

/// Whether `next` continues `sent`, so that a script may write both as one packet.
fn continues(sent: &Segment, next: &Segment) -> bool {
    let control = Flags::FIN | Flags::PSH | Flags::CWR;
    next.seq == sent.seq + u64::from(sent.len)
        && next.len > 0
        && !sent.flags.has(Flags::FIN)
        && next.ack == sent.ack
        && next.ecn == sent.ecn
        && without(next.flags, control) == without(sent.flags, control)
}

fn merge(sent: &mut Sent, next: &Sent) {
    let segment = &mut sent.segment;
    segment.len += next.segment.len;
    let ends = [Flags::FIN, Flags::PSH].into_iter().filter(|flag| next.segment.flags.has(*flag));
    segment.flags = ends.fold(without(segment.flags, Flags::FIN | Flags::PSH), |flags, flag| flags | flag);
}

const BITS: [Flags; 7] = [Flags::SYN, Flags::FIN, Flags::RST, Flags::PSH, Flags::ACK, Flags::ECE, Flags::CWR];

fn bits(flags: PacketFlags) -> Flags {
    let set = [flags.syn, flags.fin, flags.rst, flags.psh, flags.ack, flags.ece, flags.cwr];
    BITS.into_iter().zip(set).filter(|(_, set)| *set).fold(Flags::default(), |bits, (flag, _)| bits | flag)
}

fn flags_of(bits: Flags) -> PacketFlags {
    PacketFlags {
        syn: bits.has(Flags::SYN),
        fin: bits.has(Flags::FIN),
        rst: bits.has(Flags::RST),
        psh: bits.has(Flags::PSH),
        ack: bits.has(Flags::ACK),
        ece: bits.has(Flags::ECE),
        cwr: bits.has(Flags::CWR),
    }
}

fn fits(expected: IpEcn, ecn: Ecn) -> bool {
    match expected {
        IpEcn::Is(codepoint) => codepoint == ecn,
        IpEcn::Capable => ecn == Ecn::Ect0 || ecn == Ecn::Ect1,
    }
}

fn raw_window(segment: &Segment, shift: u8) -> u32 {
    let shift = if segment.flags.has(Flags::SYN) { 0 } else { shift };
    (segment.window >> shift).min(65_535) as u32
}

/// The options of a segment in the order and with the padding of Linux.
fn options_of(segment: &Segment, cookies: &Cookies) -> Vec<TcpOption> {
    use TcpOption::{Mss, Nop, Sack, SackPermitted, Timestamps, WindowScale};
    let mut options = Vec::new();
    let stamps = segment.timestamps.map(|(value, echo)| Timestamps(value, echo));
    match (segment.syn, stamps) {
        (Some(syn), stamps) => {
            options.push(Mss(syn.mss));
            match (syn.sack_permitted, stamps) {
                (true, Some(stamps)) => options.extend([SackPermitted, stamps]),
                (true, None) => options.extend([Nop, Nop, SackPermitted]),
                (false, Some(stamps)) => options.extend([Nop, Nop, stamps]),
                (false, None) => {}
            }
            if let Some(shift) = syn.window_scale {
                options.extend([Nop, WindowScale(shift)]);
            }
            if let Some(option) = syn.fast_open {
                options.push(cookies.written(option));
                let bytes: usize = options.iter().map(TcpOption::bytes).sum();
                options.resize(options.len() + bytes.next_multiple_of(4) - bytes, Nop);
            }
        }
        (None, Some(stamps)) => options.extend([Nop, Nop, stamps]),
        (None, None) => {}
    }
    if !segment.sack.is_empty() {
        options.extend([Nop, Nop, Sack(segment.sack.as_slice().to_vec())]);
    }
    options
}

/// A segment in the notation of scripts.
pub(super) fn describe(sent: &Sent, shift: u8, cookies: &Cookies) -> String {
    let segment = &sent.segment;
    let packet = Packet {
        ecn: (segment.ecn != Ecn::NotEct).then_some(IpEcn::Is(segment.ecn)),
        flags: flags_of(segment.flags),
        seq: segment.seq,
        len: segment.len,
        ack: segment.flags.has(Flags::ACK).then_some(segment.ack),
        window: Some(raw_window(segment, shift)),
        options: OptionList::These(options_of(segment, cookies)),
    };
    text_of(&packet)
}

fn text_of(packet: &Packet) -> String {
    let flags = packet.flags;
    let letters = [
        (flags.syn, 'S'),
        (flags.fin, 'F'),
        (flags.rst, 'R'),
        (flags.psh, 'P'),
        (flags.ece, 'E'),
        (flags.cwr, 'W'),
        (flags.ack, '.'),
    ];
    let mut text: String = letters.iter().filter(|(set, _)| *set).map(|(_, letter)| *letter).collect();
    if text.is_empty() {
        text.push('-');
    }
    let mark = match packet.ecn {
        None => "",
        Some(IpEcn::Capable) => "[ect01] ",
        Some(IpEcn::Is(Ecn::NotEct)) => "[noecn] ",
        Some(IpEcn::Is(Ecn::Ect0)) => "[ect0] ",
        Some(IpEcn::Is(Ecn::Ect1)) => "[ect1] ",
        Some(IpEcn::Is(Ecn::Ce)) => "[ce] ",
    };
    text = format!("{mark}{text} {}:{}({})", packet.seq, packet.seq + u64::from(packet.len), packet.len);
    if let Some(ack) = packet.ack {
        text.push_str(&format!(" ack {ack}"));
    }
    if let Some(window) = packet.window {
        text.push_str(&format!(" win {window}"));
    }
    match &packet.options {
        OptionList::Any => text.push_str(" <...>"),
        OptionList::These(options) if options.is_empty() => {}
        OptionList::These(options) => {
            let texts: Vec<String> = options.iter().map(option_text).collect();
            text.push_str(&format!(" <{}>", texts.join(",")));
        }
    }
    text
}

fn option_text(option: &TcpOption) -> String {
    match option {
        TcpOption::Mss(mss) => format!("mss {mss}"),
        TcpOption::WindowScale(shift) => format!("wscale {shift}"),
        TcpOption::SackPermitted => "sackOK".into(),
        TcpOption::Nop => "nop".into(),
        TcpOption::Eol => "eol".into(),
        TcpOption::FastOpen(digits) => format!("FO {digits}").trim_end().into(),
        TcpOption::FastOpenExperimental(digits) => format!("FOEXP {digits}").trim_end().into(),
        TcpOption::Timestamps(value, echo) => format!("TS val {value} ecr {echo}"),
        TcpOption::Sack(blocks) => {
            let blocks: Vec<String> = blocks.iter().map(|(start, end)| format!("{start}:{end}")).collect();
            format!("sack {}", blocks.join(" "))
        }
    }
}
