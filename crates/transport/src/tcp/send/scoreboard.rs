//! What was sent and is not acknowledged: one slot for each segment, and the scoreboard of RFC 6675 on them.
//!
//! Everything is kept up to date step by step. Slots are numbered from the start of the connection, so that a number stays
//! valid while the front of the queue is acknowledged; marks that only move forward (the frontier of IsLost, the cursors of
//! NextSeg) are such numbers. Each slot is passed at most once by each, so the cost for an acknowledgment does not grow with the window.

use std::collections::VecDeque;

use units::Time;

use crate::tcp::SackBlocks;

/// A segment that was sent.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp) struct Slot {
    /// Offset of the first byte.
    pub seq: u64,
    /// When it was last sent.
    pub sent_at: Time,
    /// Bytes of payload.
    pub len: u16,
    /// How often it was sent.
    pub transmissions: u16,
    marks: u8,
}

/// Selectively acknowledged.
const SACKED: u8 = 1;
/// Taken for lost and not (known to be) delivered since.
const LOST: u8 = 2;
/// Retransmitted since it was last taken for lost (it is at or below RFC 6675 HighRxt).
const RESENT: u8 = 4;
/// The FIN goes with it.
const FIN: u8 = 8;

impl Slot {
    #[inline]
    fn end(&self) -> u64 {
        self.seq + u64::from(self.len) + u64::from(self.fin())
    }

    #[inline]
    fn is(&self, mark: u8) -> bool {
        self.marks & mark != 0
    }

    #[inline]
    pub(in crate::tcp) fn fin(&self) -> bool {
        self.is(FIN)
    }

    /// Bytes that count as being on their way (RFC 6675 section 4, SetPipe (a) and (b)).
    #[inline]
    fn in_pipe(&self) -> u64 {
        let copies = match self.marks & (SACKED | LOST | RESENT) {
            0 => 1,
            RESENT => 2,
            marks => u64::from(marks & (SACKED | RESENT) == RESENT),
        };
        copies * u64::from(self.len)
    }
}

/// What an acknowledgment newly says.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::tcp) struct News {
    /// Bytes by which the cumulative acknowledgment advanced.
    pub acked: u64,
    /// Bytes newly acknowledged, cumulatively or selectively.
    pub delivered: u64,
    /// Whether a block told of data not known to have arrived.
    pub sacked: bool,
    /// Whether data that were sent more than once were acknowledged cumulatively.
    pub resent: bool,
    /// When the first and the last of the newly acknowledged segments that were sent only once left.
    pub sent: Option<(Time, Time)>,
}

impl News {
    #[inline]
    fn delivered(&mut self, slot: &Slot, bytes: u64) {
        self.delivered += bytes;
        if slot.transmissions == 1 {
            let first = self.sent.map_or(slot.sent_at, |sent| sent.0);
            self.sent = Some((first, slot.sent_at));
        }
    }
}

/// The slots and their sums.
#[derive(Debug)]
pub(in crate::tcp) struct Scoreboard {
    slots: VecDeque<Slot>,
    /// Number of the slot at the front.
    first: u64,
    /// First offset not acknowledged (SND.UNA, RFC 6675 HighACK + 1).
    una: u64,
    /// First offset not sent (SND.NXT, RFC 6675 HighData + 1).
    nxt: u64,
    pipe: u64,
    sacked_bytes: u64,
    lost_bytes: u64,
    /// Number after the highest SACKed slot.
    high_sacked: u64,
    /// Number before which every slot is SACKed or taken for lost.
    frontier: u64,
    /// SACKed slots from the frontier on.
    above: u32,
    /// Number before which no lost slot waits for retransmission (NextSeg rule 1).
    cursor: u64,
    /// Number before which no slot is a candidate of NextSeg rule 3.
    speculative: u64,
    /// The blocks of the last acknowledgment, which need no second look.
    known: SackBlocks,
    dupthresh: u32,
    mss: u64,
}

impl Scoreboard {
    pub(in crate::tcp) fn new(start: u64, mss: u64, dupthresh: u32) -> Scoreboard {
        Scoreboard {
            slots: VecDeque::new(),
            first: 0,
            una: start,
            nxt: start,
            pipe: 0,
            sacked_bytes: 0,
            lost_bytes: 0,
            high_sacked: 0,
            frontier: 0,
            above: 0,
            cursor: 0,
            speculative: 0,
            known: SackBlocks::default(),
            dupthresh,
            mss,
        }
    }

    /// First offset not acknowledged.
    #[inline]
    pub(in crate::tcp) fn una(&self) -> u64 {
        self.una
    }

