//! The standard's reference waveforms for bursts of traffic, and the choice among them by Es/N0.
//!
//! EN 301 545-2 annex A numbers its reference waveforms. These are the waveforms with linear modulation and turbo code
//! whose bursts have 536 or 1616 symbols, 3 to 22. Its bursts of 262, 266, 664 and 3236 symbols, its spread spectrum
//! and its continuous phase modulation are left out.
//!
//! Sources: modulation, code rate, payload and symbols of each waveform are those of the standard, as in the waveform
//! table of the public simulator SNS3. The thresholds are those of the standard for turbo codes at a packet error rate
//! of 1e-5 on the Gaussian channel without implementation losses, as in the RCS2 definitions of the public emulator
//! OpenSAND. They were checked against the curves of packet error rate over Eb/N0 in SNS3's data (for each waveform but
//! 13), interpolated at 1e-5 (the last column of the table): Es/N0 is Eb/N0 times the information bits of a coded
//! symbol, and differs by 0.11 dB at most.
//!
//! At 8.6 dB and 536 symbols that is waveform 8, 8PSK 2/3 with 115 bytes: the 920 bits of Kuhn and others, "Improving
//! web experience on DVB-RCS2 links", section 4.4.1.

use std::sync::OnceLock;

use units::Db;

/// Modulation and coding of a burst.
#[derive(Clone, Debug, PartialEq)]
pub struct Waveform {
    /// The waveform's number in the standard.
    pub id: u8,
    /// Symbols of a burst, preamble and pilots included.
    pub burst_symbols: u32,
    /// Its modulation: `qpsk`, `8psk` or `16qam`.
    pub modulation: &'static str,
    /// Bits of a symbol.
    pub bits_per_symbol: u32,
    /// Code rate: numerator and denominator.
    pub code_rate: (u32, u32),
    /// Bytes of a burst's payload.
    pub payload_bytes: u32,
    /// Es/N0 at which one burst of 100 000 is lost.
    pub es_n0: Db,
    /// Eb/N0 at the same loss by public curves, in dB; `None` without a curve.
    curve_eb_n0_db: Option<f64>,
}

impl Waveform {
    /// Bits of a burst's payload.
    pub fn payload_bits(&self) -> u32 {
        8 * self.payload_bytes
    }

    /// Modulation and code rate, as `8psk-2/3`.
    pub fn name(&self) -> String {
        format!("{}-{}/{}", self.modulation, self.code_rate.0, self.code_rate.1)
    }
}

/// All waveforms, by number.
pub fn all() -> &'static [Waveform] {
    static ALL: OnceLock<Vec<Waveform>> = OnceLock::new();
    ALL.get_or_init(|| {
        let lines = include_str!("en-301-545-2.csv").lines().skip(1);
        lines.map(|line| parse(line).unwrap_or_else(|| panic!("not a waveform: {line}"))).collect()
    })
}

/// The waveform with a number of the standard.
pub fn by_id(id: u8) -> Option<&'static Waveform> {
    all().iter().find(|waveform| waveform.id == id)
}

/// The waveform with a modulation and a code rate, as `8psk-2/3`, and bursts of so many symbols.
pub fn by_name(name: &str, burst_symbols: u32) -> Option<&'static Waveform> {
    all().iter().find(|waveform| waveform.burst_symbols == burst_symbols && waveform.name() == name)
}

/// The waveform with the largest payload among those with bursts of so many symbols that decode at `es_n0`.
pub fn for_es_n0(es_n0: Db, burst_symbols: u32) -> Option<&'static Waveform> {
    let decoded =
        all().iter().filter(|waveform| waveform.burst_symbols == burst_symbols && waveform.es_n0.get() <= es_n0.get());
    decoded.max_by_key(|waveform| waveform.payload_bytes)
}

