//! The receive half: what is accepted, acknowledgments, the echo of congestion marks (RFC 3168) and of timestamps
//! (RFC 7323).
//!
//! Unless it holds its reads, the application reads at once and the window is the whole buffer. Linux also thins out
//! duplicate acknowledgments within a millisecond, and answers each segment while its window grows from 64 KiB on.

mod plain;

use units::{Duration, Ecn, Time};

use super::config::Settings;
use super::reassembly::Reassembly;
use super::segment::{Flags, SackBlocks, Segment, is_before};
use super::send::timestamp;

/// The data that have arrived, and the acknowledgments that are due. The fields stand in the order of memory: see
/// [`super::Connection`].
#[derive(Debug)]
#[repr(C)]
pub(super) struct Receiver {
    /// The round-trip time of the handshake: the upper limit of the delay of acknowledgments.
    rtt: Option<Duration>,
    /// The window offered with the acknowledgment sent last.
    offered: u64,
    /// A pause of the peer after which its window may be small again.
    long_pause: Duration,
    /// The right edge of the window that the next segment offers.
    edge: u64,
    /// The present delay of acknowledgments, where it adapts.
    patience: Duration,
    pub(super) last_arrival: Option<Time>,
    delayed_ack: Option<Duration>,
    /// In-order bytes that the application has read, if it does not read at once.
    read: Option<u64>,
    /// Acknowledgments wait for the application to read.
    reads_late: bool,
    /// Offset of the FIN; [`NO_FIN`] until it is seen.
    fin: u64,
    /// The size of the receive buffer, and the mask of the bits that a scaled window can have.
    buffer: u64,
    scale: u64,
    timer: Time,
    /// The acknowledgment sent last (Last.ACK.sent).
    acked: u64,
    /// TS.Recent and when it was set, if timestamps are in use.
    ts_recent: Option<(u32, Time)>,
    /// Next offset expected (RCV.NXT).
    next: u64,
    /// Data that have arrived beyond `next`, and what is to be told of copies; kept when it is empty.
    beyond: Option<Box<Reassembly>>,
    /// Acknowledgments that will be sent without delay, and their number at the start.
    quick: u32,
    quick_acks: u32,
    /// The payload of the largest segment so far, which counts as that of a full segment.
    full: u32,
    /// Whether duplicates are reported, and the most blocks in an acknowledgment.
    dsack: bool,
    blocks: u8,
    /// Segments since the last acknowledgment that may end a burst: small ones, and those with PSH. Counted up to 2.
    pushed: u8,
    /// The application answers the data that it reads, so that acknowledgments can go with its data.
    answers: bool,
    ecn: bool,
    /// A mark arrived and the sender has not said that it reduced its window.
    echo_mark: bool,
    due: Due,
    /// By how much a timestamp may be older than TS.Recent.
    paws_window: u32,
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

/// An offset that no stream reaches.
const NO_FIN: u64 = u64::MAX;
/// The upper limit of an acknowledgment's delay, and the limit before the end of a burst has been seen.
const MOST_DELAY: Duration = Duration::from_millis(200);
const MOST_PATIENCE: Duration = Duration::from_millis(500);
/// TS.Recent is no measure of age after this long without traffic (RFC 7323 section 5.5).
const PAWS_IDLE: Duration = Duration::from_secs(24 * 24 * 3600);

/// The shortest time that a delayed acknowledgment waits, `None` if none does: patience falls to half of what is given
/// (`Receiver::note_arrival`), and what is given longer may be cut to [`MOST_DELAY`]. It is also cut to the
/// retransmission time-out of the opening: longer than the round trip that the handshake took, and without a handshake
/// perhaps the least that there is.
pub(crate) fn shortest_wait(settings: &Settings) -> Option<Duration> {
    let opening = if settings.handshake { Duration::MAX } else { settings.min_rto };
    settings.delayed_ack.longest().map(|delay| (delay / 2).min(MOST_DELAY).min(opening))
}

impl Receiver {
    pub(super) fn new(settings: &Settings) -> Receiver {
        let delayed_ack = settings.delayed_ack.longest();
        let blocks = if settings.recovers_as_ns2() { SackBlocks::MAX - 1 } else { SackBlocks::MAX };
        Receiver {
            next: 0,
            beyond: None,
            dsack: settings.dsack,
            blocks: blocks as u8,
            fin: NO_FIN,
            buffer: settings.receive_buffer.get(),
            scale: u64::MAX,
            edge: 0,
            read: None,
            reads_late: false,
            delayed_ack,
            patience: delayed_ack.unwrap_or_default(),
            rtt: None,
            pushed: 0,
            quick: settings.quick_acks,
            answers: false,
            quick_acks: settings.quick_acks,
            ecn: false,
            echo_mark: false,
            full: 0,
            due: Due::No,
            timer: Time::MAX,
            acked: 0,
            offered: 0,
            last_arrival: None,
            long_pause: settings.initial_rto,
            ts_recent: None,
            paws_window: settings.profile.paws_window(),
        }
    }

