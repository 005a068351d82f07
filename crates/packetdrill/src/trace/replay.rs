//! Replays a recording through a connection.

use std::collections::{BTreeMap, VecDeque};

use transport::{Flags, SackBlocks, Segment, SynOptions};
use units::{Duration, Ecn, Time};

use super::compare::{Bounds, Difference, SegmentShape, infos};
use super::file::{Header, Line, Packet, Recording, What, instant};
use crate::host::Host;
use crate::run::Stack;

/// The tick of the recording kernel's clock.
const TICK: &str = "4 ms";
/// The kernel's default of `tcp_tso_win_divisor`.
const OFFLOAD: i64 = 3;
/// The zero of the recording's clock on our clock, or up to a tick later: late enough for the handshake before it.
pub(super) const ORIGIN: Time = Time::from_nanos(1_000_000_000);
/// The step in which phases of the kernel's clock are tried.
pub(super) const PHASE: Duration = Duration::from_micros(250);
/// The window shift of the peer; the options of its SYN are not recorded.
const PEER_SHIFT: u8 = 8;
/// The time between ticks of the recorded kernel's clock.
const JIFFY: Duration = Duration::from_millis(4);
/// Our timer may be due this much later than the kernel's, because round-trip times are measured in ticks.
const EARLY: Duration = Duration::from_millis(5);
/// The longest time from sending a segment to recording it.
const RECORDING: Duration = Duration::from_micros(500);
/// The step of the kernel's timestamps, in ms: segments with the same one were sent within it, whenever they were
/// recorded.
const STAMP_MS: f64 = 1.0;
/// The most wake-ups at one instant.
const MAX_WAKES: u32 = 100;

/// Replays a recording and returns the differences beyond `bounds`; only the first unless `all`.
///
/// # Errors
/// The recording's settings are not supported.
pub fn replay(recording: &Recording, bounds: Bounds, all: bool) -> Result<Vec<Difference>, String> {
    let mut best: Option<Vec<Difference>> = None;
    for phase in 0..bounds.phases {
        let replayed = replay_at(recording, ORIGIN + PHASE * phase, bounds, all)?;
        if replayed.is_empty() {
            return Ok(replayed);
        }
        let from = |differences: &[Difference]| differences.first().map_or(f64::INFINITY, |first| first.at);
        if best.as_deref().is_none_or(|best| from(&replayed) > from(best)) {
            best = Some(replayed);
        }
    }
    Ok(best.unwrap_or_default())
}

fn replay_at(recording: &Recording, origin: Time, bounds: Bounds, all: bool) -> Result<Vec<Difference>, String> {
    let mut replay = Replay::new(recording, origin, bounds)?;
    for line in &recording.lines {
        replay.line(line);
        if !replay.differences.is_empty() && (!all || replay.out_of_step) {
            return Ok(replay.differences);
        }
    }
    replay.finish();
    Ok(replay.differences)
}

/// Our end in the kernel's place, with the recording's settings.
pub(super) fn sender(recording: &Recording) -> Result<Host, String> {
    let mut stack = Stack::linux();
    stack.set("offload_divisor", toml::Value::Integer(OFFLOAD));
    for (name, value) in &recording.header.sysctl {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        stack.assign(&format!("net.ipv4.{name}"), &value)?;
    }
    stack.assign("net.ipv4.tcp_congestion_control", &recording.header.cc)?;
    stack.set("timer_tick", toml::Value::String(TICK.into()));
    Ok(Host::passive(stack.settings(false, false)?))
}

struct Replay<'a> {
    header: &'a Header,
    /// The zero of the recording's clock on our clock.
    origin: Time,
    bounds: Bounds,
    host: Host,
    /// Segments that the kernel has sent and our connection has not yet; and the reverse.
    kernel: VecDeque<KernelSent>,
    ours: VecDeque<OurSent>,
    /// The number of the kernel's transmissions by first sequence number.
    transmissions: BTreeMap<u64, u32>,
    /// The kernel's timestamps, mapped to ours.
    stamps: BTreeMap<u32, u32>,
    /// When the kernel's timestamps were first recorded.
    recorded: BTreeMap<u32, f64>,
    now: Time,
    /// The next wake-up of the host, and since when it is this one.
    host_wake: (Option<Time>, Time),
    /// When the host's timer was due that fired last, and how late a kernel's may be; until what it sent is collected.
    fired: Option<(Time, Duration)>,
    /// The time of the SYN; the recording has only the end of the handshake.
    syn: Time,
    differences: Vec<Difference>,
    /// Kernel and connection sent a segment at different instants, so their later round-trip times differ.
    apart: bool,
    /// The segments differ, so nothing later can be compared.
    out_of_step: bool,
}