    /// First offset not sent.
    #[inline]
    pub(in crate::tcp) fn nxt(&self) -> u64 {
        self.nxt
    }

    /// Whether anything waits for an acknowledgment.
    #[inline]
    pub(in crate::tcp) fn outstanding(&self) -> bool {
        self.una < self.nxt
    }

    /// Bytes on their way by RFC 6675.
    #[inline]
    pub(in crate::tcp) fn pipe(&self) -> u64 {
        self.pipe
    }

    /// Bytes selectively acknowledged.
    #[inline]
    pub(in crate::tcp) fn sacked_bytes(&self) -> u64 {
        self.sacked_bytes
    }

    /// Bytes taken for lost and not known to be delivered since.
    #[inline]
    pub(in crate::tcp) fn lost_bytes(&self) -> u64 {
        self.lost_bytes
    }

    /// Whether the oldest segment is taken for lost (IsLost(HighACK + 1)).
    #[inline]
    pub(in crate::tcp) fn front_lost(&self) -> bool {
        self.slots.front().is_some_and(|slot| slot.is(LOST))
    }

    /// Sends the next `len` bytes, and the FIN after them if `fin`.
    #[inline]
    pub(in crate::tcp) fn send(&mut self, now: Time, len: u64, fin: bool) -> Slot {
        let marks = if fin { FIN } else { 0 };
        let slot = Slot { seq: self.nxt, sent_at: now, len: len as u16, transmissions: 1, marks };
        self.nxt = slot.end();
        self.pipe += len;
        self.slots.push_back(slot);
        slot
    }

    /// Sends slot `number` again.
    pub(in crate::tcp) fn resend(&mut self, now: Time, number: u64) -> Slot {
        self.touch(now, number, RESENT)
    }

    /// Sends slot `number` again without counting the copy in the pipe: a rescue does not move HighRxt (RFC 6675, rule 4).
    pub(in crate::tcp) fn rescue(&mut self, now: Time, number: u64) -> Slot {
        self.touch(now, number, 0)
    }

    fn touch(&mut self, now: Time, number: u64, mark: u8) -> Slot {
        let slot = &mut self.slots[(number - self.first) as usize];
        debug_assert!(!slot.is(SACKED), "slot {number} has arrived");
        let before = slot.in_pipe();
        slot.marks |= mark;
        slot.sent_at = now;
        slot.transmissions = slot.transmissions.saturating_add(1);
        self.pipe = self.pipe + slot.in_pipe() - before;
        *slot
    }

    /// The cumulative acknowledgment advances to `ack`.
    #[inline]
    pub(in crate::tcp) fn advance(&mut self, ack: u64, news: &mut News) {
        debug_assert!(self.una < ack && ack <= self.nxt);
        self.una = ack;
        while let Some(&slot) = self.slots.front() {
            if slot.end() > ack {
                if slot.seq < ack {
                    self.trim_front(ack, news);
                }
                break;
            }
            self.slots.pop_front();
            self.leave(slot, news);
            self.first += 1;
        }
        self.frontier = self.frontier.max(self.first);
    }

    /// Takes an acknowledged slot, the first one, out of the sums.
    #[inline]
    fn leave(&mut self, slot: Slot, news: &mut News) {
        let len = u64::from(slot.len);
        news.acked += len;
        self.pipe -= slot.in_pipe();
        if slot.marks & (SACKED | LOST) == 0 {
            news.delivered(&slot, len);
        } else if slot.is(SACKED) {
            self.sacked_bytes -= len;
            if self.first >= self.frontier {
                self.above -= 1;
            }
        } else {
            self.lost_bytes -= len;
            news.delivered(&slot, len);
        }
        news.resent |= slot.transmissions > 1;
    }

    /// An acknowledgment in the middle of the first slot (of a peer that cuts segments): the slot keeps the rest.
    #[cold]
    fn trim_front(&mut self, ack: u64, news: &mut News) {
        let slot = &mut self.slots[0];
        let part = (ack - slot.seq).min(u64::from(slot.len));
        let before = slot.in_pipe();
        slot.seq += part;
        slot.len -= part as u16;
        self.pipe -= before - slot.in_pipe();
        news.acked += part;
        if slot.is(SACKED) {
            self.sacked_bytes -= part;
        } else {
            news.delivered += part;
            if slot.is(LOST) {
                self.lost_bytes -= part;
            }
        }
    }

