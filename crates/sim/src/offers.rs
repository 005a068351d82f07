//! The log of what entered a run from outside, and the same run again from it.

use traffic::End;
use units::{Ecn, Time};

use crate::record::Table;
use crate::simulation::{RunError, Simulation};
use crate::world::{Offer, OfferError};

/// A line of the log: an [`Offer`] and when it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedOffer {
    /// When.
    pub at: Time,
    /// The flow that the packet entered, by its number in the run.
    pub flow: u32,
    /// The end that it entered at.
    pub from: End,
    /// Bytes of the whole IP packet.
    pub bytes: u32,
    /// The congestion mark of its IP header.
    pub ecn: Ecn,
    /// The class of service on the last hop; `None` for that of the flow.
    pub class: Option<u32>,
}

/// Why a log cannot be replayed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ReplayError {
    /// The bytes are no log.
    #[error("offer {0}: not one of a log")]
    NotALog(usize),
    /// Time runs back.
    #[error("offer {0}: is before the one before it")]
    TimeRunsBack(usize),
    /// A packet cannot enter.
    #[error("offer {0}: {1}")]
    Refused(usize, OfferError),
    /// The run fails.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Bytes of a line.
const LINE: usize = 24;
const ECN: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
const NO_CLASS: u32 = u32::MAX;

impl LoggedOffer {
    /// Bytes of a line of the log.
    pub const BYTES: usize = LINE;

    /// The offer, without ticket and header.
    pub fn offer(&self) -> Offer<'static> {
        let LoggedOffer { flow, from, bytes, ecn, class, .. } = *self;
        Offer { flow, from, bytes, ecn, class, ticket: 0, header: &[] }
    }

    /// The line, little-endian: nanoseconds (8), flow (4), bytes (4), class or all ones (4), end (1: server 0, user 1),
    /// mark (1: 0 not capable, 1 ECT(0), 2 ECT(1), 3 CE), two zeros.
    pub fn to_bytes(&self) -> [u8; LINE] {
        let mut line = [0; LINE];
        line[..8].copy_from_slice(&self.at.as_nanos().to_le_bytes());
        line[8..12].copy_from_slice(&self.flow.to_le_bytes());
        line[12..16].copy_from_slice(&self.bytes.to_le_bytes());
        line[16..20].copy_from_slice(&self.class.unwrap_or(NO_CLASS).to_le_bytes());
        line[20] = self.from as u8;
        line[21] = ECN.iter().position(|&ecn| ecn == self.ecn).expect("one of the marks") as u8;
        line
    }

    /// Reads [`LoggedOffer::to_bytes`].
    pub fn from_bytes(line: &[u8; LINE]) -> Option<LoggedOffer> {
        let word = |at: usize| u32::from_le_bytes([line[at], line[at + 1], line[at + 2], line[at + 3]]);
        let from = match line[20] {
            0 => End::Server,
            1 => End::User,
            _ => return None,
        };
        Some(LoggedOffer {
            at: Time::from_nanos(u64::from(word(4)) << 32 | u64::from(word(0))),
            flow: word(8),
            bytes: word(12),
            class: Some(word(16)).filter(|&class| class != NO_CLASS),
            from,
            ecn: *ECN.get(usize::from(line[21]))?,
        })
    }
}

/// A log as a table: a column for each part of a line, as [`LoggedOffer::to_bytes`] has them.
pub fn offers_table(log: &[u8]) -> Table {
    let lines = log.as_chunks::<LINE>().0;
    let word = |at: usize| {
        lines
            .iter()
            .map(move |line| u64::from(u32::from_le_bytes([line[at], line[at + 1], line[at + 2], line[at + 3]])))
    };
    let mut table = Table::default();
    table.count("time_ns", word(0).zip(word(4)).map(|(low, high)| high << 32 | low));
    table.count("flow", word(8));
    table.count("bytes", word(12));
    table.count("class", word(16));
    table.count("from", lines.iter().map(|line| u64::from(line[20])));
    table.count("ecn", lines.iter().map(|line| u64::from(line[21])));
    table
}

impl Simulation {
    /// Offers all of a log, lines of [`LoggedOffer::to_bytes`], at their instants; what leaves is dropped. The run
    /// stands at the last of them then.
    ///
    /// # Errors
    /// The bytes are no log of this scenario, or the run fails.
    pub fn replay(&mut self, log: &[u8]) -> Result<(), ReplayError> {
        let (lines, rest) = log.as_chunks::<LINE>();
        for (number, line) in lines.iter().enumerate() {
            let logged = LoggedOffer::from_bytes(line).ok_or(ReplayError::NotALog(number))?;
            if logged.at < self.now() {
                return Err(ReplayError::TimeRunsBack(number));
            }
            self.advance(logged.at)?;
            self.offer(&logged.offer()).map_err(|error| ReplayError::Refused(number, error))?;
            while self.poll_departure().is_some() {}
        }
        if rest.is_empty() { Ok(()) } else { Err(ReplayError::NotALog(lines.len())) }
    }
}