/// A line of the table of waveforms, which is compiled in; a test reads it.
fn parse(line: &'static str) -> Option<Waveform> {
    let mut fields = line.split(',');
    let mut next = || fields.next();
    Some(Waveform {
        id: next()?.parse().ok()?,
        burst_symbols: next()?.parse().ok()?,
        modulation: next()?,
        bits_per_symbol: next()?.parse().ok()?,
        code_rate: (next()?.parse().ok()?, next()?.parse().ok()?),
        payload_bytes: next()?.parse().ok()?,
        es_n0: Db::new(next()?.parse().ok()?),
        curve_eb_n0_db: match next()? {
            "" => None,
            value => Some(value.parse().ok()?),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_operating_point_is_8psk_two_thirds_with_920_bits() {
        let waveform = for_es_n0(Db::new(8.6), 536).unwrap();
        assert_eq!((waveform.id, waveform.name().as_str(), waveform.payload_bits()), (8, "8psk-2/3", 920));
    }

    #[test]
    fn the_choice_changes_at_the_thresholds() {
        let id = |es_n0, symbols| for_es_n0(Db::new(es_n0), symbols).map(|waveform| waveform.id);
        assert_eq!([id(0.21, 536), id(0.22, 536), id(8.07, 536), id(8.08, 536)], [None, Some(3), Some(7), Some(8)]);
        assert_eq!([id(9.31, 536), id(30.0, 536), id(8.6, 1616)], [Some(9), Some(12), Some(18)]);
        assert_eq!(id(30.0, 537), None);
    }

    #[test]
    fn waveforms_are_found_by_name_and_by_number() {
        assert_eq!(by_name("16qam-5/6", 1616), by_id(22));
        assert_eq!(by_name("qpsk-1/3", 536), by_id(3));
        assert_eq!(by_id(23), None);
        assert!(all().iter().map(|waveform| waveform.id).eq(3..=22));
    }

    /// The coded payload takes nearly all symbols of a burst and never more: the rest is preamble and pilots.
    #[test]
    fn payloads_fit_in_their_bursts() {
        for waveform in all() {
            let (numerator, denominator) = waveform.code_rate;
            let coded = f64::from(waveform.payload_bits() * denominator) / f64::from(numerator);
            let share = coded / f64::from(waveform.bits_per_symbol) / f64::from(waveform.burst_symbols);
            assert!((0.84..1.0).contains(&share), "{waveform:?}: {share}");
        }
    }

    #[test]
    fn thresholds_agree_with_the_public_curves() {
        for waveform in all() {
            let Some(eb_n0) = waveform.curve_eb_n0_db else { continue };
            let bits = f64::from(waveform.bits_per_symbol * waveform.code_rate.0) / f64::from(waveform.code_rate.1);
            let es_n0 = eb_n0 + 10.0 * libm::log10(bits);
            assert!((es_n0 - waveform.es_n0.get()).abs() <= 0.115, "{waveform:?}: {es_n0}");
        }
    }

    /// No code needs less than the mutual information of its constellation; good codes of these sizes need at most 3 dB
    /// more.
    #[test]
    fn qpsk_thresholds_are_above_the_limit_of_the_constellation() {
        for waveform in all().iter().filter(|waveform| waveform.modulation == "qpsk") {
            let rate = f64::from(waveform.code_rate.0) / f64::from(waveform.code_rate.1);
            let at = |db: f64| channel::qpsk::mutual_information(Db::new(db));
            assert!(at(waveform.es_n0.get()) > rate, "{waveform:?}");
            assert!(at(waveform.es_n0.get() - 3.0) < rate, "{waveform:?}");
        }
    }

    #[test]
    fn longer_bursts_and_lower_rates_need_less() {
        for pair in all().windows(2).filter(|pair| pair[0].burst_symbols == pair[1].burst_symbols) {
            assert!(pair[0].es_n0.get() < pair[1].es_n0.get() && pair[0].payload_bytes < pair[1].payload_bytes);
        }
        for short in &all()[..10] {
            let long = by_name(&short.name(), 1616).unwrap();
            assert!(long.es_n0.get() < short.es_n0.get() && long.payload_bytes > 3 * short.payload_bytes);
        }
    }
}
