//! A connection under a peer that may send anything. Bytes are the script, so that a fuzzer and a property test drive
//! the same.

use std::sync::Arc;

use transport::{
    Act, Connection, EcnMode, EndOptions, Endpoint, Flags, Input, Payload, Profile, Prompt, Reply, SackBlocks, Segment,
    Settings, State, SynOptions, TcpConfig, TcpEnd, Wake,
};
use units::{Bytes, Duration, Ecn, Time};

/// Numbers from bytes; zeros when they are used up.
struct Source<'a>(&'a [u8]);

impl Source<'_> {
    fn byte(&mut self) -> u64 {
        let (first, rest) = self.0.split_first().map_or((0, self.0), |(first, rest)| (u64::from(*first), rest));
        self.0 = rest;
        first
    }

    /// Mostly close to `near`, sometimes anywhere.
    fn offset(&mut self, near: u64) -> u64 {
        match self.byte() {
            0..=9 => near,
            10..=200 => (near + self.byte() * 250).saturating_sub(self.byte() * 250),
            201..=230 => self.byte() << (self.byte() % 56),
            _ => u64::MAX - self.byte(),
        }
    }

    fn segment(&mut self, una: u64, nxt: u64, next: u64) -> Segment {
        let flags = [Flags::ACK, Flags::FIN, Flags::SYN, Flags::RST, Flags::PSH, Flags::ECE, Flags::CWR, Flags::DUMMY];
        // a plain acknowledgment half of the time
        let bits = if self.byte() < 128 { 1 } else { self.byte() };
        let chosen =
            (0..8).filter(|bit| bits >> bit & 1 == 1).fold(Flags::default(), |all, bit| all | flags[bit as usize]);
        let accurate = chosen.has(Flags::ECE) && self.byte() < 128;
        let chosen = if accurate { chosen | Flags::AE } else { chosen };
        let mut sack = SackBlocks::default();
        for _ in 0..self.byte() % 5 {
            let (start, end) = (self.offset(una), self.offset(nxt));
            if start < end && sack.len() < SackBlocks::MAX {
                sack.push(start, end);
            }
        }
        let scale = self.byte();
        Segment {
            seq: self.offset(next),
            ack: self.offset(nxt),
            window: self.byte() << (self.byte() % 20),
            len: if self.byte() < 128 { 0 } else { (self.byte() * 23) as u32 },
            flags: chosen,
            ecn: [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][self.byte() as usize % 4],
            timestamps: (self.byte() < 160).then(|| (self.byte() as u32, self.byte() as u32)),
            sack,
            syn: chosen.has(Flags::SYN).then(|| SynOptions {
                mss: (self.byte() * 40) as u16,
                window_scale: (scale < 200).then_some(scale as u8),
                sack_permitted: self.byte() < 200,
                fast_open: None,
            }),
            accecn: None,
        }
    }

    /// A segment in order that carries data, or acknowledges something.
    fn expected(&mut self, now: Time, una: u64, nxt: u64, next: u64) -> Segment {
        let ack = match self.byte() {
            0..=99 => nxt,
            100..=199 => una,
            _ => (una + 1000).min(nxt),
        };
        Segment {
            seq: next,
            ack,
            window: 1 << (10 + self.byte() % 12),
            len: if self.byte() < 128 { 0 } else { 1000 },
            flags: if self.byte() < 200 { Flags::ACK } else { Flags::ACK | Flags::PSH },
            timestamps: (self.byte() < 128).then(|| ((now.as_nanos() / 1_000_000) as u32 + 1, self.byte() as u32)),
            ..Segment::default()
        }
    }

    fn settings(&mut self) -> Settings {
        let profile = Profile::ALL[self.byte() as usize % Profile::ALL.len()];
        // The one from outside needs somebody's code.
        let kinds = || transport::CongestionConfig::ALL.iter().filter(|kind| **kind != "external");
        let kind = kinds().cycle().nth(self.byte() as usize).expect("registered");
        let congestion = serde_json::from_value(serde_json::json!({ "kind": kind })).expect("a registered name");
        let config = TcpConfig { profile, congestion, mss: Some(Bytes::new(1000)), ..TcpConfig::default() };
        let ecn = [EcnMode::Off, EcnMode::Classic, EcnMode::Accurate][self.byte() as usize % 3];
        Settings { ecn, pacing: self.byte() < 60, ..config.resolve(1500) }
    }
}

/// Whatever comes, the connection neither panics nor loops nor loses count.
pub fn drive(script: &[u8]) {
    let mut source = Source(script);
    let settings = source.settings();
    let mut now = Time::ZERO;
    let mut connection = if source.byte() < 128 {
        Connection::connect(settings, now, source.byte())
    } else {
        Connection::listen(settings, source.byte())
    };
    let mut next = 0;
    while !source.0.is_empty() {
        let info = connection.info();
        match source.byte() {
            0..=150 => {
                let segment = source.segment(info.una, info.nxt, next);
                next = if segment.flags.has(Flags::SYN) { 1 } else { next.max(segment.end().min(1 << 40)) };
                connection.handle_segment(now, &segment);
            }
            151..=190 => {
                now = connection.poll_timeout().unwrap_or(now).max(now);
                connection.handle_timeout(now);
            }
            191..=210 => connection.write(now, source.byte() * 500),
            211..=214 => connection.close(),
            215 => match source.byte() % 4 {
                0 => connection.abandon(),
                1 => connection.set_cork(source.byte() < 128),
                2 => connection.write_more(now, source.byte() * 500),
                _ => connection.set_user_timeout(Some(Duration::from_millis(source.byte() * 100 + 1))),
            },
            216..=220 => connection.hold_reads(),
            221..=230 => drop(connection.read(source.byte() * 500)),
            _ => now += Duration::from_micros(source.byte() * 2000),
        }
        let mut sent = 0;
        while let Some(transmit) = connection.poll_transmit(now) {
            assert!(transmit.segment.len <= 1000 + 12, "longer than a segment: {transmit:?}");
            sent += 1;
            assert!(sent < 200_000, "a storm of segments");
        }
        connection.check();
        assert!(connection.info().window >= 1);
    }
}

