//! An acknowledgment is read: blocks, cumulative advance, round-trip times, delivery.

use units::{Duration, Time};

use super::news::{Before, News};
use super::recovery::episode::Rexmit;
use super::scoreboard::slot::{LOST, SACKED, Slot};
use super::{Ack, Sender, TimerKind, echo_age, is_before, timestamp};
use crate::congestion::AckSample;
use crate::state::CongestionState;
use crate::tcp::SackBlocks;
use crate::tcp::config::RtoRestart;
use crate::tcp::info::Counters;

fn extend(times: &mut Option<(Time, Time)>, sent_at: Time) {
    *times = Some((times.map_or(sent_at, |times| times.0), sent_at));
}

/// Segments that were acknowledged and taken out, of which none was retransmitted.
pub(super) struct Taken {
    /// How many.
    pub acked: u32,
    /// When the first of them was sent.
    pub first_sent_at: Time,
    /// The last of them.
    pub last: Slot,
}

impl Sender {
    /// As [`Sender::handle_ack`].
    pub(super) fn handle_as_linux(&mut self, now: Time, ack: &Ack, counters: &mut Counters) {
        let una = self.board.una();
        if ack.ack < una {
            return self.handle_old_ack(now, ack);
        }
        let mut news = News {
            advanced: ack.ack > una,
            data: !ack.bare,
            ece: self.cwnd.ecn.on && ack.ece,
            echo: ack.echo.unwrap_or(0),
            ..News::default()
        };
        if !news.advanced && self.is_quiet() && (ack.sack.is_empty() || !self.settings.dsack) {
            self.timer.window_probes = 0;
            self.update_window(now, ack);
            return;
        }
        let mut before = self.before();
        self.timer.window_probes = 0;
        if news.advanced {
            self.timer.timeouts = 0;
            if self.agreed.sack {
                before.forward = self.board.forward();
            }
        }
        news.window_update = self.update_window(now, ack);
        self.board.move_una(ack.ack);
        if self.agreed.sack && !ack.sack.is_empty() {
            self.read_blocks(now, ack.sack, una, &mut news);
        }
        if before.out == 0 {
            if news.duplicate {
                self.follow(now, &before, 0, &mut news);
            }
            self.follow_tail_probe(now, ack.ack, &news);
            return;
        }
        self.read_advance(now, &before, &mut news, counters);
        self.read_marks(ack, &before, &mut news);
        if let Some(rack) = &mut self.rack {
            rack.adapt(self.totals.delivered);
        }
        if self.tail.high.is_some() {
            self.follow_tail_probe(now, ack.ack, &news);
        }
        let alert = news.sacked || news.ece || news.duplicate;
        if !news.is_no_duplicate() || alert || self.cwnd.state() != CongestionState::Open {
            let duplicate = !(news.advanced || news.is_no_duplicate() || news.duplicate);
            self.follow(now, &before, u32::from(duplicate), &mut news);
        } else {
            self.recovery.rexmit = Rexmit::None;
        }
        if news.set_timer || self.settings.rto_restart == RtoRestart::EveryAck {
            self.set_timer(now);
        }
        self.control(now, &before, &news);
    }

    /// RFC 9768 section 3.2.2.5: the count of marks, of an acknowledgment that makes progress. A controller that does
    /// not take the count hears of a mark as of RFC 3168's.
    fn read_marks(&mut self, ack: &Ack, before: &Before, news: &mut News) {
        let delivered = (self.totals.delivered - before.delivered) as u32;
        if let (Some(accurate), Some((ace, option))) = (&mut self.cwnd.ecn.accurate, ack.marks)
            && (news.advanced || delivered > 0)
        {
            news.marks = accurate.on_ack(ace, option, delivered, self.agreed.mss);
            news.ece |= news.marks.packets > 0 && !self.cwnd.ecn.scalable;
        }
    }

    /// Does what [`Sender::handle_ack`] does with an acknowledgment that advances, of `first` at least, at an end that
    /// [`Sender::is_plain`]. `UNWATCHED`: neither RACK nor a sampler of rates looks at each segment.
    #[inline(always)]
    pub(super) fn advance<const UNWATCHED: bool>(
        &mut self,
        now: Time,
        ack: &Ack,
        first: Slot,
        counters: &mut Counters,
    ) {
        let in_flight_before = self.board.out();
        self.board.move_una(ack.ack);
        let Taken { acked, first_sent_at, last } = self.take_plain::<UNWATCHED>(now, first, counters, |_| {});
        let (oldest, newest) = (now.minus(first_sent_at), now.minus(last.sent_at));
        self.rtt.note_min(now, newest);
        self.rtt.measured(oldest, self.board.una(), self.board.nxt());
        counters.count_rtt(newest);
        if !UNWATCHED && let Some(rack) = &mut self.rack {
            rack.adapt(self.totals.delivered);
        }
        self.set_timer(now);
        let window_limited = self.cwnd.is_window_limited();
        self.control_plainly::<UNWATCHED>(now, acked, in_flight_before, newest, window_limited);
    }

