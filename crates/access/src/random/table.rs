//! A scheme by its curve of packet loss.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{FieldError, Files};

use super::check::{check_replica_count, no_payload};
use super::plr_table::PlrTable;
use super::{Decoding, Kind, RandomAccess, RandomConfig, RandomLayout, ReplicaCount};

/// Packet loss from a measured or simulated curve over the packets of a block, instead of a receiver.
///
/// Each packet of a block is lost with the probability that the curve gives for the number of packets in the block,
/// independently of the others; `es_n0`, `power_spread` and `iterations` are those of the curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// A CSV file of the packets of a block and the packet loss rate (0 to 1), by increasing packets; columns are
    /// separated by commas, semicolons, tabs or spaces. The first line may be a header; lines that begin with # and
    /// columns after the second are passed over. Linear between rows; before the first and after the last row it keeps
    /// their rates.
    pub plr: String,
    /// Bursts that a packet takes, each in a slot of its own.
    #[serde(default = "three")]
    pub replicas: u32,
    /// Useful bits of a packet (N_data).
    #[serde(default = "default_payload")]
    pub payload_bits: u32,
}

fn three() -> u32 {
    3
}

/// The payload of the scheme of a scenario that chooses none.
fn default_payload() -> u32 {
    RandomAccess::default().entry().payload_bits()
}

impl Kind for Table {
    fn check(&self, layout: &RandomLayout) -> Result<(), FieldError> {
        if self.payload_bits == 0 {
            return Err(no_payload());
        }
        FieldError::unless_named("plr", &self.plr)?;
        check_replica_count("replicas", self.replicas, 1, layout)
    }

    fn payload_bits(&self) -> u32 {
        self.payload_bits
    }

    fn replicas(&self) -> ReplicaCount {
        ReplicaCount::Fixed(self.replicas)
    }

    fn decoding(&self, _random: &RandomConfig, files: &mut dyn Files) -> Result<Decoding, FieldError> {
        let table = PlrTable::read(files, &self.plr);
        Ok(Decoding::Table(table.map_err(|message| FieldError::new("plr", message))?))
    }

    fn files_mut(&mut self) -> Vec<&mut String> {
        vec![&mut self.plr]
    }
}