/// Whatever comes, an end that answers in place sends what one sends that goes the general way, and is left as it.
pub fn answer_both_ways(script: &[u8]) {
    let mut source = Source(script);
    let settings = Arc::new(Settings { handshake: source.byte() < 20, ..source.settings() });
    let at = source.byte() as usize % 2;
    let options = EndOptions { entropy: source.byte(), ..EndOptions::default() };
    let mut ends = [0, 1].map(|_| {
        let [opens, accepts] = TcpEnd::pair(&settings, Time::ZERO, [options; 2]);
        if at == 0 { opens } else { accepts }
    });
    ends[0].go_generally();
    let (mut now, mut wake, mut next) = (Time::ZERO, Time::MAX, 1);
    while !source.0.is_empty() {
        let mut sent = [Vec::new(), Vec::new()];
        let mut wakes = [wake; 2];
        let info = ends[0].info();
        match source.byte() {
            byte @ 0..=170 => {
                let segment = if byte < 120 {
                    source.expected(now, info.una, info.nxt, next)
                } else {
                    source.segment(info.una, info.nxt, next)
                };
                enter(&mut ends[0], now, Input::Packet(&Payload::Tcp(segment)), &mut wakes[0], &mut sent[0]);
                answer(&mut ends[1], now, segment, &mut wakes[1], &mut sent[1]);
            }
            byte @ 171..=210 => {
                let input = if byte < 190 && wake < Time::MAX { Input::Timeout } else { Input::Acted };
                if matches!(input, Input::Timeout) {
                    now = now.max(wake);
                    let postponed = [0, 1].map(|one| ends[one].postpone(now));
                    assert_eq!(postponed[0], postponed[1]);
                    wakes = postponed.map(|at| at.unwrap_or(Time::MAX));
                    wake = wakes[0];
                    if wake < Time::MAX {
                        continue;
                    }
                }
                let act = if byte < 208 { Act::Write(Bytes::new(source.byte() * 500)) } else { Act::Close };
                for ((end, wake), sent) in ends.iter_mut().zip(&mut wakes).zip(&mut sent) {
                    if matches!(input, Input::Acted) {
                        end.act(now, act);
                    }
                    enter(end, now, input, wake, sent);
                }
            }
            _ => now += Duration::from_micros(source.byte() * 2000),
        }
        assert_eq!(sent[0], sent[1]);
        if let Some((Payload::Tcp(last), _)) = sent[0].last() {
            next = last.ack.min(1 << 40); // what the end expects, if it is no answer to a stray segment
        }
        assert_eq!(wakes[0], wakes[1]);
        assert_eq!(ends[0].info(), ends[1].info());
        assert_eq!(ends[0].counters(), ends[1].counters());
        wake = wakes[0];
    }
}

/// How often the data of the packet that a reply sends were sent before; `None` if it sends none.
pub fn sent_before(reply: Reply) -> Option<u32> {
    match reply {
        Reply::Refused | Reply::Quiet { .. } | Reply::QuietChanged => None,
        Reply::Sent { .. } => Some(0),
        Reply::SentChanged { before } | Reply::First { before } => Some(before as u32),
    }
}

/// The general way into an end.
fn enter(end: &mut TcpEnd, now: Time, input: Input<'_>, wake: &mut Time, sent: &mut Vec<(Payload, u32)>) {
    let mut blank = Payload::Tcp(Segment::default());
    let answer = end.handle(now, input, &mut blank, &mut |payload, sent_before| {
        sent.push((payload.clone(), sent_before));
    });
    if let Wake::At(at) = answer.wake {
        *wake = at;
    }
}

/// A segment is answered in its place, unless the end refuses as it has sent its FIN.
fn answer(end: &mut TcpEnd, now: Time, segment: Segment, wake: &mut Time, sent: &mut Vec<(Payload, u32)>) {
    let (mut payload, mut prompt) = (Payload::Tcp(segment), Prompt::Packet);
    loop {
        let reply = end.answer(now, prompt, &mut payload);
        if matches!(reply, Reply::Refused) {
            let state = end.info().state;
            assert!(!matches!(state, State::Established | State::CloseWait), "{state:?}: {prompt:?}");
            return enter(end, now, Input::Packet(&payload), wake, sent);
        }
        sent.extend(sent_before(reply).map(|sent_before| (payload.clone(), sent_before)));
        if matches!(reply, Reply::QuietChanged | Reply::SentChanged { .. })
            && let Wake::At(at) = end.poll_state().wake
        {
            *wake = at;
        }
        if !matches!(reply, Reply::First { .. }) {
            return;
        }
        prompt = Prompt::More;
    }
}
