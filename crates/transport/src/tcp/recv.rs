//! The receive half: reassembly, acknowledgments, SACK blocks (RFC 2018) and the timestamp to echo (RFC 7323).
//!
//! The application reads at once, so the window offered is always the whole buffer. D-SACK (RFC 2883) is not sent.

use std::collections::VecDeque;

use units::{Duration, Time};

use super::segment::{Flags, SackBlocks, Segment};

/// What has arrived, and what is to be said about it.
#[derive(Debug)]
pub(super) struct Receiver {
    /// Next offset expected (RCV.NXT).
    next: u64,
    /// What has arrived out of order: sorted, disjoint, not touching, all beyond `next`.
    ranges: VecDeque<(u64, u64)>,
    /// The ranges that changed last, newest first (RFC 2018 section 4).
    recent: SackBlocks,
    /// Offset of the FIN, once seen.
    fin: Option<u64>,
    /// Bytes of the receive window.
    window: u64,
    delayed_ack: Option<Duration>,
    /// Largest segment seen: what a full one is.
    full: u32,
    due: Due,
    timer: Time,
    /// The acknowledgment sent last (Last.ACK.sent).
    acked: u64,
    /// TS.Recent and when it was set, if timestamps are in use.
    ts_recent: Option<(u32, Time)>,
}

/// Whether an acknowledgment is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    No,
    /// When the timer expires, or with data.
    Later,
    /// At once, with data if there are any.
    Now,
    /// At once and by itself: the sender counts duplicates only without data (RFC 5681 section 2).
    Alone,
}

/// TS.Recent is no measure of age after this long without traffic (RFC 7323 section 5.5).
const PAWS_IDLE: Duration = Duration::from_secs(24 * 24 * 3600);

impl Receiver {
    pub(super) fn new(window: u64, delayed_ack: Option<Duration>) -> Receiver {
        Receiver {
            next: 0,
            ranges: VecDeque::new(),
            recent: SackBlocks::default(),
            fin: None,
            window,
            delayed_ack,
            full: 0,
            due: Due::No,
            timer: Time::MAX,
            acked: 0,
            ts_recent: None,
        }
    }

    /// The peer's SYN arrived, with a timestamp if both sides use them.
    pub(super) fn open(&mut self, now: Time, window: u64, timestamp: Option<u32>) {
        self.next = 1;
        self.acked = 1; // the next segment sent says so
        self.window = window;
        self.ts_recent = timestamp.map(|value| (value, now));
    }

    /// Next offset expected.
    #[inline]
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Bytes of the receive window.
    #[inline]
    pub(super) fn window(&self) -> u64 {
        self.window
    }

    /// The timestamp to echo; 0 if none is known.
    #[inline]
    pub(super) fn echo(&self) -> u32 {
        self.ts_recent.map_or(0, |recent| recent.0)
    }

    /// In-order payload bytes.
    #[inline]
    pub(super) fn delivered(&self) -> u64 {
        self.next.saturating_sub(1) - u64::from(self.finished())
    }

    /// Whether everything up to the FIN has arrived.
    #[inline]
    pub(super) fn finished(&self) -> bool {
        self.fin.is_some_and(|fin| self.next > fin)
    }

    /// Whether the byte at `seq` has arrived.
    pub(super) fn has(&self, seq: u64) -> bool {
        if seq < self.next {
            return true;
        }
        let after = self.ranges.partition_point(|range| range.0 <= seq);
        after > 0 && seq < self.ranges[after - 1].1
    }

    /// The tests of RFC 9293 section 3.10.7.4 and RFC 7323 section 5.3 (PAWS) on a segment. An unacceptable one is not
    /// looked at further but acknowledged, unless it is a bare acknowledgment that was overtaken. Offsets do not wrap, so bare
    /// acknowledgments need no PAWS: an old one does no harm.
    pub(super) fn accepts(&mut self, now: Time, segment: &Segment) -> bool {
        if let (Some((value, _)), Some((recent, at))) = (segment.timestamps, self.ts_recent)
            && segment.end() > segment.seq
            && is_before(value, recent)
            && now.since(at) < PAWS_IDLE
        {
            self.refuse(segment);
            return false;
        }
        if segment.end() < self.acked || segment.seq > self.next + self.window || segment.flags.has(Flags::SYN) {
            self.refuse(segment);
            return false;
        }
        // RFC 7323 section 4.3 (2): the timestamp of what the next acknowledgment answers first
        if let (Some((value, _)), Some((recent, _))) = (segment.timestamps, self.ts_recent)
            && segment.seq <= self.acked
            && !is_before(value, recent)
        {
            self.ts_recent = Some((value, now));
        }
        true
    }

    fn refuse(&mut self, segment: &Segment) {
        let is_probe = segment.seq + 1 == self.next;
        if segment.end() > segment.seq || is_probe {
            self.due = Due::Alone;
        }
    }

