//! Values that several schemes refuse.

use units::FieldError;

use super::layout::RandomLayout;

pub(super) fn no_payload() -> FieldError {
    FieldError::new("payload_bits", "0 bits: a packet carries at least 1")
}

/// Whether a packet of so many bursts, at least `least`, fits a block.
pub(super) fn check_bursts(field: &str, bursts: u32, least: u32, layout: &RandomLayout) -> Result<(), FieldError> {
    let refuse = |message: String| Err(FieldError::new(field, message));
    if bursts < least {
        return refuse(format!("{bursts} burst(s) for a packet: at least {least}"));
    }
    if bursts > layout.block_slots {
        return refuse(format!("{bursts} bursts for a packet, but an RA block has {} slots", layout.block_slots));
    }
    if bursts > layout.most_bursts() {
        let columns = layout.timeslots;
        return refuse(format!(
            "{bursts} bursts for a packet, but a frame has {columns} timeslots and the terminal one amplifier"
        ));
    }
    Ok(())
}
