//! The fates of a recording's data segments: the delay until each arrival, none for a loss.

use std::collections::BTreeMap;

use units::Duration;

use super::file::{Packet, Recording, What};

/// A data segment's delays, the way of the acknowledgment included: none if it was lost, more than one if the path
/// repeated it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fate {
    /// From sending to the first acknowledgment that covers it.
    pub delays: Vec<Duration>,
    /// The number of the last segment sent and arrived before it: microseconds shall not change the order.
    pub follows: Option<usize>,
}

/// Returns the fate of each data segment, in the order of sending.
///
/// # Errors
/// Why the fates do not follow from the recording.
pub fn fates(recording: &Recording) -> Result<Vec<Fate>, String> {
    check(recording)?;
    let header = &recording.header;
    let mut path = Path { delayed_acks: header.delack > 1, sack: header.sack != 0, ..Path::default() };
    for line in &recording.lines {
        match &line.what {
            What::Out(packet) if packet.len > 0 => path.sent.push(SentData::new(packet, line.at)),
            What::Dropped(number) => {
                let sent =
                    path.sent.get_mut(*number).ok_or_else(|| format!("line {}: no such segment", line.number))?;
                sent.lost = true;
            }
            What::In(packet) if !packet.flags.contains('S') => path.answer(packet, line.at),
            _ => {}
        }
    }
    Ok(path.fates(header.rtt))
}

/// Checks that the fates of the segments follow from the recording.
fn check(recording: &Recording) -> Result<(), String> {
    let header = &recording.header;
    if header.open != 0 || header.noack != 0 {
        return Err("the peer follows a script of its own".into());
    }
    let mut arrived = recording.lines.iter().filter_map(|line| match &line.what {
        What::In(packet) => Some(packet),
        _ => None,
    });
    if arrived.clone().any(|packet| packet.flags.contains('E')) {
        return Err("segments were marked".into());
    }
    if arrived.any(|packet| packet.window < 65_535) {
        return Err("the peer's window is small".into());
    }
    let loses = recording.lines.iter().any(|line| matches!(line.what, What::Dropped(_)));
    if header.sack == 0 && header.fifo == 0 && !loses && has_duplicates(recording) {
        return Err("no SACK block says which segments came out of order".into());
    }
    Ok(())
}

fn has_duplicates(recording: &Recording) -> bool {
    let acks: Vec<u64> = recording
        .lines
        .iter()
        .filter_map(|line| match &line.what {
            What::In(packet) if packet.ack > 1 => Some(packet.ack),
            _ => None,
        })
        .collect();
    acks.windows(2).any(|pair| pair[0] == pair[1])
}

/// A data segment in flight.
#[derive(Clone, Debug)]
struct SentData {
    start: u64,
    end: u64,
    sent_ms: f64,
    lost: bool,
    /// When the segment's arrivals were acknowledged.
    acked_ms: Vec<f64>,
}

impl SentData {
    fn new(packet: &Packet, sent_ms: f64) -> SentData {
        let end = packet.seq + u64::from(packet.len);
        SentData { start: packet.seq, end, sent_ms, lost: false, acked_ms: Vec::new() }
    }

    fn lies_in(&self, range: (u64, u64)) -> bool {
        range.0 <= self.start && self.end <= range.1
    }
}

#[derive(Debug, Default)]
struct Path {
    sent: Vec<SentData>,
    /// The peer's acknowledgments may wait for a second segment.
    delayed_acks: bool,
    sack: bool,
    /// The delay of the last segments that were acknowledged without waiting.
    delay: Option<f64>,
}