    /// Marks what `blocks` newly cover. Blocks that were in the acknowledgment before are passed over.
    ///
    /// A block at or below the cumulative acknowledgment is a D-SACK (RFC 2883), which tells nothing new here.
    pub(in crate::tcp) fn sack(&mut self, blocks: &SackBlocks, news: &mut News) {
        let known = std::mem::replace(&mut self.known, *blocks);
        for &(start, end) in blocks.as_slice() {
            if start <= self.una || end > self.nxt {
                continue;
            }
            let mut at = start;
            while at < end {
                let covering = known.as_slice().iter().find(|k| k.0 <= at && at < k.1);
                if let Some(&(_, known_end)) = covering {
                    at = known_end;
                    continue;
                }
                let next = known.as_slice().iter().map(|k| k.0).filter(|&k| k > at).min();
                let until = next.map_or(end, |next| next.min(end));
                self.sack_range(at, until, news);
                at = until;
            }
        }
    }

    /// Marks the slots that lie wholly in `start..end`.
    fn sack_range(&mut self, start: u64, end: u64, news: &mut News) {
        let mut index = self.index_at_or_after(start);
        while let Some(slot) = self.slots.get_mut(index).filter(|slot| slot.end() <= end) {
            if !slot.is(SACKED) {
                let len = u64::from(slot.len);
                self.pipe -= slot.in_pipe();
                if slot.is(LOST) {
                    self.lost_bytes -= len;
                }
                slot.marks = slot.marks & FIN | SACKED;
                self.sacked_bytes += len;
                news.sacked = true;
                news.delivered(slot, len);
                let number = self.first + index as u64;
                if number >= self.frontier {
                    self.above += 1;
                }
                self.high_sacked = self.high_sacked.max(number + 1);
            }
            index += 1;
        }
    }

    /// Index of the first slot that starts at `seq` or later.
    #[inline]
    fn index_at_or_after(&self, seq: u64) -> usize {
        let Some(front) = self.slots.front() else { return 0 };
        // No slot is longer than a segment, so the answer is here or later: here, if all are full.
        let guess = (seq.saturating_sub(front.seq) / self.mss) as usize;
        if self.slots.get(guess).is_some_and(|slot| slot.seq == seq) {
            return guess;
        }
        self.slots.partition_point(|slot| slot.seq < seq)
    }

    /// Moves the frontier of IsLost (RFC 6675 section 4): a slot is lost with `dupthresh` SACKed segments above it.
    ///
    /// A deliberate deviation: the RFC counts discontiguous sequences, or more than `dupthresh - 1` full segments' bytes; this
    /// counts segments, as Linux does. They differ for several small segments in a row, which no bulk transfer sends.
    #[inline]
    pub(in crate::tcp) fn detect_losses(&mut self) {
        while self.above > 0 {
            let slot = &mut self.slots[(self.frontier - self.first) as usize];
            if slot.is(SACKED) {
                self.above -= 1;
            } else {
                if self.above < self.dupthresh {
                    break;
                }
                self.pipe -= slot.in_pipe();
                slot.marks |= LOST;
                self.pipe += slot.in_pipe();
                self.lost_bytes += u64::from(slot.len);
            }
            self.frontier += 1;
        }
    }

    /// Takes the oldest segment for lost, whatever the scoreboard says; a copy sent since then stays on its way.
    pub(in crate::tcp) fn lose_front(&mut self) {
        let Some(slot) = self.slots.front_mut().filter(|slot| !slot.is(LOST)) else { return };
        self.pipe -= slot.in_pipe();
        slot.marks |= LOST;
        self.pipe += slot.in_pipe();
        self.lost_bytes += u64::from(slot.len);
        self.frontier = self.frontier.max(self.first + 1);
    }

    /// Takes everything for lost that is not known to have arrived, copies included (RFC 6675 section 5.1).
    pub(in crate::tcp) fn lose_all(&mut self) {
        for slot in self.slots.iter_mut().filter(|slot| !slot.is(SACKED)) {
            if !slot.is(LOST) {
                self.lost_bytes += u64::from(slot.len);
            }
            slot.marks = slot.marks & FIN | LOST;
        }
        self.pipe = 0;
        self.frontier = self.first + self.slots.len() as u64;
        self.above = 0;
        self.restart();
    }

    /// A recovery begins: NextSeg looks from the front again.
    pub(in crate::tcp) fn restart(&mut self) {
        self.cursor = self.first;
        self.speculative = self.first;
    }

    /// Whether the oldest segment is there and no copy of it is on its way.
    pub(in crate::tcp) fn front_waits(&self) -> Option<u64> {
        self.slots.front().filter(|slot| !slot.is(RESENT)).map(|_| self.first)
    }

