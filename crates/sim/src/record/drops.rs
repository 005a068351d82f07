//! The drop reasons of all stages, a line each, and lost packets counted by them.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use units::report::{Line, Reported};

use super::member::key;

/// Why a packet is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// The last hop lost it.
    LastHop(link::DropReason),
    /// The return link lost it.
    ReturnLink(access::DropReason),
    /// The long path lost it.
    Path(PathLoss),
}

/// Why the long path loses a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathLoss {
    /// No route led to the user, or back, and there was no room to wait for one.
    NoRoute,
    /// The buffer of one of the links was full.
    Overflow,
    /// The packet was lost by chance, as the path's measurements have it.
    Measured,
    /// Another satellite served the user when it came to the one that it was sent to.
    Handover,
    /// The packet was sent to an address that the user no longer had.
    Address,
}

/// A drop reason.
#[derive(Debug)]
pub struct Reason {
    /// The reason's key in `dropped_by_reason`.
    pub name: &'static str,
    /// The reason in words.
    pub words: &'static str,
    /// The column of the flows that counts it, with others perhaps.
    pub column: &'static str,
}

/// A line for each reason: its name, what it is in words, and the column of the flows that counts it. Of a column that
/// no line above has named, what its packets were lost by and what it means.
macro_rules! reasons {
    ($($loss:pat => $name:literal, $words:literal, $column:literal $(($label:literal, $meaning:literal))?;)+) => {
        /// All reasons, in the order of their lines.
        pub static REASONS: &[Reason] = &[$(Reason { name: $name, words: $words, column: $column }),+];
        const NAMES: &[&str] = &[$($name),+];
        const COLUMN_OF: &[usize] = &[$(index($column, COLUMNS)),+];
        const COLUMNS: &[&str] = &[$($(of_new_column($column, $label),)?)+];
        const KEYS: &[&str] = &[$($(of_new_column(key!($column), $label),)?)+];
        const LINES: &[Line] = &[$($(Line::count($column, Some($label), $meaning),)?)+];

        impl Loss {
            /// Returns the reason's name in [`REASONS`].
            pub(crate) fn name(self) -> &'static str {
                NAMES[self.reason()]
            }

            /// Returns the reason's index in [`REASONS`].
            fn reason(self) -> usize {
                use {Loss::*, access::DropReason as R, link::DropReason as L, PathLoss as P};
                match self { $($loss => const { index($name, NAMES) }),+ }
            }
        }
    };
}

reasons! {
    LastHop(L::Overflow) => "overflow", "full queue of the last hop", "lost_overflow"
        ("by a full queue", "Packets with data lost because a queue was full: of the last hop, of a link of the path, \
          or the terminal's, for data that go up. The columns `lost_…` up to `lost_on_path` are the lost ones of \
          `loss_ratio` by reason. Packets that go against the flow's direction, such as requests of web users, are \
          counted in `access` and `conservation` alone.");
    LastHop(L::Early) => "early", "dropped early by the queue's manager", "lost_early"
        ("by the queue's manager", "Packets with data that the queue's manager dropped although there was room.");
    LastHop(L::Timeout) => "timeout", "waited too long", "lost_timeout"
        ("after too long a wait", "Packets with data lost because they had waited in the queue longer than the limit.");
    LastHop(L::Harq) => "harq", "not decoded", "lost_harq"
        ("not decoded", "Packets with data lost because they could not be decoded.");
    Path(P::NoRoute) => "no_route", "no route", "lost_no_route"
        ("without a route", "Packets with data lost because there was no route, and no room to wait for one.");
    LastHop(L::Handover) => "handover", "in the last hop at a handover", "lost_handover"
        ("at handovers", "Packets with data lost because another satellite took over the user while they were in \
          flight to the old one, waited there, or were half decoded (in `conservation`, the first are \
          `path_handover`, the others `handover`), or because they were sent to an address that the user no longer \
          had (`old_address`).");
    ReturnLink(R::Collision) => "collision", "collision on the return link", "lost_collision"
        ("in collisions", "Packets with data of which a part collided on the return link.");
    Path(P::Measured) => "path_loss", "lost on the path", "lost_on_path"
        ("on the path", "Packets with data lost on the path by chance: the share of losses that its trace or model has \
          at that instant.");
    Path(P::Overflow) => "path_overflow", "full queue of a link of the path", "lost_overflow";
    Path(P::Handover) => "path_handover", "on the path at a handover", "lost_handover";
    Path(P::Address) => "old_address", "sent to an address that the user no longer had", "lost_handover";
    ReturnLink(R::Overflow) => "return_overflow", "full queue of a terminal", "lost_overflow";
}

