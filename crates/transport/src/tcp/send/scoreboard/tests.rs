//! The scoreboard's marks and sums, segment by segment.

use proptest::prelude::*;

use super::*;
use slot::is_after;

/// Ten segments of 1000 bytes from offset 1 on.
fn ten() -> Scoreboard {
    ten_in(Order::Sent)
}

fn ten_in(order: Order) -> Scoreboard {
    let mut board = Scoreboard::new(1, 1000, order, false);
    for _ in 0..10 {
        send(&mut board, 1000);
    }
    board
}

fn send(board: &mut Scoreboard, len: u64) {
    board.send(Time::ZERO, len, false, 0);
}

fn retransmit(board: &mut Scoreboard, number: u64) {
    board.retransmit(Time::ZERO, number, 0, false);
    board.check(false);
}

/// Marks what the blocks newly cover; how many segments that is.
fn sack(board: &mut Scoreboard, blocks: &[(u64, u64)]) -> usize {
    let mut fresh = 0;
    for &(start, end) in board.news_of(&blocks.iter().copied().collect()).as_slice() {
        for number in board.within(start, end) {
            if !board.get(number).is(SACKED) {
                board.mark_sacked(number);
                fresh += 1;
            }
        }
    }
    board.check(false);
    fresh
}

fn count_losses(board: &mut Scoreboard, dupthresh: u32, forward: bool) -> Vec<u64> {
    let mut lost = Vec::new();
    while let Some(number) = board.next_counted_lost(dupthresh, forward) {
        assert!(board.mark_lost(number));
        lost.push(board.get(number).seq);
    }
    board.check(false);
    lost
}

fn acknowledge(board: &mut Scoreboard, ack: u64) -> usize {
    board.move_una(ack);
    let pop = |board: &mut Scoreboard| board.acknowledged().map(|(_, slot)| board.pop_front(&slot));
    let gone = std::iter::from_fn(|| pop(board)).count();
    board.check(false);
    gone
}

/// RFC 6675 IsLost: with the third segment above it.
#[test]
fn three_sacked_segments_tell_a_loss() {
    let mut board = ten();
    sack(&mut board, &[(1001, 3001)]);
    assert_eq!((count_losses(&mut board, 3, false), board.in_flight()), (vec![], 8));
    sack(&mut board, &[(1001, 4001)]);
    assert_eq!((count_losses(&mut board, 3, false), board.in_flight()), (vec![1], 6));
    assert_eq!((board.next_lost(), board.lost_total()), (Some(0), 1));
}

/// However large the window: slots beyond the last one taken for lost are not looked at.
#[test]
fn what_waits_is_looked_for_up_to_the_last_loss() {
    let mut board = ten();
    sack(&mut board, &[(1001, 4001)]);
    assert_eq!(count_losses(&mut board, 3, false), [1]);
    retransmit(&mut board, 0);
    assert_eq!((board.next_lost(), board.cursor), (None, 1));
}

/// Mathis and Mahdavi 1996: the highest block decides, however few arrived.
#[test]
fn forward_acknowledgment_looks_at_the_highest_block_only() {
    let mut board = ten_in(Order::Retransmitted);
    sack(&mut board, &[(4001, 5001)]);
    assert!(count_losses(&mut board, 3, false).is_empty(), "one segment above");
    assert_eq!(count_losses(&mut board, 3, true), [1, 1001], "three and more below the fifth");
    retransmit(&mut board, 0);
    assert_eq!(board.next_overtaken(), None);
    send(&mut board, 1000);
    sack(&mut board, &[(10_001, 11_001), (4001, 5001)]);
    assert_eq!(board.next_overtaken(), Some(0), "what was sent after the retransmission has arrived");
}

/// In the order in which they were retransmitted, whatever their place; one that is not taken for lost keeps its turn.
#[test]
fn overtaken_retransmissions_are_told_oldest_first() {
    let mut board = ten_in(Order::Retransmitted);
    sack(&mut board, &[(4001, 5001)]);
    assert_eq!(count_losses(&mut board, 3, true), [1, 1001]);
    retransmit(&mut board, 1);
    retransmit(&mut board, 0);
    board.unmark_lost();
    send(&mut board, 1000);
    sack(&mut board, &[(10_001, 11_001), (4001, 5001)]);
    assert_eq!(board.next_overtaken(), None, "nothing is taken for lost");
    assert!(board.mark_lost(0) && board.mark_lost(1));
    assert_eq!(board.next_overtaken(), Some(1));
    assert!(board.mark_lost(1), "the retransmission is lost again");
    assert_eq!(board.next_overtaken(), Some(0));
    assert!(board.mark_lost(0));
    retransmit(&mut board, 0);
    assert_eq!(board.next_overtaken(), None, "nothing sent after it has arrived");
}