    /// NextSeg rule 1: the lowest slot that is lost and not retransmitted, if it starts before `before`.
    #[inline]
    pub(in crate::tcp) fn next_lost(&mut self, before: u64) -> Option<u64> {
        self.cursor = self.cursor.max(self.first);
        while self.cursor < self.frontier {
            let slot = &self.slots[(self.cursor - self.first) as usize];
            if slot.marks & (LOST | RESENT) == LOST {
                return (slot.seq < before).then_some(self.cursor);
            }
            self.cursor += 1;
        }
        None
    }

    /// NextSeg rule 3: the lowest slot below the highest SACKed one that is neither SACKed nor retransmitted.
    pub(in crate::tcp) fn next_speculative(&mut self) -> Option<u64> {
        self.speculative = self.speculative.max(self.cursor).max(self.first);
        while self.speculative < self.high_sacked {
            let slot = &self.slots[(self.speculative - self.first) as usize];
            if !slot.is(SACKED) && !slot.is(RESENT) {
                return Some(self.speculative);
            }
            self.speculative += 1;
        }
        None
    }

    /// NextSeg rule 4: the highest slot that is not SACKed.
    pub(in crate::tcp) fn last_unsacked(&self) -> Option<u64> {
        let index = self.slots.iter().rposition(|slot| !slot.is(SACKED))?;
        Some(self.first + index as u64)
    }

