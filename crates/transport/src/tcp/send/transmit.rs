//! The choice of the next segment: retransmissions, new data, probes.

use units::Time;

use super::Sender;
use super::outgoing::{Full, NextFull, Outgoing};
use super::recovery::episode::{Forced, Rexmit};
use super::scoreboard::slot::{PUSH, SACKED, Slot};
use super::timers::timer::TimerKind;
use crate::congestion::{Event, Window};
use crate::state::CongestionState;

/// Why a segment is retransmitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// The segment is lost, or may be (RFC 6675 NextSeg rules 1 and 3). It counts as in flight again.
    Lost,
    /// The rescue retransmission: the last segment, once in a recovery (rule 4). It does not count as in flight.
    Rescue,
    /// A tail loss probe. It does not count as in flight, nor as a retransmission that an undo waits for.
    TailProbe,
    /// The copy of the last segment (Transmit Twice). It counts as a tail loss probe does.
    Copy,
}

impl Sender {
    /// Returns the segment that goes out next, if any may.
    #[inline(always)]
    pub(in crate::tcp) fn poll(&mut self, now: Time) -> Option<Outgoing> {
        self.pacing.wake = false;
        if self.is_at_rest() {
            return None;
        }
        let outgoing = self.next(now);
        if outgoing.is_none() {
            self.end_burst(now);
        }
        outgoing
    }

    /// Whether [`Sender::poll`] would give nothing, because there is nothing to send or no room for it. If so the burst
    /// ends.
    #[inline(always)]
    pub(in crate::tcp) fn rests(&mut self, now: Time) -> bool {
        if self.is_at_rest() {
            return true;
        }
        let full = self.recovery.forced == Forced::Nothing && !self.has_room() && !self.cwnd.control.wants_probes();
        if full {
            self.pacing.wake = false;
            self.end_burst(now);
        }
        full
    }

    /// Whether there is nothing to send, nothing in flight and no burst to be ended: as at an end that only receives.
    #[inline]
    pub(in crate::tcp) fn is_at_rest(&self) -> bool {
        self.is_quiet() && self.burst.sent == 0
    }

    /// Whether there is nothing to send and nothing in flight.
    #[inline]
    pub(super) fn is_quiet(&self) -> bool {
        !self.board.outstanding() && !self.has_unsent()
    }

    /// Whether nothing is in doubt in the open state: no segment is lost, known to have arrived or retransmitted, and
    /// the windows decide alone what goes next.
    #[inline]
    pub(in crate::tcp) fn is_plain(&self) -> bool {
        self.cwnd.state() == CongestionState::Open
            && !self.cwnd.ecn.cwr_due
            && self.recovery.forced == Forced::Nothing
            && (self.recovery.rexmit == Rexmit::None || self.ns2.is_some())
            && !self.timer.cut
            && self.tail.high.is_none()
            && self.records.is_none()
            && self.board.doubts_nothing()
    }

    /// Whether new data or a FIN wait to be sent.
    #[inline]
    pub(super) fn has_unsent(&self) -> bool {
        self.byte_stream.has_unsent(self.board.nxt())
    }

    #[inline(always)]
    fn next(&mut self, now: Time) -> Option<Outgoing> {
        if self.recovery.forced != Forced::Nothing {
            let forced = std::mem::replace(&mut self.recovery.forced, Forced::Nothing);
            let outgoing = self.next_forced(now, forced);
            if outgoing.is_some() {
                return outgoing;
            }
        }
        if !self.has_room() {
            return self.next_probe();
        }
        if self.is_paced() && self.pacing.holds(now) && !self.group.goes_on() {
            self.pacing.wake = self.has_unsent() || self.board.counts().lost > self.board.counts().retransmitted;
            return None;
        }
        if self.recovery.rexmit == Rexmit::Lost
            && let Some(number) = self.next_lost()
        {
            return Some(self.retransmit(now, number, Why::Lost));
        }
        if self.cwnd.window().holds {
            return self.next_probe();
        }
        if let Some(new) = self.next_new(now) {
            return Some(new);
        }
        if self.recovery.rexmit == Rexmit::New && self.board.nxt() <= self.recovery.high_seq {
            // RFC 5682 step 2: without new data it stays open whether the time-out was spurious
            self.recovery.frto = false;
            self.recovery.rexmit = Rexmit::Lost;
            let number = self.next_lost()?;
            return Some(self.retransmit(now, number, Why::Lost));
        }
        self.next_speculative(now).or_else(|| self.next_probe())
    }

    /// Returns the next lost segment that is not in flight again. If the peer's window has shrunk below it, only the
    /// oldest segment is returned.
    #[inline]
    fn next_lost(&mut self) -> Option<u64> {
        let number = self.board.next_lost()?;
        self.fits_window(number).then_some(number)
    }