    /// Tells the controller of an acknowledgment as of [`Sender::advance`]: nothing is lost, and all that was sent and
    /// is not acknowledged is in flight.
    #[inline(always)]
    pub(super) fn control_plainly<const UNWATCHED: bool>(
        &mut self,
        now: Time,
        acked: u32,
        in_flight_before: u32,
        rtt: Duration,
        window_limited: bool,
    ) {
        let mut sample = AckSample {
            now,
            acked,
            delivered: acked,
            lost: 0,
            delivered_total: self.totals.delivered,
            lost_total: self.board.lost_total(),
            in_flight_before,
            in_flight: self.board.out(),
            una: self.board.una(),
            nxt: self.board.nxt(),
            rtt: Some(rtt),
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min(),
            rate: None,
            may_grow: true,
            window_limited,
            window_full: self.cwnd.is_full(),
            state: CongestionState::Open,
            ece: false,
            marked: 0,
            marked_bytes: 0,
            paced: self.is_paced(),
            mss: self.agreed.mss as u32,
        };
        if !UNWATCHED {
            self.add_rate(now, acked, &mut sample);
        }
        self.cwnd.control.acknowledge(&sample);
    }

    /// Takes out what is acknowledged cumulatively, from `first` on, about which nothing was ever in doubt; `take` is
    /// called with each segment.
    #[inline(always)]
    pub(super) fn take_plain<const UNWATCHED: bool>(
        &mut self,
        now: Time,
        first: Slot,
        counters: &mut Counters,
        mut take: impl FnMut(&Slot),
    ) -> Taken {
        self.take_plain_slot::<UNWATCHED>(self.board.front_number(), &first, counters);
        let (mut acked, mut last) = (1, first);
        take(&first);
        // The next segment begins where the one before ends.
        while last.end() != self.board.una()
            && let Some((number, next)) = self.board.acknowledged()
        {
            self.take_plain_slot::<UNWATCHED>(number, &next, counters);
            take(&next);
            (acked, last) = (acked + 1, next);
        }
        self.totals.delivered += u64::from(acked);
        if !UNWATCHED && let Some(rack) = &mut self.rack {
            let last = last; // a copy in memory, which is not there without RACK
            rack.note_prior(&last);
            if self.agreed.sack {
                rack.on_delivered(now, &last, self.rtt.min());
            }
        }
        Taken { acked, first_sent_at: first.sent_at, last }
    }

    /// Takes out the oldest segment.
    #[inline(always)]
    fn take_plain_slot<const UNWATCHED: bool>(&mut self, number: u64, slot: &Slot, counters: &mut Counters) {
        counters.bytes_acked += u64::from(slot.len);
        if !UNWATCHED && let Some(sampler) = &mut self.sampler {
            let slot = *slot; // a copy in memory, which is not there without rates
            sampler.on_delivered(&slot, self.board.state(number));
        }
        self.board.pop_plain();
    }

    /// An acknowledgment that was overtaken may still bring blocks.
    #[cold]
    fn handle_old_ack(&mut self, now: Time, ack: &Ack) {
        if !self.agreed.sack || ack.sack.is_empty() {
            return;
        }
        let before = self.before();
        let mut news = News { echo: ack.echo.unwrap_or(0), ..News::default() };
        self.read_blocks(now, ack.sack, before.una, &mut news);
        self.follow(now, &before, 0, &mut news);
    }

    /// The state before the acknowledgment at hand is read.
    #[inline]
    pub(super) fn before(&self) -> Before {
        let una = self.board.una();
        Before {
            una,
            out: self.board.out(),
            in_flight: self.board.in_flight(),
            delivered: self.totals.delivered,
            lost: self.board.lost_total(),
            forward: una,
        }
    }

    /// RFC 9293 section 3.10.7.4: the window is taken from the newest segment. Whether it changed.
    #[inline(always)]
    pub(super) fn update_window(&mut self, now: Time, ack: &Ack) -> bool {
        let Some(changed) = self.peer.update(ack.seq, ack.ack, ack.window) else { return false };
        if self.timer.kind == TimerKind::Persist {
            self.follow_persist(now);
        }
        changed
    }

    /// Takes in SACK blocks (RFC 2018) and the report of a duplicate in the first of them (RFC 2883). SND.UNA has moved
    /// already, from `una`.
    fn read_blocks(&mut self, now: Time, blocks: &SackBlocks, una: u64, news: &mut News) {
        if let Some((number, slot)) = self.board.mark_lengthened(blocks) {
            self.note_sacked(now, number, &slot, news);
        } else {
            self.read_new_blocks(now, blocks, una, news);
        }
        if let Some(late) = news.late
            && (self.cwnd.state() != CongestionState::Loss || self.undo.marker().is_some())
        {
            self.note_reordering(late);
        }
    }