    /// The peer's SYN arrived, with a timestamp if both sides use them. The window is given in bytes, and with the unit
    /// that its scale can express, a power of two.
    pub(super) fn open(&mut self, now: Time, (buffer, unit): (u64, u64), timestamp: Option<u32>, ecn: bool) {
        (self.next, self.acked) = (1, 1); // the next segment sent says so
        (self.buffer, self.scale) = (buffer, !(unit - 1));
        self.slide();
        self.offered = self.window();
        self.ts_recent = timestamp.map(|value| (value, now));
        self.ecn = ecn;
    }

    /// The peer's SYN comes with its first window.
    pub(super) fn await_syn(&mut self) {
        (self.next, self.acked) = (0, 0);
    }

    /// The handshake is over. After a pause of this retransmission time-out the peer's window may have started over.
    pub(super) fn establish(&mut self, rto: Duration, rtt: Option<Duration>) {
        (self.long_pause, self.rtt) = (rto, rtt);
    }

    /// Returns the free part of the buffer, in the unit that the window's scale can express.
    #[inline]
    fn free(&self) -> u64 {
        self.buffer.saturating_sub(self.readable()) & self.scale
    }

    /// Moves the right edge of the window to the end of the free buffer; the edge never moves back.
    #[inline]
    fn slide(&mut self) {
        let free = self.free();
        // RFC 9293 section 3.8.6.2.2: not by less than a segment or half the buffer.
        if self.next + free >= self.edge + u64::from(self.full).min(self.buffer / 2) {
            self.edge = self.next + free;
        }
    }

    /// From now on the application reads by [`Receiver::read`] only, and acknowledgments wait for that.
    pub(super) fn hold_reads(&mut self) {
        self.read.get_or_insert(self.delivered());
        self.reads_late = true;
    }

    /// As [`Receiver::hold_reads`], with a buffer of so many bytes; acknowledgments do not wait.
    pub(super) fn relay(&mut self, buffer: u64) {
        self.read.get_or_insert(self.delivered());
        self.buffer = buffer;
    }

    /// The size of the receive buffer.
    pub(super) fn buffer(&self) -> u64 {
        self.buffer
    }

    /// The application reads up to `bytes`. Returns the bytes read. An acknowledgment is sent at once if the window is
    /// at least twice what the peer knows of it and more may come, or if more than a segment is unacknowledged.
    pub(super) fn read(&mut self, bytes: u64) -> u64 {
        let got = bytes.min(self.readable());
        let known = (self.acked + self.offered).saturating_sub(self.next);
        let Some(read) = &mut self.read else { return 0 };
        *read += got;
        self.slide();
        let window = self.window();
        if got > 0 && !self.finished() && 2 * known <= self.buffer && window > 0 && window >= 2 * known {
            self.acknowledge();
        }
        if self.due == Due::Later
            && (self.next - self.acked > u64::from(self.full) || got > 0 && self.readable() == 0 && self.ends_burst())
        {
            self.acknowledge();
        }
        got
    }