    #[inline]
    fn fits_window(&self, number: u64) -> bool {
        self.board.get(number).seq < self.peer.edge() || number == self.board.front_number()
    }

    /// Whether the congestion window has room for a segment.
    #[inline]
    pub(super) fn has_room(&self) -> bool {
        let in_flight = if self.cwnd.state() == CongestionState::Disorder && !self.settings.limited_transmit {
            self.board.out() // what is acknowledged selectively makes no room yet (before RFC 3042)
        } else {
            self.board.in_flight()
        };
        in_flight < self.cwnd.window().size.max(self.ns2.as_ref().map_or(0, |ns2| ns2.ceiling))
    }

    #[cold]
    fn next_forced(&mut self, now: Time, forced: Forced) -> Option<Outgoing> {
        match forced {
            Forced::Nothing => None,
            Forced::WindowProbe => Some(Outgoing::Probe { seq: self.board.una().saturating_sub(1) }),
            Forced::Head => {
                let number = self.board.front_number();
                let front = self.board.front()?;
                (!front.is(SACKED)).then(|| self.retransmit(now, number, Why::Lost))
            }
            Forced::FirstLost => {
                let number = self.next_lost()?;
                Some(self.retransmit(now, number, Why::Lost))
            }
            Forced::Copy => {
                if self.settings.transmit_fin {
                    self.recovery.forced = Forced::New;
                }
                let number = self.board.last_number()?;
                Some(self.retransmit(now, number, Why::Copy))
            }
            Forced::New => self.next_new(now),
            Forced::Tail => {
                self.burst.probing = true;
                let outgoing = self.next_new(now).or_else(|| {
                    let number = self.board.last_number()?;
                    self.tail.retransmission = !self.board.get(number).is(SACKED) && self.fits_window(number);
                    self.tail.retransmission.then(|| self.retransmit(now, number, Why::TailProbe))
                });
                if outgoing.is_some() {
                    self.tail.high = Some(self.board.nxt());
                    self.timer.kind = TimerKind::None; // the time-out starts from now
                }
                self.rearm_rto(now);
                outgoing
            }
        }
    }

    /// As [`Sender::poll`] and [`Sender::rests`] in the midst of new data, at an end that [`Sender::is_plain`], where
    /// nothing but the windows decides whether a full segment goes.
    #[inline(always)]
    pub(in crate::tcp) fn send_full(&mut self, now: Time) -> NextFull {
        debug_assert!(self.is_plain());
        if !self.asks_window_only {
            return NextFull::Unknown;
        }
        let Window { size, holds, .. } = *self.cwnd.window();
        let (nxt, mss) = (self.board.nxt(), self.agreed.mss);
        let (written, edge) = (self.byte_stream.end(), self.peer.edge());
        let out = self.board.out(); // all of it is in flight
        if written <= nxt + mss || edge < nxt + mss || out == 0 || out >= size || holds {
            return NextFull::Unknown;
        }
        let grouped = self.settings.offload_divisor > 0;
        if grouped && self.group.is_closed() && !self.open_group(now, written - nxt, edge - nxt) {
            self.end_burst(now);
            return NextFull::Waits;
        }
        let push = grouped && self.join_group(mss, written - nxt - mss, edge - nxt - mss);
        let slot = self.board.send_data(now, mss, self.totals.delivered);
        self.burst.sent += 1;
        if let Some(ns2) = &mut self.ns2 {
            ns2.on_new_data(now, slot.end(), out + 1);
        }
        if self.timer.kind != TimerKind::Retransmission {
            self.on_new_data(now, false);
        }
        self.burst.last_sent = Some(now);
        let last = out + 1 >= size && (self.ns2.is_none() || !self.has_room());
        if last {
            self.close_burst(now, |_| true);
        }
        NextFull::Goes(Full { seq: slot.seq, push, last, window: size })
    }

