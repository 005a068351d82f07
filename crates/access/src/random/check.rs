//! Values that several schemes refuse.

use units::FieldError;

use super::layout::RandomLayout;

pub(super) fn no_payload() -> FieldError {
    FieldError::new("payload_bits", "0 bits: a packet carries at least 1")
}

/// Whether a packet of so many replicas, at least `least`, fits a block.
pub(super) fn check_replica_count(
    field: &str,
    replicas: u32,
    least: u32,
    layout: &RandomLayout,
) -> Result<(), FieldError> {
    let refuse = |message: String| Err(FieldError::new(field, message));
    if replicas < least {
        return refuse(format!("{replicas} was given, a packet has at least {least}"));
    }
    if replicas > layout.block_slots {
        return refuse(format!("{replicas} replicas of a packet, but an RA block has {} slots", layout.block_slots));
    }
    if replicas > layout.most_replicas() {
        let columns = layout.timeslots;
        return refuse(format!(
            "{replicas} replicas of a packet, but a frame has {columns} timeslots and the terminal one amplifier"
        ));
    }
    Ok(())
}