/// Returns the index of `name` in `names`.
const fn index(name: &str, names: &[&str]) -> usize {
    let mut index = 0;
    while index < names.len() {
        if equal(name.as_bytes(), names[index].as_bytes()) {
            return index;
        }
        index += 1;
    }
    panic!("a reason names a column of which no line tells what it means")
}

const fn equal(a: &[u8], b: &[u8]) -> bool {
    let mut index = 0;
    while index < a.len() && index < b.len() && a[index] == b[index] {
        index += 1;
    }
    index == a.len() && index == b.len()
}

const fn of_new_column(column: &'static str, _label: &str) -> &'static str {
    column
}

/// Lost packets by reason.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Drops([u64; NAMES.len()]);

impl Drops {
    /// A packet is lost.
    pub(crate) fn count(&mut self, loss: Loss) {
        self.0[loss.reason()] += 1;
    }

    /// The flow's packets that were lost for this reason.
    pub(crate) fn by(&self, loss: Loss) -> u64 {
        self.0[loss.reason()]
    }

    /// All lost packets.
    pub(crate) fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The counts by name.
    pub(crate) fn by_reason(&self) -> BTreeMap<&'static str, u64> {
        NAMES.iter().copied().zip(self.0).collect()
    }

    /// The counts by column of the flows.
    pub(crate) fn by_column(&self) -> Lost {
        let mut lost = Lost::default();
        for (&column, count) in COLUMN_OF.iter().zip(self.0) {
            lost.0[column] += count;
        }
        lost
    }
}

/// The packets with data of a flow that were lost, by column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost([u64; COLUMNS.len()]);

impl Lost {
    /// The columns with their counts.
    pub fn columns(&self) -> impl Iterator<Item = (&'static str, u64)> {
        COLUMNS.iter().copied().zip(self.0)
    }

    /// The keys in JSON with their counts.
    pub(super) fn members(&self) -> impl Iterator<Item = (&'static str, u64)> {
        KEYS.iter().copied().zip(self.0)
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

/// Losses by the name of their column, which must exist.
impl std::ops::Index<&str> for Lost {
    type Output = u64;

    fn index(&self, column: &str) -> &u64 {
        &self.0[index(column, COLUMNS)]
    }
}

impl Serialize for Lost {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.columns())
    }
}

impl Reported for Lost {
    fn lines() -> Vec<Line> {
        LINES.to_vec()
    }

    fn numbers(&self) -> Vec<(&'static str, f64)> {
        self.columns().map(|(name, count)| (name, count as f64)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_is_counted_under_its_name_and_column() {
        let losses = [
            (Loss::LastHop(link::DropReason::Overflow), "overflow", "lost_overflow"),
            (Loss::ReturnLink(access::DropReason::Collision), "collision", "lost_collision"),
            (Loss::Path(PathLoss::Handover), "path_handover", "lost_handover"),
        ];
        for (loss, name, column) in losses {
            let mut drops = Drops::default();
            drops.count(loss);
            assert_eq!(
                (drops.by(loss), drops.total(), drops.by_reason()[name], drops.by_column()[column]),
                (1, 1, 1, 1)
            );
            assert_eq!((drops.by_reason().len(), drops.by_column().total()), (REASONS.len(), 1));
        }
    }
}
