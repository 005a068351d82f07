//! The agreement of two ends on the feedback of congestion marks (RFC 3168 section 6.1.1, RFC 9768 section 3.1).

use units::Ecn;

use super::super::accecn::{AccEcn, Offer, ace, ace_flags, handshake_ace};
use super::super::config::{EcnMode, Settings};
use super::super::segment::{Flags, Segment};

/// The feedback in use, and the codepoint of data.
pub(super) struct Marks {
    pub mode: EcnMode,
    /// Accurate feedback to the peer, if that is in use.
    pub accurate: Option<Box<AccEcn>>,
    /// The codepoint of data, and whether retransmissions have it too.
    capable: Ecn,
    capable_again: bool,
}

impl Marks {
    pub fn off() -> Marks {
        Marks { mode: EcnMode::Off, accurate: None, capable: Ecn::NotEct, capable_again: false }
    }

    /// The peer's SYN or SYN-ACK asks for, or agrees to, feedback of marks: a SYN with two bits (RFC 3168 section
    /// 6.1.1) or with three (RFC 9768 section 3.1.1). An end that has asked for accurate feedback and is offered
    /// RFC 3168 only uses RFC 3168. An end without accurate feedback reads the three bits of a SYN as two.
    pub fn agree(&mut self, settings: &Settings, segment: &Segment) {
        let agrees = segment.flags.has(Flags::ACK);
        let offer = if agrees { Offer::of_syn_ack(segment.flags) } else { Offer::of_syn(segment.flags) };
        self.mode = match (settings.ecn, offer) {
            (EcnMode::Off, _) | (_, Offer::None) => EcnMode::Off,
            (EcnMode::Accurate, Offer::Accurate) => EcnMode::Accurate,
            (EcnMode::Accurate, Offer::Classic) => EcnMode::Classic,
            (EcnMode::Classic, _) if !segment.flags.has(Flags::ECE) => EcnMode::Off,
            (EcnMode::Classic, _) if segment.flags.has(Flags::CWR) == agrees => EcnMode::Off,
            (EcnMode::Classic, _) => EcnMode::Classic,
        };
        if self.mode == EcnMode::Accurate {
            let mut feedback = AccEcn::new(segment.ecn, settings.ecn_option);
            feedback.handshake = Some(segment.ecn);
            self.accurate = Some(Box::new(feedback));
        }
        let marks = settings.congestion.entry().marks();
        self.capable = match self.mode {
            EcnMode::Off => Ecn::NotEct,
            EcnMode::Classic => Ecn::Ect0,
            EcnMode::Accurate => marks.unwrap_or(Ecn::Ect0),
        };
        self.capable_again = self.mode == EcnMode::Accurate && marks.is_some();
    }

    /// Returns the bits of a SYN that ask for `wanted`, after so many expiries of its timer; RFC 9768 section 3.1.4.1:
    /// once more after a lost SYN.
    pub fn of_syn(wanted: EcnMode, expiries: u32) -> Flags {
        match (wanted, expiries) {
            (EcnMode::Accurate, 0 | 1) => Flags::AE | Flags::CWR | Flags::ECE,
            (EcnMode::Classic, 0) => Flags::CWR | Flags::ECE,
            _ => Flags::default(),
        }
    }

    /// The bits of a SYN-ACK that agree.
    pub fn of_syn_ack(&self) -> Flags {
        match (self.mode, &self.accurate) {
            (EcnMode::Off, _) => Flags::default(),
            (EcnMode::Classic, _) => Flags::ECE,
            (EcnMode::Accurate, feedback) => {
                let echo = feedback.as_ref().and_then(|feedback| feedback.handshake).unwrap_or_default();
                ace_flags(handshake_ace(echo))
            }
        }
    }

    /// The first acknowledgment of our SYN-ACK, if it is bare, echoes its ECN field (RFC 9768 section 3.2.2.1). Returns
    /// whether that was a mark.
    pub fn read_handshake_echo(&mut self, segment: &Segment) -> bool {
        let Some(feedback) = &mut self.accurate else { return false };
        feedback.handshake = None;
        segment.len == 0 && segment.sack.is_empty() && ace(segment.flags) == handshake_ace(Ecn::Ce)
    }

    /// Returns the codepoint of a segment with data. RFC 3168 section 6.1.5: not on retransmissions; RFC 9331 section
    /// 4.1: on all.
    #[inline(always)]
    pub fn codepoint(&self, sent_before: u32) -> Ecn {
        if sent_before == 0 || self.capable_again { self.capable } else { Ecn::NotEct }
    }
}