    /// Returns the in-order bytes that wait for the application.
    #[inline]
    pub(super) fn readable(&self) -> u64 {
        self.read.map_or(0, |read| self.delivered() - read)
    }

    /// Next offset expected.
    #[inline]
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Bytes of the receive window.
    #[inline]
    fn window(&self) -> u64 {
        if self.read.is_none() {
            return self.free();
        }
        self.edge.saturating_sub(self.next) & self.scale
    }

    /// Data below this edge are accepted, also where a scaled window, which has whole units only, lies below it.
    #[inline]
    fn right_edge(&self) -> u64 {
        if self.read.is_none() { self.next + self.window() } else { self.edge }
    }

    /// The timestamp to echo; 0 if none is known.
    #[inline]
    pub(super) fn echo(&self) -> u32 {
        self.ts_recent.map_or(0, |recent| recent.0)
    }

    /// Returns the in-order payload bytes.
    #[inline]
    pub(super) fn delivered(&self) -> u64 {
        self.next.min(self.fin).saturating_sub(1)
    }

    /// Whether everything up to the FIN has arrived.
    #[inline]
    pub(super) fn finished(&self) -> bool {
        self.next > self.fin
    }

    /// Whether nothing is missing before what has arrived.
    fn is_gapless(&self) -> bool {
        self.beyond.as_ref().is_none_or(|beyond| beyond.is_empty())
    }

    /// Everything has arrived: gives back what was kept of gaps, if nothing of it is to be reported.
    pub(super) fn release(&mut self) {
        self.beyond.take_if(|beyond| beyond.is_empty() && !beyond.has_duplicate());
    }

    fn beyond(&mut self) -> &mut Reassembly {
        let (dsack, blocks) = (self.dsack, usize::from(self.blocks));
        self.beyond.get_or_insert_with(|| Box::new(Reassembly::new(dsack, blocks)))
    }

    /// Whether the byte at `seq` has arrived.
    pub(super) fn has(&self, seq: u64) -> bool {
        seq < self.next || self.beyond.as_ref().is_some_and(|beyond| beyond.has(seq))
    }

