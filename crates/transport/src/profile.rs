//! The stacks after which connections and controllers take their defaults.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The stack whose rules and defaults apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// The stack of the RFCs: losses are detected by three duplicate acknowledgments (RFC 5681, RFC 6582, RFC 6675, RFC
    /// 6298), there is neither RACK nor a tail loss probe, and spurious recoveries are not undone. The time-out's floor
    /// is the 200 ms of most stacks under its variance term, where RFC 6298 has 1 s under the whole (`min_rto`,
    /// `rto_floor`).
    #[default]
    Classic,
    /// As `classic` with forward acknowledgment: what lies three segments below the highest one acknowledged is lost.
    Fack,
    /// The stack of the papers, ns-2.35's TCP-Linux: a segment is lost when one four beyond it has arrived, recovery
    /// forgets what blocks reported when it ends, the retransmission timer starts anew at every acknowledgment, an
    /// estimator whose variance falls at each, no timestamps, D-SACK ignored, an initial window of 2, CUBIC 2.1.
    Ns2Linux,
    /// Linux 6.18: RACK-TLP, proportional rate reduction, F-RTO, Eifel and D-SACK undo, adaptive reordering degree, 40
    /// ms delayed acknowledgments after 16 quick ones, window validation, restart after idle.
    Linux,
}

impl Profile {
    /// All, in the order of the columns of the table.
    pub const ALL: [Profile; 4] = [Profile::Classic, Profile::Fack, Profile::Ns2Linux, Profile::Linux];

    /// By how many units of its clock a data segment's timestamp may be older than the receiver's last: none (RFC 7323
    /// section 5.3), in Linux one (`TCP_PAWS_WINDOW`).
    pub(crate) fn paws_window(self) -> u32 {
        u32::from(self == Profile::Linux)
    }

    /// Returns the name that a scenario writes.
    pub fn name(self) -> &'static str {
        ["classic", "fack", "ns2-linux", "linux"][self as usize]
    }
}
