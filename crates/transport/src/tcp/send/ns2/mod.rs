//! Loss recovery of ns-2.35's TCP-Linux, in our words: what the profile `ns2-linux` has beside its options.
//!
//! SACK blocks report how far data have arrived. A segment is lost when one `dupthresh` beyond it has arrived, a
//! retransmission when something sent for the first time after it has, or when of the retransmissions one so many later
//! is answered. Nothing is kept beyond a recovery: what blocks had reported is forgotten, and reported again by the
//! acknowledgments that follow, three blocks at a time; what these do not repeat may be taken for lost though it has
//! arrived. In a recovery the window is at its floor at once, and a ceiling that falls by one for each segment sent
//! halves the rate. A retransmission that is lost after a time-out begins another recovery. An acknowledgment that was
//! overtaken is not looked at.
//!
//! Reno's and CUBIC's windows are as in Linux 2.6.22 ([`crate::congestion::Window::open`], CUBIC 2.1).

pub(super) mod rtt;
pub(super) mod scoreboard;

use units::{Duration, Time};

use super::ack::Taken;
use super::news::Before;
use super::recovery::episode::Rexmit;
use super::scoreboard::slot::{ONCE_SACKED, RETRANSMITTED, SACKED, Slot};
use super::{Ack, Sender, echo_age};
use crate::congestion::{AckSample, Cause};
use crate::state::CongestionState;
use crate::tcp::SackBlocks;
use crate::tcp::config::{Dupthresh, RtoRestart};
use crate::tcp::info::Counters;

/// Changes that an acknowledgment brings, for the rules of ns-2.
#[derive(Clone, Copy, Debug, Default)]
struct Ns2News {
    acked: u32,
    sacked: bool,
    lost: bool,
    /// All that was sent is to be looked at again, not only what lies below a block.
    thorough: bool,
    /// The round-trip time of the newest segment, if it was sent once only.
    rtt: Option<Duration>,
    /// When the newest segment was sent that this acknowledgment is the first to report; `None` by Karn's rule.
    told: Option<Time>,
    /// When the newest segment was sent that a block of this acknowledgment is the first to report.
    told_by_block: Option<Time>,
}

/// The burst that the end of a recovery may send.
const MOST_BURST: u32 = 3;

impl Sender {
    /// As [`Sender::handle_ack`].
    #[inline(never)]
    pub(super) fn handle_as_ns2(&mut self, now: Time, ack: &Ack, counters: &mut Counters) {
        let una = self.board.una();
        if ack.ack < una {
            return;
        }
        self.timer.window_probes = 0;
        if ack.ack == una && self.is_quiet() {
            self.update_window(now, ack);
            return;
        }
        let before = self.before();
        self.update_window(now, ack);
        self.board.move_una(ack.ack);
        let mut news = if ack.ack > una { self.clean(now, counters) } else { Ns2News::default() };
        self.read_blocks_as_ns2(now, ack, &mut news);
        self.measure_as_ns2(now, ack);
        if let Some(sent_at) = news.told_by_block.or(news.told) {
            counters.count_rtt(now.since(sent_at));
        }
        if news.acked > 0 {
            self.timer.timeouts = 0;
        }
        if news.acked > 0 || self.settings.rto_restart == RtoRestart::EveryAck {
            self.rearm_rto(now);
        }
        self.control_as_ns2(now, &before, &news);
        if news.acked == 0 || news.sacked || self.cwnd.state() != CongestionState::Open {
            self.follow_as_ns2(now, news.lost);
        }
        self.begin_burst(self.board.in_flight());
    }