/// A segment of the kernel that our connection has not sent yet.
#[derive(Clone)]
struct KernelSent {
    shape: SegmentShape,
    push: bool,
    number: usize,
    at: f64,
    stamp: Option<u32>,
    /// When it was sent at the latest: its timestamp is that of a segment recorded before.
    sent: f64,
    /// Our connection had not sent it when something arrived, as far ahead as the bounds let the kernel be.
    carried: bool,
}

/// A segment of our connection that the kernel has not sent yet.
#[derive(Clone)]
struct OurSent {
    shape: SegmentShape,
    push: bool,
    at: Time,
    /// How much later a kernel may send the segment.
    late: Duration,
    stamp: Option<u32>,
    carried: bool,
}

impl<'a> Replay<'a> {
    fn new(recording: &'a Recording, origin: Time, bounds: Bounds) -> Result<Replay<'a>, String> {
        let host = sender(recording)?;
        // The handshake took as long as the kernel measured.
        let syn = match recording.handshake() {
            Some(handshake) => instant(origin, handshake.at) - handshake.rtt,
            None => instant(origin, recording.lines.first().map_or(0.0, |line| line.at)),
        };
        Ok(Replay {
            header: &recording.header,
            origin,
            bounds,
            host,
            kernel: VecDeque::new(),
            ours: VecDeque::new(),
            transmissions: BTreeMap::new(),
            stamps: BTreeMap::new(),
            recorded: BTreeMap::new(),
            now: Time::ZERO,
            host_wake: (None, Time::ZERO),
            fired: None,
            syn,
            differences: Vec::new(),
            apart: false,
            out_of_step: false,
        })
    }

    fn line(&mut self, line: &Line) {
        let mut at = instant(self.origin, line.at);
        match &line.what {
            What::In(packet) => {
                if packet.flags.starts_with('S') {
                    at = self.syn;
                }
                self.catch_up(at);
                self.settle(line, self.bounds.ahead);
                let segment = self.segment(packet);
                self.now = self.now.max(at);
                self.host.inject(self.now, &segment);
            }
            What::Write(bytes) => {
                self.catch_up(at);
                self.settle(line, self.bounds.ahead);
                self.now = self.now.max(at);
                self.host.write(self.now, *bytes);
            }
            What::Read(bytes) => {
                self.catch_up(at);
                self.settle(line, self.bounds.ahead);
                self.now = self.now.max(at);
                self.host.read(self.now, *bytes);
            }
            What::Out(packet) => {
                self.kernel_sent(packet, line);
                self.catch_up(at);
                self.answer(at);
            }
            What::Info(info) => {
                let ours = self.host.info();
                for (kind, kernel, ours) in infos(info, &ours, self.bounds, !self.apart) {
                    self.differ(line, kind, kernel, ours);
                }
            }
            What::Dropped(_) | What::Path => {}
        }
        self.collect();
        self.pair();
    }

    /// The end of the recording: whatever is still missing is a difference.
    fn finish(&mut self) {
        let Some(last) = self.lines_end() else { return };
        let line = Line { number: 0, at: last, what: What::Path };
        self.catch_up(instant(self.origin, last));
        self.collect();
        self.pair();
        self.settle(&line, self.bounds.ahead);
    }

    fn lines_end(&self) -> Option<f64> {
        (self.header.dur > 0.0).then_some(self.header.dur * 1e3)
    }

    fn kernel_sent(&mut self, packet: &Packet, line: &Line) {
        let sent_before = self.transmissions.entry(packet.seq).or_insert(0);
        let shape = SegmentShape::of_kernel(packet, *sent_before);
        *sent_before += u32::from(packet.len > 0);
        let stamp = packet.options.ts.map(|(value, _)| value);
        let push = packet.flags.contains('P');
        let first = stamp.map_or(line.at, |stamp| *self.recorded.entry(stamp).or_insert(line.at));
        let sent = line.at.min(first + STAMP_MS);
        let (number, at) = (line.number, line.at);
        self.kernel.push_back(KernelSent { shape, push, number, at, stamp, sent, carried: false });
    }

    /// Fires the timers that are due so long before `at` that no kernel's timer would be as late.
    fn catch_up(&mut self, at: Time) {
        for _ in 0..MAX_WAKES {
            let Some(wake) = self.host.wake() else { return };
            let late = lateness(wake.since(self.host_wake.1));
            if wake + late >= at {
                return;
            }
            self.now = self.now.max(wake);
            self.fired = Some((wake, late));
            self.host.fire(self.now);
            self.collect();
            self.pair();
        }
    }

    /// The kernel sent a segment: if ours has no segment for it and its timer is due, the timer fires.
    fn answer(&mut self, at: Time) {
        for _ in 0..MAX_WAKES {
            self.collect();
            let Some(wake) = self.host.wake().filter(|wake| *wake <= at + EARLY) else { return };
            if self.ours.len() >= self.kernel.len() {
                return;
            }
            self.now = self.now.max(at - RECORDING).max(wake);
            self.fired = Some((wake, lateness(wake.since(self.host_wake.1))));
            self.host.fire(self.now);
        }
    }

    fn collect(&mut self) {
        let wake = self.host.wake();
        if wake != self.host_wake.0 {
            self.host_wake = (wake, self.now);
        }
        let fired = self.fired.take();
        while let Some(sent) = self.host.take_sent() {
            let (at, late) = fired.unwrap_or((sent.at, JIFFY + RECORDING));
            let stamp = sent.segment.timestamps.map(|(value, _)| value);
            let push = sent.segment.flags.has(Flags::PSH);
            self.ours.push_back(OurSent { shape: SegmentShape::of_ours(&sent), push, at, late, stamp, carried: false });
        }
    }

    /// Removes equal segments from the kernel's queue and from ours.
    fn pair(&mut self) {
        let mut at = 0;
        while let (Some(ours), Some(first)) = (self.ours.get(at), self.kernel.front()) {
            let found = if self.bounds.order {
                Some(0).filter(|_| first.shape == ours.shape)
            } else {
                self.kernel.iter().position(|kernel| kernel.shape.same_data(&ours.shape))
            };
            match found {
                Some(found) => {
                    let kernel = self.kernel.remove(found);
                    let ours = self.ours.remove(at);
                    self.compare_push(kernel.as_ref(), ours.as_ref());
                    self.compare_instants(kernel.as_ref(), ours.as_ref());
                    if let (Some(kernel), Some(ours)) =
                        (kernel.and_then(|kernel| kernel.stamp), ours.and_then(|ours| ours.stamp))
                    {
                        // The two clocks tick at different instants. Of several of our timestamps the latest is mapped
                        // to the kernel's, so that an original does not seem older than a retransmission within the
                        // same tick.
                        self.stamps.insert(kernel, ours);
                    }
                }
                None if self.bounds.order => {
                    let (number, at) = (first.number, first.at);
                    let (kernel, ours) = (first.shape.to_string(), ours.shape.to_string());
                    return self.segments_differ(number, at, kernel, ours);
                }
                None => at += 1,
            }
        }
    }

    /// PSH says how segments were grouped.
    fn compare_push(&mut self, kernel: Option<&KernelSent>, ours: Option<&OurSent>) {
        let (Some(kernel), Some(ours)) = (kernel, ours) else { return };
        if self.bounds.ahead == 0 && kernel.push != ours.push {
            let text = |push: bool, shape: &SegmentShape| format!("{} {shape}", if push { "PSH" } else { "no PSH" });
            let (theirs, our) = (text(kernel.push, &kernel.shape), text(ours.push, &ours.shape));
            let (line, at) = (kernel.number, kernel.at);
            self.differences.push(Difference { line, at, kind: "push", kernel: theirs, ours: our });
        }
    }

    /// A segment that a timer sends (repetitions, probes, delayed acknowledgments) comes when the kernel's does, as
    /// late as that may be; what answers something comes within a tick.
    fn compare_instants(&mut self, kernel: Option<&KernelSent>, ours: Option<&OurSent>) {
        let (Some(kernel), Some(ours)) = (kernel, ours) else { return };
        // The handshake has a clock of its own.
        if !self.bounds.instants || ours.shape.is_syn() || kernel.carried || ours.carried {
            return;
        }
        let at = instant(self.origin, kernel.sent);
        if at > ours.at + ours.late || ours.at > at + EARLY {
            let our = format!("{} at {:.3} ms", ours.shape, ours.at.since(self.origin).as_secs_f64() * 1e3);
            let (line, at) = (kernel.number, kernel.at);
            let theirs = format!("at {at:.3} ms");
            self.differences.push(Difference { line, at, kind: "instant", kernel: theirs, ours: our });
        }
    }

    /// A segment arrives: neither side may be further ahead than `ahead`.
    fn settle(&mut self, line: &Line, ahead: usize) {
        self.collect();
        self.pair();
        self.apart |= !self.kernel.is_empty() || !self.ours.is_empty();
        self.kernel.iter_mut().for_each(|kernel| kernel.carried = true);
        self.ours.iter_mut().for_each(|ours| ours.carried = true);
        if self.kernel.len() > ahead
            && let Some(kernel) = self.kernel.front().cloned()
        {
            return self.segments_differ(kernel.number, kernel.at, kernel.shape.to_string(), "nothing".into());
        }
        if self.ours.len() > ahead
            && let Some(ours) = self.ours.front().cloned()
        {
            let at = ours.at.since(self.origin).as_secs_f64() * 1e3;
            self.segments_differ(line.number, line.at, "nothing".into(), format!("{} at {at:.3} ms", ours.shape));
        }
    }

    fn segments_differ(&mut self, line: usize, at: f64, kernel: String, ours: String) {
        if !self.out_of_step {
            self.out_of_step = true;
            self.differences.push(Difference { line, at, kind: "segment", kernel, ours });
        }
    }

    fn differ(&mut self, line: &Line, kind: &'static str, kernel: String, ours: String) {
        self.differences.push(Difference { line: line.number, at: line.at, kind, kernel, ours });
    }

    fn segment(&self, packet: &Packet) -> Segment {
        let letters = [
            ('S', Flags::SYN),
            ('F', Flags::FIN),
            ('R', Flags::RST),
            ('P', Flags::PSH),
            ('.', Flags::ACK),
            ('E', Flags::ECE),
            ('W', Flags::CWR),
        ];
        let set = letters.into_iter().filter(|(letter, _)| packet.flags.contains(*letter));
        let flags = set.fold(Flags::default(), |flags, (_, flag)| flags | flag);
        let syn = flags.has(Flags::SYN).then_some(SynOptions {
            mss: self.header.mss,
            window_scale: Some(PEER_SHIFT),
            sack_permitted: self.header.sack != 0,
            fast_open: None,
        });
        let shift = if syn.is_some() { 0 } else { self.host.peers_shift() };
        // The timestamp of a SYN is not recorded; that of the first acknowledgment shows that the peer uses timestamps.
        let stamp = if syn.is_some() && self.header.ts != 0 { Some((PEER_CLOCK, 0)) } else { packet.options.ts };
        Segment {
            seq: packet.seq,
            ack: packet.ack,
            window: u64::from(packet.window) << shift,
            len: packet.len,
            flags,
            ecn: match packet.options.ecn {
                1 => Ecn::Ect1,
                2 => Ecn::Ect0,
                3 => Ecn::Ce,
                _ => Ecn::NotEct,
            },
            timestamps: stamp.map(|(value, echo)| (value, self.our_stamp(echo))),
            sack: packet
                .options
                .sack
                .iter()
                .copied()
                .filter(|(start, end)| start < end)
                .take(4)
                .collect::<SackBlocks>(),
            syn,
            ..Segment::default()
        }
    }

    /// Our timestamp for one that the recorded kernel sent.
    fn our_stamp(&self, kernel: u32) -> u32 {
        match self.stamps.get(&kernel) {
            Some(ours) => *ours,
            None => 0,
        }
    }
}

/// Returns how late a kernel's timer may be after a wait: it expires with a tick of the wheel that it stands on, each
/// eight times coarser than the one before (`kernel/time/timer.c`), and the wait began within a tick.
fn lateness(wait: Duration) -> Duration {
    let mut step = JIFFY;
    while wait > step * 63 {
        step = step * 8;
    }
    step + JIFFY + RECORDING
}

/// The peer's timestamp in its SYN.
const PEER_CLOCK: u32 = 1000;
