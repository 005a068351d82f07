//! The closed loop: our sender and our receiver, over the delays and losses that a recording's segments met.
//!
//! A recording is taken at the sender. So the delay of a data segment is the time until the first acknowledgment that
//! covers it, the way back included, and acknowledgments take no time here. The n-th data segment that ours sends, in
//! whatever transmission, meets what the n-th of the recording met; later ones what the last met that arrived. Compared
//! is what a user sees: goodput, transmissions, time-outs, and the instants of recoveries.
//!
//! Left out are recordings from which the path does not follow: the peer's application decides (`open`, small windows),
//! segments were marked, or they came out of order and no SACK block says which.

use std::collections::{BTreeMap, VecDeque};

use transport::{CongestionState, Segment};
use units::{Bytes, Duration, Time};

use super::compare::{Bounds, Tolerance};
use super::fates::{Fate, fates};
use super::file::{Recording, What, instant};
use super::replay::{ORIGIN, PHASE, sender};
use crate::host::Host;
use crate::kernel::ca_state;
use crate::run::Stack;

/// The numbers of a recorded conversation that are compared with ours.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Course {
    /// Bytes acknowledged, and the milliseconds from the first data segment to the last acknowledgment of new data.
    pub acknowledged: u64,
    /// See [`Course::acknowledged`].
    pub lasted: f64,
    /// Data segments sent.
    pub transmissions: usize,
    /// Expiries of the retransmission timer, as far as an acknowledgment found the sender after them.
    pub timeouts: u32,
    /// When acknowledgments began a fast recovery, in milliseconds.
    pub recoveries: Vec<f64>,
    /// How late a kernel's timers may have been, all together: an eighth of the wait and two ticks (8 ms) each.
    late: f64,
    first: Option<f64>,
    state: u8,
    backoff: u32,
}

/// The kernel's course of a recording and ours, at the phase of the kernel's clock that agrees best.
///
/// # Errors
/// Why the fates of the segments do not follow from the recording, or which setting is not supported.
pub fn closed_loop(recording: &Recording) -> Result<Compared, String> {
    let Bounds { closed: tolerance, phases, .. } = Bounds::of(&recording.header.cc);
    let fates = fates(recording)?;
    let kernel = kernel(recording);
    let mut best: Option<Compared> = None;
    for phase in 0..phases {
        let ours = Loop::new(recording, &fates, ORIGIN + PHASE * phase)?.run();
        let found =
            Compared { differences: differences(&kernel, &ours, tolerance, recording), kernel: kernel.clone(), ours };
        if best.as_ref().is_none_or(|best| found.differences.len() < best.differences.len()) {
            best = Some(found);
        }
        if best.as_ref().is_some_and(|best| best.differences.is_empty()) {
            break;
        }
    }
    Ok(best.expect("there is a phase"))
}

/// The courses of a recording and of our connection, and what differs between them beyond the tolerance.
#[derive(Clone, Debug)]
pub struct Compared {
    /// The recorded course.
    pub kernel: Course,
    /// Ours.
    pub ours: Course,
    /// The differences, in words.
    pub differences: Vec<String>,
}

fn differences(kernel: &Course, ours: &Course, tolerance: Tolerance, recording: &Recording) -> Vec<String> {
    let mut difference_lines = Vec::new();
    if kernel.acknowledged != ours.acknowledged {
        difference_lines
            .push(format!("acknowledged: kernel {} bytes; ours {}", kernel.acknowledged, ours.acknowledged));
    }
    let late = kernel.late;
    if (ours.lasted - kernel.lasted).abs() > tolerance.goodput * kernel.lasted + late {
        let (theirs, our) = (kernel.goodput(), ours.goodput());
        difference_lines.push(format!("goodput: kernel {theirs:.4} Mbit/s; ours {our:.4}"));
    }
    let most = 1.0 + tolerance.transmissions * kernel.transmissions as f64;
    if kernel.transmissions.abs_diff(ours.transmissions) as f64 > most {
        difference_lines.push(format!("transmissions: kernel {}; ours {}", kernel.transmissions, ours.transmissions));
    }
    if kernel.timeouts.abs_diff(ours.timeouts) > tolerance.timeouts {
        difference_lines.push(format!("time-outs: kernel {}; ours {}", kernel.timeouts, ours.timeouts));
    }
    if let Some(share) = tolerance.recoveries {
        let most = share * recording.header.rtt;
        let apart =
            kernel.recoveries.iter().zip(&ours.recoveries).any(|(theirs, our)| (our - theirs).abs() > most + late);
        if apart || kernel.recoveries.len() != ours.recoveries.len() {
            difference_lines
                .push(format!("recoveries at ms: kernel {:.0?}; ours {:.0?}", kernel.recoveries, ours.recoveries));
        }
    }
    difference_lines
}