    /// New data, or the FIN, as far as the peer's window and the application let it.
    #[inline(always)]
    fn next_new(&mut self, now: Time) -> Option<Outgoing> {
        let nxt = self.board.nxt();
        if nxt == 0 {
            return self.has_unsent().then(|| self.send(now, 0, false, false)); // the SYN, before the first data
        }
        let waiting = self.byte_stream.waiting(nxt); // beyond the end once the FIN is sent
        if waiting == 0 {
            let fin = self.byte_stream.wants_fin();
            if fin && self.peer.edge() <= nxt && self.timer.kind != TimerKind::Persist {
                self.start_persist(now);
            }
            return (fin && self.peer.edge() > nxt).then(|| self.send(now, 0, true, false));
        }
        let mut len = waiting.min(self.agreed.mss);
        let full = len;
        if self.records.is_some() {
            len = len.min(self.left_of_record(nxt));
        }
        let ends_record = len < full; // what follows it is there already
        let usable = self.peer.usable(nxt);
        let grouped = self.settings.offload_divisor > 0;
        if usable < len {
            // RFC 9293 section 3.8.6.2.1: a segment is cut only if the peer's window was never larger, if the persist
            // timer has expired, or if a full segment goes with it.
            let joins = self.group.goes_on() && !self.byte_stream.small_is_out(&self.board);
            if usable == 0 || !(joins || self.timer.cut || self.peer.is_half_of_largest(usable)) {
                self.start_persist(now);
                return None;
            }
            len = usable;
        } else if grouped && self.group.is_closed() && !self.open_group(now, waiting, usable) {
            return None;
        }
        let last = self.byte_stream.wants_fin() && len == waiting && usable > len;
        // A probe, and the new data of F-RTO, do not wait for more to come.
        let probing = self.burst.probing || self.recovery.rexmit == Rexmit::New || ends_record;
        if len < self.agreed.mss && !last && !self.timer.cut && !probing && self.byte_stream.holds_small(&self.board) {
            self.start_persist(now); // as in Linux: nothing is held back for longer than a time-out
            return None;
        }
        self.timer.cut = false;
        let push = grouped && self.join_group(len, waiting - len, usable - len);
        let fin = last && !self.settings.transmit_fin;
        let sent = self.send(now, len, fin, push || ends_record);
        if last {
            self.follow_last_segment();
        }
        Some(sent)
    }

    /// Sends a copy or a FIN behind the last segment, whatever the window is (Ciullo, Mellia, Meo, "Two schemes to
    /// reduce latency in short lived TCP flows", IEEE Communications Letters 13 (10), 2009).
    #[cold]
    fn follow_last_segment(&mut self) {
        if self.settings.transmit_twice {
            self.recovery.forced = Forced::Copy;
        } else if self.settings.transmit_fin {
            self.recovery.forced = Forced::New;
        }
    }

    /// Bytes from `nxt` to the end of a record.
    #[cold]
    fn left_of_record(&mut self, nxt: u64) -> u64 {
        let Some(records) = &mut self.records else { return u64::MAX };
        while records.front().is_some_and(|end| *end <= nxt) {
            records.pop_front();
        }
        let left = records.front().map(|end| end - nxt);
        if left.is_none() {
            self.records = None;
        }
        left.unwrap_or(u64::MAX)
    }

    /// Sends `len` bytes of new data, and the FIN after them if `fin`; `push` if they end a group.
    #[inline(always)]
    fn send(&mut self, now: Time, len: u64, fin: bool, push: bool) -> Outgoing {
        if fin {
            self.byte_stream.on_fin_sent();
        }
        let (idle, in_flight) = (!self.board.outstanding(), self.board.in_flight());
        self.announce_start(now, in_flight);
        let mut slot = self.board.send(now, len, fin, self.totals.delivered);
        if slot.end() >= self.byte_stream.end() {
            self.board.push_last();
            slot.marks |= PUSH;
        } else if push {
            slot.marks |= PUSH; // this once: a retransmission goes by itself
        }
        if self.sampler.is_some() {
            self.keep_state(now, self.board.numbers().end - 1, in_flight, idle);
        }
        if len < self.agreed.mss && slot.seq > 0 {
            self.byte_stream.on_small_sent(slot.end());
        }
        self.burst.sent += 1;
        if let Some(ns2) = &mut self.ns2 {
            ns2.on_new_data(now, slot.end(), self.board.in_flight());
        }
        self.cwnd.on_sent();
        if idle || self.timer.kind != TimerKind::Retransmission {
            self.on_new_data(now, idle);
        }
        let cwr = self.cwnd.ecn.cwr_due && len > 0;
        self.cwnd.ecn.cwr_due &= !cwr;
        self.sent(now, &slot, cwr)
    }

    /// Keeps what a rate is later measured from.
    #[cold]
    pub(super) fn keep_state(&mut self, now: Time, number: u64, in_flight: u32, idle: bool) {
        let Some(sampler) = &mut self.sampler else { return };
        let state = sampler.on_send(now, in_flight, idle, self.totals.delivered, self.board.lost_total());
        self.board.keep_state(number, state);
    }

    #[inline]
    fn announce_start(&mut self, now: Time, in_flight: u32) {
        if in_flight == 0 {
            let app_limited = self.sampler.as_ref().is_some_and(|sampler| sampler.is_app_limited());
            let last_sent = self.burst.last_sent;
            self.cwnd.control.tell(now, &Event::Starts { app_limited, last_sent });
        }
    }