    /// As [`Sender::read_blocks`], of any blocks.
    #[inline(never)]
    fn read_new_blocks(&mut self, now: Time, blocks: &SackBlocks, una: u64, news: &mut News) {
        let duplicate = self.settings.dsack.then(|| self.duplicate_of(blocks)).flatten();
        if let Some(range) = duplicate {
            self.read_duplicate(range, una, news);
        }
        let ranges = self.board.news_of(blocks);
        for &(start, end) in ranges.as_slice() {
            for number in self.board.within(start, end) {
                if !self.board.get(number).is(SACKED) {
                    self.read_sacked(now, number, news);
                }
            }
        }
    }

    /// The duplicate that the first block reports: it lies below the acknowledgment, or within the second block.
    fn duplicate_of(&self, blocks: &SackBlocks) -> Option<(u64, u64)> {
        let blocks = blocks.as_slice();
        let &(start, end) = blocks.first()?;
        let below = start < self.board.una();
        let within = blocks.get(1).is_some_and(|second| second.0 <= start && end <= second.1);
        (below || within).then_some((start, end))
    }

    fn read_duplicate(&mut self, (start, end): (u64, u64), una: u64, news: &mut News) {
        let bytes = end - start;
        let segments = bytes.div_ceil(self.agreed.mss).max(1) as u32;
        if bytes <= self.agreed.mss && self.tail.high == Some(end) {
            news.probe_duplicate = true;
        }
        self.totals.duplicates += u64::from(segments);
        if self.totals.duplicates > self.totals.retransmitted {
            return; // the network duplicated it
        }
        if let Some(rack) = &mut self.rack
            && self.reordering.seen() > 0
            && !news.probe_duplicate
        {
            rack.on_duplicate();
        }
        news.duplicate = true;
        self.totals.delivered += u64::from(segments);
        if end <= una {
            return self.undo.on_duplicates(end, segments);
        }
        let una = self.board.una();
        if start < una && una < end || end > self.board.nxt() {
            return; // no segment of ours
        }
        for number in self.board.within(start, end) {
            let slot = *self.board.get(number);
            if !slot.was_retransmitted() {
                continue;
            }
            self.undo.on_duplicates(slot.end(), 1);
            if slot.is(SACKED) {
                news.is_late(slot.seq);
            }
            // One that was lost stops being so with its retransmission, when the block is read as one of data that
            // arrived.
            if slot.end() > una && !slot.is(LOST) {
                self.board.forget_retransmission(number);
            }
        }
    }

    /// A block newly covers slot `number`.
    fn read_sacked(&mut self, now: Time, number: u64, news: &mut News) {
        let slot = *self.board.get(number);
        if slot.end() <= self.board.una() {
            return;
        }
        if !slot.was_retransmitted() && slot.seq < self.board.forward() {
            news.is_late(slot.seq);
        }
        self.note_sacked(now, number, &slot, news);
        self.board.mark_sacked(number);
    }

    /// Notes that a block newly covers slot `number`.
    #[inline(always)]
    fn note_sacked(&mut self, now: Time, number: u64, slot: &Slot, news: &mut News) {
        self.note_delivered(now, number, slot, true);
        if !slot.was_retransmitted() {
            news.original_acked |= slot.end() <= self.recovery.high_seq;
            extend(&mut news.sacked_sent, slot.sent_at);
        }
        news.sacked = true;
        self.totals.delivered += 1;
    }

    /// Slot `number` is known to be delivered for the first time; `judges` if RACK may judge others by it.
    #[inline]
    pub(super) fn note_delivered(&mut self, now: Time, number: u64, slot: &Slot, judges: bool) {
        if let Some(rack) = &mut self.rack {
            rack.note_prior(slot);
            if judges {
                rack.on_delivered(now, slot, self.rtt.min());
            }
        }
        if let Some(sampler) = &mut self.sampler {
            sampler.on_delivered(slot, self.board.state(number));
        }
    }