    /// The tests of RFC 9293 section 3.10.7.4 and RFC 7323 section 5.3 (PAWS) on a segment. An unacceptable one is not
    /// looked at further but acknowledged, unless it is a bare acknowledgment that was overtaken. Offsets do not wrap,
    /// so bare acknowledgments need no PAWS: an old one does no harm. `end`: that of the segment.
    #[inline(always)]
    pub(super) fn accepts(&mut self, now: Time, segment: &Segment, end: u64) -> bool {
        if let (Some((value, _)), Some((recent, at))) = (segment.timestamps, self.ts_recent)
            && end > segment.seq
            && is_before(value, recent)
            && recent.wrapping_sub(value) > self.paws_window
            && now.since(at) < PAWS_IDLE
        {
            self.refuse(segment);
            return false;
        }
        if end < self.acked
            || segment.seq > self.right_edge().max(self.next + 1)
            || segment.flags.has(Flags::SYN) && self.next > 0
        {
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

    #[cold]
    fn refuse(&mut self, segment: &Segment) {
        let is_probe = self.next.checked_sub(1) == Some(segment.seq);
        if segment.end() > segment.seq || is_probe {
            self.due = Due::Alone;
            if segment.end() <= self.next {
                self.beyond().note_duplicate(segment.seq, segment.end());
            }
        }
    }

    /// Data arrived in order, with quick acknowledgments in use. After a long pause, acknowledgments are sent at once,
    /// because the peer's window may be small again. Otherwise their delay follows the mean time between the last
    /// segments, and is at least half of the shortest delay.
    #[inline]
    fn note_arrival(&mut self, now: Time, segment: &Segment) {
        if segment.len < self.full {
            self.pushed = (self.pushed + 1).min(2);
        } else if segment.flags.has(Flags::PSH) {
            self.pushed = self.pushed.max(1);
        }
        if let (Some(last), Some(least)) = (self.last_arrival, self.delayed_ack) {
            let gap = now.since(last);
            if gap <= least / 2 {
                self.patience = self.patience / 2 + least / 2;
            } else if gap < self.patience {
                self.patience = (self.patience / 2 + gap).min(self.long_pause);
            } else if gap > self.long_pause {
                self.quick = self.quick_acks;
            }
        }
        self.last_arrival = Some(now);
    }

    /// Returns how long an acknowledgment may wait.
    #[inline]
    fn wait(&self, least: Duration) -> Duration {
        if self.quick_acks == 0 || self.patience <= least {
            return if self.quick_acks == 0 { least } else { self.patience };
        }
        let most = if self.answers || self.pushed > 0 { MOST_DELAY } else { MOST_PATIENCE };
        let most = self.rtt.map_or(most, |rtt| rtt.max(least).min(most));
        self.patience.min(most).min(MOST_DELAY.max(least))
    }

    /// Whether a burst has ended. If so, an end that has read all data sends the acknowledgment at once.
    #[inline]
    fn ends_burst(&self) -> bool {
        self.pushed > 1 || self.pushed > 0 && !self.answers
    }

    /// Payload or a FIN arrived in an acceptable segment; our own FIN was sent if `closing`.
    #[inline(always)]
    pub(super) fn handle_data(&mut self, now: Time, segment: &Segment, closing: bool) {
        let fin = segment.flags.has(Flags::FIN);
        if self.ecn {
            self.follow_marks(segment);
        }
        let edge = self.right_edge() + u64::from(fin); // a FIN needs no window
        let (start, end) = (segment.seq, segment.end().min(edge));
        // Nothing comes after the FIN that was seen first.
        let end = end.min(self.fin.saturating_add(1));
        if fin && end == segment.end() && end > self.next && self.fin == NO_FIN {
            self.fin = end - 1;
        }
        self.full = self.full.max(segment.len);
        if end <= self.next || start >= end {
            let next = self.next;
            self.beyond().note_duplicate(start, segment.end().min(next));
            self.go_quick(self.quick_acks);
            self.due = Due::Alone; // a duplicate: RFC 9293 section 3.10.7.4
            return;
        }
        if start > self.next {
            self.beyond().add(start, end);
            self.due = Due::Alone; // out of order: RFC 5681 section 4.2
            return;
        }
        if start < self.next {
            let next = self.next;
            self.beyond().note_duplicate(start, next);
        }
        if segment.len > 0 && self.quick_acks > 0 {
            self.note_arrival(now, segment);
        }
        self.next = end;
        // Linux lets a FIN after data wait for the application's, which acknowledges it too.
        let small = self.next - self.acked <= u64::from(self.full);
        let waits = self.finished() && self.quick_acks > 0 && !closing && small && self.last_arrival.is_some();
        self.answers |= waits;
        if self.is_gapless() {
            self.acknowledge_in_order(now);
        } else {
            let next = self.next;
            self.next = self.beyond().absorb(next);
            // Fills a hole in part or whole: RFC 5681 section 4.2. Blocks that remain go without data.
            self.due = self.due.max(if self.is_gapless() { Due::Now } else { Due::Alone });
        }
        if self.finished() && !waits {
            self.due = self.due.max(Due::Now);
        }
        if self.beyond.as_ref().is_some_and(|beyond| beyond.has_duplicate()) {
            self.due = Due::Alone; // data carry no report
        }
    }

    #[inline(always)]
    fn acknowledge_in_order(&mut self, now: Time) {
        let Some(least) = self.delayed_ack else { return self.acknowledge() };
        // RFC 5681 section 4.2 acknowledges every second full segment, Linux whatever exceeds one full segment.
        let (since, full) = (self.next - self.acked, u64::from(self.full));
        let mut second = if self.quick_acks > 0 { since > full } else { since >= 2 * full };
        if self.reads_late {
            // As in Linux: if the window has not grown, `read` sends the acknowledgment.
            second &= self.free() > self.offered;
        }
        if !second && (self.quick == 0 || self.answers) {
            self.delay(now, least);
        } else {
            self.acknowledge();
        }
    }

    /// Delays the acknowledgment; the delay grows with the time between segments.
    #[inline]
    fn delay(&mut self, now: Time, least: Duration) {
        if self.due == Due::No {
            self.due = Due::Later;
            self.timer = now + self.wait(least);
        } else if self.due == Due::Later && self.quick_acks > 0 {
            let wait = self.wait(least);
            if self.timer <= now + wait / 4 {
                self.acknowledge();
            }
            self.timer = self.timer.min(now + wait);
        }
        if !self.reads_late && self.ends_burst() {
            self.acknowledge(); // the application has read all
        }
    }

    /// The next `acknowledgments` are sent without delay, at most as many as the configuration allows.
    fn go_quick(&mut self, acknowledgments: u32) {
        self.quick = self.quick.max(acknowledgments.min(self.quick_acks));
        self.answers = false;
        self.patience = self.delayed_ack.unwrap_or_default();
    }

    /// The application sent data: soon after some arrived it answers them, and quick acknowledgments end (Linux).
    #[inline]
    pub(super) fn on_data_sent(&mut self, now: Time) {
        if let Some(last) = self.last_arrival
            && now.since(last) < self.patience
        {
            self.answers = true;
        }
    }

    /// RFC 3168 section 6.1.3: a mark is echoed until the sender says that it reduced its window.
    fn follow_marks(&mut self, segment: &Segment) {
        if segment.flags.has(Flags::CWR) {
            self.echo_mark = false;
            self.due = self.due.max(Due::Now);
        }
        if segment.ecn == Ecn::Ce && !self.echo_mark {
            self.echo_mark = true;
            self.go_quick(2); // the sender's window may be small
        }
    }

    /// Writes the fields that every segment has: besides its offset and flags what has arrived, the window, and the
    /// echoes of marks and timestamps.
    #[inline(always)]
    pub(super) fn fill(&self, now: Time, segment: &mut Segment, seq: u64, flags: Flags) {
        segment.forget_syn();
        self.fill_plain(now, segment, seq, flags);
        segment.window = self.window();
    }

    /// As [`Receiver::fill`], where the application reads at once, in place of a segment without a SYN.
    #[inline(always)]
    pub(super) fn fill_plain(&self, now: Time, segment: &mut Segment, seq: u64, flags: Flags) {
        debug_assert!(segment.syn.is_none());
        segment.seq = seq;
        segment.ack = self.next;
        segment.window = self.buffer & self.scale;
        segment.len = 0;
        segment.flags = if self.echo_mark { flags | Flags::ECE } else { flags };
        segment.ecn = Ecn::NotEct;
        segment.timestamps = self.ts_recent.map(|(echo, _)| (timestamp(now), echo));
        segment.sack.clear();
        segment.accecn = None;
    }

    /// The SACK option of an acknowledgment, written in place of none.
    #[inline(always)]
    pub(super) fn write_sack(&self, sack: &mut SackBlocks) {
        if let Some(beyond) = &self.beyond {
            beyond.write_sack(sack, self.ts_recent.is_some());
        }
    }

    /// Asks for an acknowledgment at once.
    #[inline]
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
    #[inline(always)]
    pub(super) fn on_acknowledged(&mut self) {
        if let Some(beyond) = &mut self.beyond {
            beyond.on_acknowledged();
        }
        if self.read.is_some() {
            self.offered = self.window();
        }
        self.on_plainly_acknowledged();
    }

    /// As [`Receiver::on_acknowledged`], without a report of a duplicate, where the application reads at once.
    #[inline(always)]
    pub(super) fn on_plainly_acknowledged(&mut self) {
        self.acked = self.next;
        self.pushed = 0;
        if self.quick > 0 {
            self.quick -= 1;
        }
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
            // As in Linux: no segment came within the delay, so the delay doubles; or the application sent no answer,
            // so acknowledgments no longer wait for its data.
            if self.quick_acks > 0 && !self.answers {
                self.patience = (self.patience * 2).min(self.long_pause);
            } else {
                self.patience = self.delayed_ack.unwrap_or_default();
                self.answers = false;
            }
            self.acknowledge();
        }
    }
}