    /// Sends slot `number` again.
    fn retransmit(&mut self, now: Time, number: u64, why: Why) -> Outgoing {
        let (idle, in_flight) = (false, self.board.in_flight());
        self.announce_start(now, in_flight);
        let slot = self.board.retransmit(now, number, self.totals.delivered, why != Why::Lost);
        if self.sampler.is_some() {
            self.keep_state(now, number, in_flight, idle);
        }
        self.totals.retransmitted += 1;
        if let Some(ns2) = &mut self.ns2 {
            ns2.on_retransmission(number, self.board.in_flight());
        }
        if !matches!(why, Why::TailProbe | Why::Copy) {
            self.undo.on_retransmission(now);
            self.cwnd.on_sent();
            if number == self.board.front_number() && self.timer.kind != TimerKind::Reordering {
                self.start_rto(now);
            }
        }
        self.sent(now, &slot, false)
    }

    #[inline(always)]
    fn sent(&mut self, now: Time, slot: &Slot, cwr: bool) -> Outgoing {
        self.burst.last_sent = Some(now);
        self.pace(now, u64::from(slot.len));
        if self.cwnd.control.wants_sent() {
            self.cwnd.control.tell(now, &Event::Sent { in_flight: self.board.in_flight() });
        }
        Outgoing::Data {
            seq: slot.seq,
            len: u32::from(slot.len),
            fin: slot.fin(),
            sent_before: u32::from(slot.transmissions) - 1,
            push: slot.is(PUSH),
            cwr,
        }
    }

    /// RFC 6675 NextSeg rules 3 and 4, for a recovery by counting: there is room and no new data to fill it.
    #[inline]
    fn next_speculative(&mut self, now: Time) -> Option<Outgoing> {
        if self.cwnd.state() != CongestionState::Recovery
            || !self.agreed.sack
            || self.rack.is_some()
            || self.ns2.is_some()
        {
            return None;
        }
        if let Some(number) = self.board.next_speculative().filter(|&number| self.fits_window(number)) {
            return Some(self.retransmit(now, number, Why::Lost));
        }
        if self.recovery.rescued {
            return None;
        }
        self.recovery.rescued = true;
        let number = self.board.last_unsacked().filter(|&number| self.fits_window(number))?;
        Some(self.retransmit(now, number, Why::Rescue))
    }

    fn next_probe(&mut self) -> Option<Outgoing> {
        if !self.cwnd.control.wants_probes() {
            return None;
        }
        let last = self.board.last_number()?;
        if !self.cwnd.control.take_probe() {
            return None;
        }
        let slot = self.board.get(last);
        Some(Outgoing::Dummy { seq: slot.seq, len: u32::from(slot.len) })
    }

    /// Ends a burst: nothing more may be sent now. Notes whether the window was the limit, and starts the timer of the
    /// tail.
    #[inline(always)]
    fn end_burst(&mut self, now: Time) {
        self.close_burst(now, |sender| sender.board.in_flight() >= sender.cwnd.window().size);
    }

    /// As [`Sender::end_burst`]; `full`: whether the congestion window is full.
    #[inline(always)]
    fn close_burst(&mut self, now: Time, full: impl FnOnce(&Sender) -> bool) {
        let sent = std::mem::take(&mut self.burst.sent);
        let probing = std::mem::take(&mut self.burst.probing);
        let deferred = self.group.take_deferred();
        self.group.close();
        if sent == 0 && !self.has_unsent() {
            return;
        }
        let limited = deferred || full(self) || self.cwnd.ecn.scalable && self.is_spread();
        if (sent > 0 || limited) && self.cwnd.validate(now, limited, &self.board, &self.rtt) {
            self.cwnd.shrink_unused(now, self.fills_buffer());
        }
        if sent > 0 && !probing && self.settings.tlp {
            self.schedule_probe(now, false);
        }
    }

    /// Whether the application waits until it can write more: a socket of Linux holds about two windows that are not
    /// acknowledged (`tcp_sndbuf_expand`). Simplified: the buffer follows the window down too, and has no limit of
    /// bytes.
    #[cold]
    fn fills_buffer(&self) -> bool {
        let held = self.byte_stream.end().saturating_sub(self.board.una());
        held / self.agreed.mss >= 2 * u64::from(self.cwnd.window().size)
    }

    /// Whether pacing alone holds back data that the window has room for: they would fill it, and the peer's window
    /// does not hold them back. More than half of the window is in flight then, as in slow start.
    #[cold]
    fn is_spread(&self) -> bool {
        let in_flight = self.board.in_flight();
        self.pacing.wake
            && self.peer.usable(self.board.nxt()) >= self.agreed.mss
            && self.cwnd.window().size < in_flight.saturating_mul(2)
    }
}