    /// Takes out what is acknowledged cumulatively.
    fn read_advance(&mut self, now: Time, before: &Before, news: &mut News, counters: &mut Counters) {
        let mut lowest_late = None;
        while news.advanced
            && let Some((number, slot)) = self.board.acknowledged()
        {
            news.acked += 1;
            counters.bytes_acked += u64::from(slot.len);
            news.retransmitted_acked |= slot.was_retransmitted();
            if slot.is(SACKED) {
                self.board.pop_front(&slot);
                continue; // read when a block reported it
            }
            if !slot.was_retransmitted() {
                extend(&mut news.acked_sent, slot.sent_at);
                lowest_late.get_or_insert(slot.seq);
                news.original_acked |= slot.end() <= self.recovery.high_seq;
            }
            // Answered before it was retransmitted: its original arrived, which says nothing of what was sent with the
            // copy.
            let spurious = slot.was_retransmitted() && news.echo != 0 && is_before(news.echo, timestamp(slot.sent_at));
            self.totals.delivered += u64::from(self.agreed.sack);
            self.note_delivered(now, number, &slot, self.agreed.sack && !spurious);
            self.board.pop_front(&slot);
        }
        if self.board.front().is_some_and(|front| front.is(SACKED)) {
            self.forget_reneged(now);
        }
        let measured = self.measure(now, news, counters);
        if news.acked > 0 {
            news.set_timer = true;
            if !self.agreed.sack {
                self.settle_guessed(news.acked);
                news.original_acked &= !news.retransmitted_acked;
            } else if let Some(late) = lowest_late.filter(|&late| late < before.forward) {
                self.note_reordering(late);
            }
        } else if self.settings.rto_restart == RtoRestart::Linux
            && let (true, Some((first, _)), Some(front)) = (measured, news.sacked_sent, self.board.front())
        {
            news.set_timer |= first < front.sent_at;
        }
    }

    /// Takes the round-trip times that the acknowledgment gives. Returns whether it gave any.
    ///
    /// Segments sent only once are timed by when they were sent; by Karn's rule others are not, but by the echoed
    /// timestamp of the acknowledgment (RFC 7323 section 4.1). The estimator takes the oldest segment, so that delayed
    /// acknowledgments count in, the minimum and the controller the newest.
    fn measure(&mut self, now: Time, news: &mut News, counters: &mut Counters) -> bool {
        let mut oldest = news.acked_sent.filter(|_| !news.retransmitted_acked).map(|sent| now.since(sent.0));
        let mut newest = news.acked_sent.filter(|_| !news.retransmitted_acked).map(|sent| now.since(sent.1));
        if let Some((first, last)) = news.sacked_sent {
            newest = Some(now.since(last));
            oldest = oldest.or(Some(now.since(first)));
        }
        if oldest.is_none() && news.acked > 0 && self.agreed.timestamps {
            oldest = echo_age(now, news.echo);
            newest = oldest;
        }
        let (Some(oldest), Some(newest)) = (oldest, newest) else { return false };
        self.rtt.note_min(now, newest);
        self.rtt.measured(oldest, self.board.una(), self.board.nxt());
        news.rtt = Some(newest);
        counters.count_rtt(newest);
        true
    }

    /// Moves the window, by the controller's rules or those of a reduction.
    #[inline]
    fn control(&mut self, now: Time, before: &Before, news: &News) {
        let reordered = self.reordering.has_grown();
        let sample = AckSample {
            may_grow: !self.cwnd.in_reduction() && (news.acked > 0 || reordered && news.sacked),
            window_limited: self.cwnd.is_window_limited(),
            ece: news.ece,
            marked: news.marks.packets,
            marked_bytes: news.marks.bytes,
            ..self.sample(now, before, news.acked, news.rtt)
        };
        if sample.has_news() {
            self.cwnd.acknowledge(&sample, news.advanced);
        }
    }

    /// Returns a controller's sample of an acknowledgment, from the scoreboard, the totals and the clock: without
    /// marks, and without growth of the window. Always inlined: a call would return it through memory.
    #[inline(always)]
    pub(super) fn sample(&mut self, now: Time, before: &Before, acked: u32, rtt: Option<Duration>) -> AckSample {
        let delivered = (self.totals.delivered - before.delivered) as u32;
        let mut sample = AckSample {
            now,
            acked,
            delivered,
            lost: (self.board.lost_total() - before.lost) as u32,
            delivered_total: self.totals.delivered,
            lost_total: self.board.lost_total(),
            in_flight_before: before.in_flight,
            in_flight: self.board.in_flight(),
            una: self.board.una(),
            nxt: self.board.nxt(),
            rtt,
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min(),
            rate: None,
            may_grow: false,
            window_limited: false,
            window_full: self.cwnd.is_full(),
            state: self.cwnd.state(),
            ece: false,
            marked: 0,
            marked_bytes: 0,
            paced: self.is_paced(),
            mss: self.agreed.mss as u32,
        };
        self.add_rate(now, delivered, &mut sample);
        sample
    }

    /// Adds the delivery rate to a sample without one, for controllers that ask for it.
    #[inline(always)]
    fn add_rate(&mut self, now: Time, delivered: u32, sample: &mut AckSample) {
        if let Some(rack) = &mut self.rack {
            rack.forget_prior();
        }
        if let Some(sampler) = &mut self.sampler {
            let (total, lost) = (self.totals.delivered, self.board.lost_total());
            sample.rate = sampler.sample(now, total, lost, delivered > 0, self.rtt.min());
        }
    }
}