impl Course {
    /// Mbit/s.
    pub fn goodput(&self) -> f64 {
        self.acknowledged as f64 * 8e-3 / self.lasted.max(1e-3)
    }

    /// A segment was sent, with or without data.
    fn on_sent(&mut self, at: f64, len: u32) {
        if len > 0 {
            self.first.get_or_insert(at);
            self.transmissions += 1;
        }
    }

    /// An acknowledgment arrived and left the sender in this state.
    fn on_answer(&mut self, at: f64, ack: u64, state: u8, backoff: u32) {
        let bytes = ack.saturating_sub(1);
        if bytes > self.acknowledged {
            self.acknowledged = bytes;
            self.lasted = at - self.first.unwrap_or(at);
        }
        if state == RECOVERY && self.state != RECOVERY {
            self.recoveries.push(at);
        }
        if state == LOSS {
            let before = if self.state == LOSS { self.backoff } else { 0 };
            let least = u32::from(self.state != LOSS);
            self.timeouts += backoff.saturating_sub(before).max(least);
        }
        (self.state, self.backoff) = (state, backoff);
    }
}

impl std::fmt::Display for Course {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Course { acknowledged, lasted, transmissions, timeouts, recoveries, .. } = self;
        write!(f, "{acknowledged} bytes in {lasted:.1} ms, {:.4} Mbit/s, {transmissions} ", self.goodput())?;
        write!(f, "transmissions, {timeouts} time-outs, recoveries at {recoveries:.0?} ms")
    }
}

const RECOVERY: u8 = ca_state(CongestionState::Recovery);
const LOSS: u8 = ca_state(CongestionState::Loss);

/// Returns the numbers of the recording's sender.
fn kernel(recording: &Recording) -> Course {
    let mut course = Course::default();
    let (mut ack, mut last) = (None, 0.0);
    for line in &recording.lines {
        match &line.what {
            What::Out(packet) => {
                if packet.len > 0 && line.at > last + TIMER {
                    course.late += (line.at - last) / 8.0 + 8.0;
                }
                last = line.at;
                course.on_sent(line.at, packet.len);
            }
            What::In(packet) => (ack, last) = (Some((line.at, packet.ack)), line.at),
            What::Write(_) => last = line.at,
            What::Info(info) => {
                if let Some((at, ack)) = ack.take() {
                    course.on_answer(at, ack, info.ca, info.backoff);
                }
            }
            _ => {}
        }
    }
    course
}

/// Our two ends and what is between them.
struct Loop<'a> {
    fates: &'a [Fate],
    origin: Time,
    sender: Host,
    receiver: Host,
    /// Segments in flight to the receiver, by arrival and number.
    path: BTreeMap<(Time, u64), Segment>,
    sent: u64,
    /// The arrival of each data segment.
    arrivals: Vec<Option<Time>>,
    /// The delay of the sender's last segment that arrived.
    delay: Duration,
    mss: u16,
    now: Time,
    course: Course,
    /// The writes of the sender's application, with their instants.
    writes: VecDeque<(Time, u64)>,
    end: Time,
}