impl Path {
    fn answer(&mut self, packet: &Packet, at: f64) {
        let blocks = &packet.options.sack;
        let duplicate = blocks.first().copied().filter(|first| {
            first.1 <= packet.ack || blocks.get(1).is_some_and(|second| second.0 <= first.0 && first.1 <= second.1)
        });
        let ranges =
            std::iter::once((0, packet.ack)).chain(blocks.iter().copied().skip(usize::from(duplicate.is_some())));
        let ranges: Vec<(u64, u64)> = ranges.collect();
        let alone = blocks.is_empty();
        let arrived = self.mark_arrived(&ranges, at, alone);
        if let Some(range) = duplicate {
            self.repeat(range, at);
        } else if arrived == 0 && !self.sack && packet.ack > 1 {
            // Without SACK a duplicate acknowledgment says that some segment has come: the one sent first.
            self.mark_oldest_arrived(at);
        }
    }

    /// The segments in `ranges` that were not acknowledged before have arrived. Returns how many these are.
    fn mark_arrived(&mut self, ranges: &[(u64, u64)], at: f64, alone: bool) -> usize {
        let known: Vec<(u64, u64)> =
            self.sent.iter().filter(|sent| !sent.acked_ms.is_empty()).map(|sent| (sent.start, sent.end)).collect();
        let fresh: Vec<usize> = (0..self.sent.len())
            .filter(|&index| {
                let sent = &self.sent[index];
                !sent.lost
                    && sent.acked_ms.is_empty()
                    && ranges.iter().any(|range| sent.lies_in(*range))
                    && !known.iter().any(|range| sent.lies_in(*range))
            })
            .collect();
        // The first of several transmissions is in flight the longest.
        let mut named: Vec<usize> = Vec::new();
        for index in fresh {
            let same = |other: &&usize| self.sent[**other].start == self.sent[index].start;
            if named.iter().find(same).is_none() {
                named.push(index);
            }
        }
        let Some(last) = named.iter().map(|&index| self.sent[index].sent_ms).reduce(f64::max) else { return 0 };
        let waited = self.delayed_acks && alone && named.len() == 1;
        let delay = if waited { self.delay.map_or(at - last, |delay| delay.min(at - last)) } else { at - last };
        if !waited {
            self.delay = Some(delay);
        }
        for &index in &named {
            let sent = &mut self.sent[index];
            sent.acked_ms.push(sent.sent_ms + delay);
        }
        named.len()
    }

    /// Data that had arrived before came again: by another transmission, or repeated by the path.
    fn repeat(&mut self, range: (u64, u64), at: f64) {
        let in_flight = self.sent.iter().position(|sent| sent.lies_in(range) && !sent.lost && sent.acked_ms.is_empty());
        let index = in_flight.or_else(|| self.sent.iter().rposition(|sent| sent.lies_in(range) && !sent.lost));
        if let Some(index) = index {
            self.sent[index].acked_ms.push(at);
        }
    }

    fn mark_oldest_arrived(&mut self, at: f64) {
        if let Some(sent) = self.sent.iter_mut().find(|sent| !sent.lost && sent.acked_ms.is_empty()) {
            sent.acked_ms.push(at);
        }
    }

    /// Returns the fates. A segment that was not acknowledged before the end took as long as the segment before.
    fn fates(self, rtt: f64) -> Vec<Fate> {
        let mut last = rtt;
        let mut arrived: BTreeMap<u64, usize> = BTreeMap::new();
        let mut fates = Vec::new();
        for (number, sent) in self.sent.into_iter().enumerate() {
            if sent.lost {
                fates.push(Fate::default());
                continue;
            }
            let acked_ms = if sent.acked_ms.is_empty() { vec![sent.sent_ms + last] } else { sent.acked_ms };
            last = acked_ms[0] - sent.sent_ms;
            let nanoseconds = (acked_ms[0] * 1e6) as u64;
            let follows = arrived.range(..=nanoseconds).next_back().map(|(_, number)| *number);
            arrived.insert(nanoseconds, number);
            let delays = acked_ms.iter().map(|acked| Duration::from_secs_f64((acked - sent.sent_ms).max(0.0) * 1e-3));
            fates.push(Fate { delays: delays.collect(), follows });
        }
        fates
    }
}