    /// Payload or a FIN arrived in an acceptable segment.
    #[inline]
    pub(super) fn handle_data(&mut self, now: Time, segment: &Segment) {
        let fin = segment.flags.has(Flags::FIN);
        let edge = self.next + self.window + u64::from(fin); // a FIN needs no window
        let (start, end) = (segment.seq, segment.end().min(edge));
        if fin && end == segment.end() {
            self.fin.get_or_insert(end - 1);
        }
        self.full = self.full.max(segment.len);
        if end <= self.next || start >= end {
            self.due = Due::Alone; // a duplicate: RFC 9293 section 3.10.7.4
            return;
        }
        if start > self.next {
            let merged = self.insert(start, end);
            self.report(merged);
            self.due = Due::Alone; // out of order: RFC 5681 section 4.2
            return;
        }
        self.next = end;
        if self.ranges.is_empty() {
            self.acknowledge_in_order(now);
        } else {
            self.absorb();
            // Fills a hole in part or whole: RFC 5681 section 4.2. Blocks that remain go without data.
            self.due = self.due.max(if self.ranges.is_empty() { Due::Now } else { Due::Alone });
        }
        if self.finished() {
            self.due = self.due.max(Due::Now);
        }
    }

    #[inline]
    fn acknowledge_in_order(&mut self, now: Time) {
        let second = self.next - self.acked >= 2 * u64::from(self.full);
        match self.delayed_ack {
            Some(delay) if !second => {
                if self.due == Due::No {
                    self.due = Due::Later;
                    self.timer = now + delay;
                }
            }
            _ => self.due = self.due.max(Due::Now),
        }
    }

    /// Adds `start..end` to the ranges; the range that it is now part of.
    fn insert(&mut self, start: u64, end: u64) -> (u64, u64) {
        // The common cases first: the newest segment lengthens or follows the last range.
        match self.ranges.back_mut() {
            Some(last) if last.0 <= start && start <= last.1 => {
                last.1 = last.1.max(end);
                return *last;
            }
            Some(last) if start <= last.1 => {}
            _ => {
                self.ranges.push_back((start, end));
                return (start, end);
            }
        }
        let from = self.ranges.partition_point(|range| range.1 < start);
        let until = self.ranges.partition_point(|range| range.0 <= end);
        if from == until {
            self.ranges.insert(from, (start, end));
            return (start, end);
        }
        let merged = (start.min(self.ranges[from].0), end.max(self.ranges[until - 1].1));
        self.ranges[from] = merged;
        self.ranges.drain(from + 1..until);
        merged
    }

    /// `next` moved up to or into the first ranges: they are in order now.
    fn absorb(&mut self) {
        while let Some(&(_, end)) = self.ranges.front().filter(|range| range.0 <= self.next) {
            self.next = self.next.max(end);
            self.ranges.pop_front();
        }
        let next = self.next;
        self.recent = self.recent.as_slice().iter().copied().filter(|block| block.0 > next).collect();
    }

    /// Puts `newest` first in the SACK list and drops what it has swallowed.
    fn report(&mut self, newest: (u64, u64)) {
        let others = self.recent.as_slice().iter().copied();
        let kept = others.filter(|block| block.1 < newest.0 || block.0 > newest.1).take(SackBlocks::MAX - 1);
        self.recent = std::iter::once(newest).chain(kept).collect();
    }

    /// The SACK option of an acknowledgment.
    pub(super) fn sack(&self) -> SackBlocks {
        let room = if self.ts_recent.is_some() { SackBlocks::MAX - 1 } else { SackBlocks::MAX };
        if self.recent.len() <= room { self.recent } else { self.recent.as_slice()[..room].iter().copied().collect() }
    }

    /// Asks for an acknowledgment at once.
    pub(super) fn acknowledge(&mut self) {
        self.due = self.due.max(Due::Now);
    }

    /// Whether an acknowledgment must go now, and may not ride on data.
    #[inline]
    pub(super) fn ack_alone(&self) -> bool {
        self.due == Due::Alone
    }

    /// Whether an acknowledgment must go now.
    #[inline]
    pub(super) fn ack_due(&self) -> bool {
        self.due >= Due::Now
    }

    /// A segment with an acknowledgment is sent.
    #[inline]
    pub(super) fn on_acknowledged(&mut self) {
        self.acked = self.next;
        self.due = Due::No;
        self.timer = Time::MAX;
    }

    /// When a delayed acknowledgment is to go.
    #[inline]
    pub(super) fn timer(&self) -> Time {
        self.timer
    }

    pub(super) fn handle_timeout(&mut self, now: Time) {
        if self.timer <= now {
            self.timer = Time::MAX;
            self.acknowledge();
        }
    }
}

/// Whether timestamp `a` is older than `b`, modulo 2^32.
#[inline]
fn is_before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}