impl<'a> Loop<'a> {
    fn new(recording: &Recording, fates: &'a [Fate], origin: Time) -> Result<Loop<'a>, String> {
        let header = &recording.header;
        let sender = sender(recording)?;
        let mut peer = Stack::linux();
        peer.set("sack", toml::Value::Boolean(header.sack != 0));
        peer.set("timestamps", toml::Value::Boolean(header.ts != 0));
        peer.set("quick_acks", toml::Value::Integer(0));
        peer.set("delayed_ack", toml::Value::Boolean(header.delack > 1));
        peer.set("receive_buffer", toml::Value::String(Bytes::new(WINDOW).to_string()));
        let handshake = recording.handshake().ok_or("the handshake does not end")?;
        let begin = instant(origin, handshake.at) - handshake.rtt;
        let receiver = Host::active(peer.settings(true, false)?, begin);
        let writes = recording.lines.iter().filter_map(|line| match line.what {
            What::Write(bytes) => Some((instant(origin, line.at), bytes)),
            _ => None,
        });
        let last = recording.lines.last().map_or(0.0, |line| line.at).max(header.dur * 1e3);
        Ok(Loop {
            fates,
            origin,
            sender,
            receiver,
            path: BTreeMap::new(),
            sent: 0,
            arrivals: Vec::new(),
            delay: handshake.rtt,
            mss: header.mss,
            now: begin,
            course: Course::default(),
            writes: writes.collect(),
            end: instant(origin, last * LONGER),
        })
    }

    fn run(mut self) -> Course {
        self.carry();
        while let Some(next) = self.next().filter(|next| *next <= self.end) {
            self.now = self.now.max(next);
            if let Some(&key) = self.path.keys().next().filter(|key| key.0 <= self.now) {
                let segment = self.path.remove(&key).expect("it is there");
                self.receiver.inject(self.now, &segment);
                self.receiver.read(self.now, u64::MAX);
            } else if self.writes.front().is_some_and(|write| write.0 <= self.now) {
                let (_, bytes) = self.writes.pop_front().expect("it is there");
                self.sender.write(self.now, bytes);
            } else {
                self.fire();
            }
            self.carry();
        }
        self.course
    }

    fn next(&self) -> Option<Time> {
        let arrival = self.path.keys().next().map(|key| key.0);
        let write = self.writes.front().map(|write| write.0);
        [arrival, write, self.sender.wake(), self.receiver.wake()].into_iter().flatten().min()
    }

    fn fire(&mut self) {
        for host in [&mut self.sender, &mut self.receiver] {
            if host.wake().is_some_and(|wake| wake <= self.now) {
                host.fire(self.now);
            }
        }
    }

    /// Takes what both ends have sent, until neither sends more.
    fn carry(&mut self) {
        loop {
            if let Some(sent) = self.sender.take_sent() {
                self.forward(sent.segment);
            } else if let Some(sent) = self.receiver.take_sent() {
                self.answer(sent.segment);
            } else {
                return;
            }
        }
    }

    /// A segment of our sender meets the fate that the recording has for it.
    fn forward(&mut self, segment: Segment) {
        self.course.on_sent(self.at(), segment.len);
        let usual = Fate { delays: vec![self.delay], follows: self.arrivals.len().checked_sub(1) };
        let fate = if segment.len == 0 { &usual } else { self.fates.get(self.arrivals.len()).unwrap_or(&usual) };
        let before = fate.follows.and_then(|number| self.arrivals[number]).unwrap_or(Time::ZERO);
        for delay in &fate.delays {
            self.path.insert(((self.now + *delay).max(before), self.sent), segment);
            self.sent += 1;
        }
        if segment.len > 0 {
            let first = fate.delays.first();
            self.arrivals.push(first.map(|delay| (self.now + *delay).max(before)));
            self.delay = first.copied().unwrap_or(self.delay);
        }
    }

    /// An acknowledgment of the receiver arrives at once.
    fn answer(&mut self, mut segment: Segment) {
        if let Some(syn) = &mut segment.syn {
            syn.mss = self.mss;
        }
        self.sender.inject(self.now, &segment);
        let info = self.sender.info();
        let at = self.at();
        self.course.on_answer(at, segment.ack, ca_state(info.congestion_state), info.backoff);
    }

    /// The present instant on the recording's clock, in milliseconds.
    fn at(&self) -> f64 {
        if self.now < self.origin { 0.0 } else { self.now.since(self.origin).as_secs_f64() * 1e3 }
    }
}

/// A segment that is sent so many milliseconds after any other was sent by a timer.
const TIMER: f64 = 20.0;
/// The window that the recording's peer offers.
const WINDOW: u64 = 65_535 << 8;
/// Ours may take this much longer than the recording, to be seen to be slower.
const LONGER: f64 = 2.0;