/// Segments 2, 6, 7 and 8 are SACKed, 1, 3, 4 and 5 lost: 9 and 10 are in flight. Retransmissions join them, and
/// leave when SACKed.
#[test]
fn in_flight_of_sacked_lost_and_retransmitted() {
    let mut board = ten();
    sack(&mut board, &[(5001, 8001), (1001, 2001)]);
    assert_eq!((count_losses(&mut board, 3, false), board.in_flight()), (vec![1, 2001, 3001, 4001], 2));
    for expected in [0, 2, 3] {
        assert_eq!(board.next_lost(), Some(expected));
        retransmit(&mut board, expected);
    }
    assert_eq!(board.in_flight(), 5);
    assert_eq!(sack(&mut board, &[(2001, 3001), (5001, 8001), (1001, 2001)]), 1);
    assert_eq!((board.in_flight(), board.next_lost()), (4, Some(4)));
}

#[test]
fn a_retransmission_can_be_lost_too() {
    let mut board = ten();
    assert!(board.mark_lost(0));
    assert!(!board.mark_lost(0), "it is already");
    retransmit(&mut board, 0);
    assert_eq!(board.in_flight(), 10);
    assert!(board.mark_lost(0), "now its copy");
    assert_eq!((board.in_flight(), board.next_lost(), board.lost_total()), (9, Some(0), 2));
}

/// An undo takes the marks back, and counting begins anew.
#[test]
fn losses_can_be_taken_back() {
    let mut board = ten();
    sack(&mut board, &[(2001, 6001)]);
    assert_eq!(count_losses(&mut board, 3, false), [1, 1001]);
    retransmit(&mut board, 0);
    board.unmark_lost();
    board.check(false);
    assert_eq!((board.counts().lost, board.next_lost(), board.in_flight()), (0, None, 7));
    assert_eq!(count_losses(&mut board, 3, false), [1, 1001]);
    assert_eq!(board.next_lost(), Some(1), "the copy of the first is still in flight");
}

/// Blocks that were in the acknowledgment before bring nothing, nor do those outside what is outstanding.
#[test]
fn only_news_is_read() {
    let mut board = ten();
    assert_eq!(sack(&mut board, &[(1001, 3001)]), 2);
    assert_eq!(sack(&mut board, &[(1001, 4001)]), 1);
    assert_eq!(sack(&mut board, &[(1001, 4001)]), 0);
    assert_eq!(sack(&mut board, &[(6001, 8001), (1001, 5001)]), 3);
    assert_eq!(sack(&mut board, &[(9001, 11_001)]), 0, "beyond what was sent");
    assert_eq!(acknowledge(&mut board, 5001), 5);
    assert_eq!(sack(&mut board, &[(1, 1001)]), 0);
    assert_eq!((board.out(), board.counts().sacked), (5, 2));
}

/// The order of sending, within an instant too, is that of the last transmissions.
#[test]
fn the_order_of_sending() {
    let mut board = ten();
    retransmit(&mut board, 3);
    board.leave_order(1);
    sack(&mut board, &[(1, 1001)]);
    let mut order = Vec::new();
    let mut next = board.oldest_sent();
    while let Some(number) = next {
        order.push(number);
        next = board.sent_after(number);
    }
    assert_eq!(order, [2, 4, 5, 6, 7, 8, 9, 3]);
    assert!(is_after(board.get(3).order, board.get(9).order));
}

/// RFC 6675 NextSeg rules 3 and 4.
#[test]
fn speculative_and_rescue_candidates() {
    let mut board = ten();
    sack(&mut board, &[(7001, 9001)]);
    for number in 0..7 {
        assert_eq!(board.next_speculative(), Some(number));
        let before = board.in_flight();
        retransmit(&mut board, number);
        assert_eq!(board.in_flight(), before + 1, "both copies may be in flight");
    }
    assert_eq!((board.next_speculative(), board.last_unsacked()), (None, Some(9)));
    let before = board.in_flight();
    board.retransmit(Time::ZERO, 9, 0, true);
    assert_eq!(board.in_flight(), before);
}

#[test]
fn an_acknowledgment_within_a_segment_keeps_the_rest() {
    let mut board = ten();
    assert_eq!(acknowledge(&mut board, 1501), 1);
    assert_eq!((board.front().unwrap().seq, board.out()), (1501, 9));
    assert_eq!(sack(&mut board, &[(2001, 3001)]), 1);
}

/// RFC 2018 section 8: what was SACKed may be dropped by the receiver.
#[test]
fn a_peer_may_renege() {
    let mut board = ten();
    sack(&mut board, &[(1001, 6001)]);
    board.forget_sacked();
    board.check(false);
    assert_eq!((board.in_flight(), board.forward()), (10, 1));
    assert_eq!(sack(&mut board, &[(1001, 6001)]), 5, "and may acknowledge it again");
}