    /// Recomputes every sum and mark from the slots.
    ///
    /// # Panics
    /// If one of them is wrong.
    pub(in crate::tcp) fn check(&self) {
        let sum = |mark: u8| self.slots.iter().filter(|s| s.is(mark)).map(|s| u64::from(s.len)).sum::<u64>();
        assert_eq!(self.pipe, self.slots.iter().map(Slot::in_pipe).sum::<u64>(), "pipe");
        assert_eq!((self.sacked_bytes, self.lost_bytes), (sum(SACKED), sum(LOST)), "SACKed and lost bytes");
        assert_eq!(self.slots.front().map_or(self.una, |slot| slot.seq), self.una, "SND.UNA");
        let mut at = self.una;
        let mut above = 0;
        for (number, slot) in (self.first..).zip(&self.slots) {
            assert_eq!(slot.seq, at, "slots follow one another");
            at = slot.end();
            assert!(!slot.is(SACKED) || !slot.is(LOST | RESENT), "slot {number} is SACKed and lost");
            assert!(number != self.first || !slot.is(SACKED), "the front is SACKed");
            let settled = slot.is(SACKED | LOST);
            assert!(number >= self.frontier || settled, "slot {number} before the frontier is open");
            assert!(number < self.frontier || !slot.is(LOST), "slot {number} beyond the frontier is lost");
            let waiting = slot.marks & (LOST | RESENT) == LOST;
            assert!(number >= self.cursor || !waiting, "lost slot {number} was passed over");
            if number >= self.frontier && slot.is(SACKED) {
                above += 1;
            }
        }
        assert_eq!(at, self.nxt, "SND.NXT");
        assert_eq!(self.above, above, "SACKed from the frontier on");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten segments of 1000 bytes from offset 1 on.
    fn ten() -> Scoreboard {
        let mut board = Scoreboard::new(1, 1000, 3);
        for _ in 0..10 {
            board.send(Time::ZERO, 1000, false);
        }
        board
    }

    fn sack(board: &mut Scoreboard, blocks: &[(u64, u64)]) -> News {
        let mut news = News::default();
        board.sack(&blocks.iter().copied().collect(), &mut news);
        board.detect_losses();
        board.check();
        news
    }

    fn lost(board: &Scoreboard) -> Vec<u64> {
        board.slots.iter().filter(|slot| slot.is(LOST)).map(|slot| slot.seq).collect()
    }

    /// RFC 6675 IsLost: with the third segment above it.
    #[test]
    fn three_sacked_segments_tell_a_loss() {
        let mut board = ten();
        sack(&mut board, &[(1001, 2001)]);
        sack(&mut board, &[(1001, 3001)]);
        assert_eq!((lost(&board), board.pipe()), (vec![], 8000));
        sack(&mut board, &[(1001, 4001)]);
        assert_eq!((lost(&board), board.pipe()), (vec![1], 6000));
        assert_eq!(board.next_lost(u64::MAX), Some(0));
        assert_eq!(board.next_lost(1), None, "not below the limit");
    }

    /// RFC 6675 IsLost: segments count, full or not.
    #[test]
    fn small_segments_count_as_well() {
        let mut board = Scoreboard::new(0, 1000, 3);
        for len in [1000, 10, 10, 10, 10, 1000, 1000] {
            board.send(Time::ZERO, len, false);
        }
        sack(&mut board, &[(1020, 1030), (1000, 1010)]);
        assert!(lost(&board).is_empty());
        sack(&mut board, &[(1020, 1040)]);
        assert_eq!(lost(&board), [0], "three above the first, two above the third");
        sack(&mut board, &[(1040, 3040), (1020, 1040)]);
        assert_eq!(lost(&board), [0, 1010]);
    }

    /// Segments 2, 6, 7 and 8 are SACKed, 1, 3, 4 and 5 lost: 9 and 10 are on their way. Retransmissions join them, and leave when SACKed.
    #[test]
    fn pipe_of_sacked_lost_and_retransmitted() {
        let mut board = ten();
        sack(&mut board, &[(5001, 8001), (1001, 2001)]);
        assert_eq!((lost(&board), board.pipe()), (vec![1, 2001, 3001, 4001], 2000));
        for expected in [0, 2, 3] {
            let number = board.next_lost(u64::MAX).unwrap();
            assert_eq!(number, expected);
            board.resend(Time::ZERO, number);
        }
        assert_eq!(board.pipe(), 5000);
        sack(&mut board, &[(2001, 3001), (5001, 8001), (1001, 2001)]);
        assert_eq!(board.pipe(), 4000);
        assert_eq!(board.next_lost(u64::MAX), Some(4));
    }

    /// RFC 6675 NextSeg rules 3 and 4.
    #[test]
    fn speculative_and_rescue_candidates() {
        let mut board = ten();
        sack(&mut board, &[(7001, 9001)]);
        assert!(lost(&board).is_empty());
        for number in 0..7 {
            assert_eq!(board.next_speculative(), Some(number));
            let before = board.pipe();
            board.resend(Time::ZERO, number);
            assert_eq!(board.pipe(), before + 1000, "both copies may be on their way");
        }
        assert_eq!(board.next_speculative(), None, "the last is not below a SACKed one");
        assert_eq!(board.last_unsacked(), Some(9));
        let before = board.pipe();
        board.rescue(Time::ZERO, 9);
        assert_eq!(board.pipe(), before);
        board.check();
    }

    /// What is delivered counts once, cumulatively or selectively.
    #[test]
    fn news_counts_each_byte_once() {
        let mut board = ten();
        assert_eq!(sack(&mut board, &[(1001, 3001)]).delivered, 2000);
        let again = sack(&mut board, &[(1001, 4001)]);
        assert_eq!((again.delivered, again.sacked), (1000, true));
        assert!(!sack(&mut board, &[(1001, 4001)]).sacked);
        let mut news = News::default();
        board.advance(5001, &mut news);
        assert_eq!((news.acked, news.delivered), (5000, 2000));
        board.check();
    }

    #[test]
    fn blocks_outside_what_is_outstanding_tell_nothing() {
        let mut board = ten();
        board.advance(2001, &mut News::default());
        for block in [(1, 1001), (1001, 3001), (2001, 3001), (9001, 11_001)] {
            assert!(!sack(&mut board, &[block]).sacked, "{block:?}");
        }
    }

    /// RFC 6675 section 5.1: after a time-out what is SACKed stays so, the rest is lost, retransmitted or not.
    #[test]
    fn a_time_out_loses_everything_but_what_is_sacked() {
        let mut board = ten();
        sack(&mut board, &[(1001, 4001)]);
        board.resend(Time::ZERO, 0);
        board.lose_all();
        board.check();
        assert_eq!((board.pipe(), board.lost_bytes(), board.sacked_bytes()), (0, 7000, 3000));
        let mut again = Vec::new();
        while let Some(number) = board.next_lost(u64::MAX) {
            again.push(number);
            board.resend(Time::ZERO, number);
        }
        assert_eq!(again, [0, 4, 5, 6, 7, 8, 9]);
        board.send(Time::ZERO, 1000, false);
        sack(&mut board, &[(10_001, 11_001)]);
        assert_eq!((board.pipe(), board.sacked_bytes()), (7000, 4000));
    }

    #[test]
    fn an_acknowledgment_within_a_segment_keeps_the_rest() {
        let mut board = ten();
        let mut news = News::default();
        board.advance(1501, &mut news);
        board.check();
        assert_eq!((news.acked, board.pipe()), (1500, 8500));
        assert_eq!(sack(&mut board, &[(2001, 3001)]).delivered, 1000);
    }
}