    /// As [`Sender::handle_as_ns2`], with an acknowledgment as of [`Sender::advance`].
    #[inline(never)]
    pub(super) fn advance_as_ns2(&mut self, now: Time, ack: &Ack, first: Slot, counters: &mut Counters) {
        let in_flight_before = self.board.out();
        self.board.move_una(ack.ack);
        // When the newest was sent that no block had told of.
        let mut untold = None;
        let take = |slot: &Slot| untold = (!slot.is(ONCE_SACKED)).then_some(slot.sent_at).or(untold);
        let Taken { acked, last, .. } = self.take_plain::<false>(now, first, counters, take);
        self.measure_as_ns2(now, ack);
        self.rearm_rto(now);
        let rtt = now.since(last.sent_at);
        // The end of a recovery forgets blocks: what they had reported is no news.
        if let Some(sent_at) = untold {
            counters.count_rtt(now.since(sent_at));
        }
        let window_limited = in_flight_before >= self.cwnd.window().size;
        self.control_plainly::<false>(now, acked, in_flight_before, rtt, window_limited);
        self.begin_burst(self.board.out());
    }

    /// The retransmission timer expired.
    pub(super) fn expire_as_ns2(&mut self, now: Time) {
        self.cwnd.tell_congestion(now, Cause::Timeout, &self.board, &self.rtt);
        for number in self.board.numbers() {
            self.lose(now, number);
        }
        self.board.restart();
        self.cwnd.collapse(now, 1);
        self.recovery.high_seq = self.board.nxt();
        self.recovery.rexmit = Rexmit::Lost;
        self.timer.timeouts += 1;
        if let Some(ns2) = &mut self.ns2 {
            ns2.on_timeout();
        }
        self.rtt.back_off();
        self.start_rto(now);
    }

    /// A ceiling leaves room for one segment at most.
    fn begin_burst(&mut self, in_flight: u32) {
        if let Some(ns2) = &mut self.ns2 {
            ns2.ceiling = ns2.ceiling.min(in_flight + 1);
        }
        self.recovery.rexmit = Rexmit::Lost;
    }

    /// Takes out what is acknowledged cumulatively.
    #[inline(never)]
    fn clean(&mut self, now: Time, counters: &mut Counters) -> Ns2News {
        let (mut news, mut told, mut again) = (Ns2News::default(), None, false);
        while let Some((number, slot)) = self.board.acknowledged() {
            news.acked += 1;
            counters.bytes_acked += u64::from(slot.len);
            news.rtt = (!slot.was_retransmitted()).then(|| now.since(slot.sent_at));
            again |= slot.was_retransmitted();
            if !slot.is(ONCE_SACKED) {
                told = Some(slot.sent_at);
            }
            if !slot.is(SACKED) {
                self.totals.delivered += 1;
                self.note_delivered(now, number, &slot, true);
            }
            if slot.was_retransmitted()
                && let Some(ns2) = &mut self.ns2
                && let Some(copy) = ns2.copies.remove(number)
                && slot.is(RETRANSMITTED)
                && copy > ns2.answered
            {
                ns2.answered = copy;
                news.thorough = true;
            }
            self.board.pop_front(&slot);
        }
        news.thorough &= self.board.outstanding();
        news.told = told.filter(|_| !again);
        news
    }

    /// Takes in blocks, and what follows from them: losses and arrivals in the order of their slots.
    #[inline(always)]
    fn read_blocks_as_ns2(&mut self, now: Time, ack: &Ack, news: &mut Ns2News) {
        let Dupthresh::Fixed(distance) = self.settings.dupthresh else { return };
        if ack.sack.is_empty() && !news.thorough {
            return;
        }
        let anew = self.settings.transmit_fin && self.awaits_fin_and_last();
        if let Some(ns2) = &mut self.ns2
            && let Some((number, slot, judged)) = ns2.judge_lengthened(&mut self.board, ack.sack, distance, anew)
        {
            news.lost |= !judged.lost.is_empty();
            judged.lost.iter().for_each(|&number| self.lose(now, number));
            self.note_arrived(now, number, &slot, news);
            if let Some(ns2) = &mut self.ns2 {
                ns2.give_back(judged);
            }
        } else {
            self.read_any_blocks_as_ns2(now, ack.sack, distance, anew, news);
        }
    }