/// Steps of a sender at a scoreboard; offsets are counted in thirds of a segment, so that blocks cut segments.
#[derive(Clone, Copy, Debug)]
enum Step {
    Send,
    /// What the last acknowledgment reported, its first block longer by so many thirds.
    Lengthen(u64),
    Blocks([(u64, u64); 3], usize),
    Acknowledge(u64),
    Retransmit(u64),
    Lose(u64),
    Forget,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let block = || (0u64..90, 1u64..30);
    let step = prop_oneof![
        6 => Just(Step::Send),
        8 => prop_oneof![4 => Just(3u64), 1 => 0u64..10].prop_map(Step::Lengthen),
        3 => ([block(), block(), block()], 1usize..4).prop_map(|(blocks, count)| Step::Blocks(blocks, count)),
        2 => (0u64..40).prop_map(Step::Acknowledge),
        1 => (0u64..30).prop_map(Step::Retransmit),
        1 => (0u64..30).prop_map(Step::Lose),
        1 => Just(Step::Forget),
    ];
    prop::collection::vec(step, 1..80)
}

/// All that a step changed, where blocks are read as a sender without D-SACK reads them: by the short way if `shortly`.
fn course(order: Order, steps: &[Step], shortly: bool) -> Vec<String> {
    let (mut board, mut blocks) = (Scoreboard::new(1, 300, order, false), Vec::new());
    let mut after = Vec::new();
    for &step in steps {
        match step {
            Step::Send => send(&mut board, 300),
            Step::Acknowledge(thirds) => {
                let ack = (board.una() + 100 * thirds).min(board.nxt());
                acknowledge(&mut board, ack);
            }
            Step::Retransmit(number) if board.numbers().contains(&number) && !board.get(number).is(SACKED) => {
                retransmit(&mut board, number);
            }
            Step::Lose(number) if board.numbers().contains(&number) => _ = board.mark_lost(number),
            Step::Retransmit(_) | Step::Lose(_) => {}
            Step::Forget => board.forget_sacked(),
            Step::Lengthen(thirds) => match blocks.first_mut() {
                Some((_, end)) => *end += 100 * thirds,
                None => blocks.push((1 + 300 * 3, 1 + 300 * 4)),
            },
            Step::Blocks(given, count) => {
                let block = |&(start, length): &(u64, u64)| (1 + 100 * start, 1 + 100 * (start + length));
                blocks = given[..count].iter().map(block).collect();
            }
        }
        let given = blocks.iter().copied().collect();
        if matches!(step, Step::Lengthen(_) | Step::Blocks(..)) && !(shortly && board.mark_lengthened(&given).is_some())
        {
            sack(&mut board, &blocks);
        }
        board.check(false);
        let Scoreboard { counts, high_sacked, above, frontier, .. } = board;
        after.push(format!("{:?} {counts:?} {high_sacked} {above} {frontier}", board.slots.iter().collect::<Vec<_>>()));
    }
    after
}

proptest! {
    /// What the blocks of the acknowledgment before report, longer by a segment, is marked as any blocks are.
    #[test]
    fn a_block_longer_by_a_segment_is_read_as_any(steps in steps()) {
        for order in [Order::Unknown, Order::Retransmitted, Order::Sent] {
            prop_assert_eq!(course(order, &steps, true), course(order, &steps, false));
        }
    }
}

/// The short way is taken.
#[test]
fn a_block_longer_by_a_segment_is_marked_where_it_is_found() {
    let mut board = ten_in(Order::Retransmitted);
    sack(&mut board, &[(2001, 3001)]);
    let mark = |board: &mut Scoreboard, blocks: &[(u64, u64)]| {
        board.mark_lengthened(&blocks.iter().copied().collect()).map(|(number, slot)| (number, slot.seq))
    };
    assert_eq!(mark(&mut board, &[(2001, 4001)]), Some((3, 3001)));
    assert_eq!(mark(&mut board, &[(2001, 4001)]), None, "nothing is new");
    assert_eq!(mark(&mut board, &[(2001, 6001)]), None, "two segments");
    assert_eq!(mark(&mut board, &[(2001, 5001), (7001, 8001)]), None, "another block");
    retransmit(&mut board, 4);
    assert_eq!(mark(&mut board, &[(2001, 5001)]), None, "sent twice");
    board.check(false);
    let mut board = ten_in(Order::Retransmitted);
    sack(&mut board, &[(2001, 4001)]);
    acknowledge(&mut board, 3001);
    assert_eq!(mark(&mut board, &[(2001, 5001)]), None, "it begins before what is acknowledged");
}