    /// As [`Sender::read_blocks_as_ns2`], of any blocks.
    #[inline(never)]
    fn read_any_blocks_as_ns2(
        &mut self,
        now: Time,
        blocks: &SackBlocks,
        distance: u32,
        anew: bool,
        news: &mut Ns2News,
    ) {
        let [blocks, _] = self.board.keep_blocks(blocks);
        let Some(ns2) = &mut self.ns2 else { return };
        let judged = ns2.judge(&self.board, &blocks, distance, news.thorough, anew);
        news.lost |= !judged.lost.is_empty();
        let mut lost = judged.lost.iter().copied().peekable();
        for &number in &judged.arrived {
            while let Some(number) = lost.next_if(|&lost| lost < number) {
                self.lose(now, number);
            }
            let slot = *self.board.get(number);
            self.board.mark_sacked(number);
            self.note_arrived(now, number, &slot, news);
        }
        for number in lost {
            self.lose(now, number);
        }
        if let Some(ns2) = &mut self.ns2 {
            ns2.give_back(judged);
        }
    }

    /// Notes that a block newly covers slot `number`.
    #[inline(always)]
    fn note_arrived(&mut self, now: Time, number: u64, slot: &Slot, news: &mut Ns2News) {
        if !slot.was_retransmitted() && !slot.is(ONCE_SACKED) {
            news.told_by_block = news.told_by_block.max(Some(slot.sent_at));
        }
        self.note_delivered(now, number, slot, true);
        news.sacked = true;
        self.totals.delivered += 1;
    }

    /// With timestamps every acknowledgment gives a round-trip time, otherwise that of the segment that is timed. The
    /// latter alone ends the back-off. `rtt_mean_s` does not come from here.
    #[inline(always)]
    fn measure_as_ns2(&mut self, now: Time, ack: &Ack) {
        let una = self.board.una();
        let Some(ns2) = &mut self.ns2 else { return };
        let timed = ns2.timed.take_if(|timed| timed.0 <= una).map(|timed| now.since(timed.1));
        if timed.is_some() {
            self.rtt.forget_backoff();
        }
        let echoed = if self.agreed.timestamps { echo_age(now, ack.echo.unwrap_or(0)) } else { None };
        let Some(rtt) = echoed.or(timed) else { return };
        self.rtt.note_min(now, rtt);
        self.rtt.measured_as_ns2(rtt, una, self.board.nxt());
    }

    /// Tells the controller, which opens the window outside of a recovery.
    #[inline(always)]
    fn control_as_ns2(&mut self, now: Time, before: &Before, news: &Ns2News) {
        if news.acked == 0 && self.cwnd.control.wants_advances_only() {
            return;
        }
        let sample = AckSample {
            may_grow: news.acked > 0 && self.cwnd.state() != CongestionState::Recovery,
            window_limited: before.in_flight >= self.cwnd.window().size,
            ..self.sample(now, before, news.acked, news.rtt)
        };
        if sample.has_news() {
            self.cwnd.control.acknowledge(&sample);
        }
    }

    /// A recovery ends when all is acknowledged that had been sent when it began, and begins with a loss.
    fn follow_as_ns2(&mut self, now: Time, lost: bool) {
        if self.cwnd.state() != CongestionState::Open && self.board.una() >= self.recovery.high_seq {
            self.forget_blocks();
            self.cwnd.rise_to_threshold(now, self.board.in_flight() + MOST_BURST);
        } else if lost && self.cwnd.state() != CongestionState::Recovery {
            self.recovery.count += 1;
            self.recovery.high_seq = self.board.nxt();
            let ceiling = self.cwnd.window().size;
            self.cwnd.fall_to_floor(now, &self.board, &self.rtt);
            if let Some(ns2) = &mut self.ns2 {
                ns2.ceiling = ceiling;
            }
        }
    }

    fn forget_blocks(&mut self) {
        self.board.forget_sacked();
        self.board.unmark_lost();
        for number in self.board.numbers() {
            if self.board.get(number).is(RETRANSMITTED) {
                self.board.forget_retransmission(number);
            }
        }
        if let Some(ns2) = &mut self.ns2 {
            ns2.forget();
        }
    }
}
