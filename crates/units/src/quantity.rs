//! The quantities of scenarios and results.

use std::fmt;
use std::ops::{Add, Neg, Sub};

use crate::text::{ParseQuantityError, Quantity, textual};
use crate::time::Duration;

textual!(Duration, BitRate, Bytes, Db, Dbw, DbPerKelvin, Probability, Angle, Speed, Frequency, Length);

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f)
    }
}

impl Quantity for Duration {
    const NOUN: &'static str = "a duration";
    const UNITS: &'static [(&'static str, f64)] =
        &[("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0), ("min", 60e9), ("h", 3600e9)];
    const READ: &'static [(&'static str, f64)] = &[("µs", 1e3)];
    const EXAMPLE: &'static str = "40 ms";
    const RANGE: (f64, f64, &'static str) = (0.0, 3.2e18, "zero or more, and at most 100 years");
    fn from_base(value: f64) -> Self {
        Duration::from_nanos(value.round() as u64)
    }
    fn to_base(self) -> f64 {
        self.as_nanos() as f64
    }
}

/// Bits per second, more than zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitRate(u64);

impl BitRate {
    /// `bps` bits per second.
    ///
    /// # Panics
    /// If `bps` is 0.
    #[inline]
    pub const fn from_bps(bps: u64) -> BitRate {
        assert!(bps > 0);
        BitRate(bps)
    }

    /// Bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// The time to send `bits`, rounded up to a whole nanosecond: a link is never faster than its rate.
    pub const fn tx_time(self, bits: u64) -> Duration {
        let nanos = match bits.checked_mul(1_000_000_000) {
            Some(product) => product.div_ceil(self.0),
            None => (bits as u128 * 1_000_000_000).div_ceil(self.0 as u128) as u64,
        };
        Duration::from_nanos(nanos)
    }
}

impl Quantity for BitRate {
    const NOUN: &'static str = "a bit rate";
    const UNITS: &'static [(&'static str, f64)] = &[("Mbit/s", 1e6), ("kbit/s", 1e3), ("Gbit/s", 1e9), ("bit/s", 1.0)];
    const READ: &'static [(&'static str, f64)] =
        &[("Mb/s", 1e6), ("kb/s", 1e3), ("Gb/s", 1e9), ("Mbps", 1e6), ("kbps", 1e3), ("Gbps", 1e9), ("bps", 1.0)];
    const EXAMPLE: &'static str = "50 Mbit/s";
    const RANGE: (f64, f64, &'static str) = (1.0, 1e15, "at least 1 bit/s and at most 10^15 bit/s");
    fn from_base(value: f64) -> Self {
        BitRate(value.round() as u64)
    }
    fn to_base(self) -> f64 {
        self.0 as f64
    }
}

/// A number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(u64);

impl Bytes {
    /// `bytes` bytes.
    pub const fn new(bytes: u64) -> Bytes {
        Bytes(bytes)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The number of bits: eight for each byte.
    pub const fn bits(self) -> u64 {
        self.0 * 8
    }
}

impl Quantity for Bytes {
    const NOUN: &'static str = "a size";
    const UNITS: &'static [(&'static str, f64)] =
        &[("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("KiB", 1024.0), ("MiB", 1_048_576.0)];
    const EXAMPLE: &'static str = "1448 B";
    const RANGE: (f64, f64, &'static str) = (0.0, 1e18, "zero or more, and at most 10^18 bytes");
    fn from_base(value: f64) -> Self {
        Bytes(value.round() as u64)
    }
    fn to_base(self) -> f64 {
        self.0 as f64
    }
}

impl Add for Bytes {
    type Output = Bytes;
    fn add(self, rhs: Bytes) -> Bytes {
        Bytes(self.0 + rhs.0)
    }
}

/// Declares a quantity held as one `f64`.
macro_rules! real {
    (
        $(#[$meta:meta])*
        $name:ident, $noun:literal, $units:expr, $example:literal, $range:expr, $from:ident, $as:ident,
        $unit:literal $(, read: $read:expr)? $(, bare: $bare:literal)? $(, mistaken: $mistaken:literal)?
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, PartialOrd, Default)]
        pub struct $name(f64);

        impl $name {
            #[doc = concat!("From a value in ", $unit, ".")]
            pub const fn $from(value: f64) -> Self {
                $name(value)
            }

            #[doc = concat!("The value in ", $unit, ".")]
            pub const fn $as(self) -> f64 {
                self.0
            }
        }

        impl Quantity for $name {
            const NOUN: &'static str = $noun;
            const UNITS: &'static [(&'static str, f64)] = $units;
            const EXAMPLE: &'static str = $example;
            const RANGE: (f64, f64, &'static str) = $range;
            $(const READ: &'static [(&'static str, f64)] = $read;)?
            $(const BARE: bool = $bare;)?
            $(const MISTAKEN: Option<&'static str> = Some($mistaken);)?
            fn from_base(value: f64) -> Self {
                $name(value)
            }
            fn to_base(self) -> f64 {
                self.0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.write(f)
            }
        }
    };
}

real!(
    /// A ratio of powers in decibels: a signal-to-noise ratio, a gain or an attenuation.
    Db, "a ratio in decibels", &[("dB", 1.0)], "10 dB", (-300.0, 300.0, "between -300 dB and 300 dB"), new, get,
    "decibels"
);
real!(
    /// A power in decibels relative to 1 W.
    Dbw, "a power in decibels relative to 1 W", &[("dBW", 1.0)], "20 dBW",
    (-300.0, 300.0, "between -300 dBW and 300 dBW"), new, get, "decibels relative to 1 W",
    mistaken: "dB"
);
real!(
    /// A figure of merit G/T: a gain over a noise temperature, in decibels relative to 1/K.
    DbPerKelvin, "a figure of merit G/T", &[("dB/K", 1.0)], "-5 dB/K",
    (-300.0, 300.0, "between -300 dB/K and 300 dB/K"), new, get, "decibels relative to 1/K",
    mistaken: "dB"
);
real!(
    /// A probability or a share, 0 to 1.
    Probability, "a probability (a percentage, or a number from 0 to 1)", &[("%", 0.01)], "0.5 %",
    (0.0, 1.0, "between 0 % and 100 %"), new, get, "1 (0 to 1)",
    bare: true
);
real!(
    /// An angle.
    Angle, "an angle", &[("deg", 1.0)], "40 deg", (-360.0, 360.0, "between -360 deg and 360 deg"), from_degrees,
    as_degrees, "degrees",
    read: &[("°", 1.0)]
);
real!(
    /// A speed. A knot (kn) is 1852 m an hour.
    Speed, "a speed", &[("km/h", 1.0 / 3.6), ("m/s", 1.0), ("km/s", 1e3)], "60 km/h", (0.0, 3e8, "zero or more"),
    from_mps, as_mps, "metres per second",
    read: &[("kmh", 1.0 / 3.6), ("kn", 1852.0 / 3600.0)]
);
real!(
    /// A frequency, more than zero.
    Frequency, "a frequency", &[("GHz", 1e9), ("MHz", 1e6), ("kHz", 1e3), ("Hz", 1.0)], "2.2 GHz",
    (1e-9, 1e15, "more than 0 Hz"), from_hz, as_hz, "hertz"
);
real!(
    /// A length.
    Length, "a length", &[("km", 1e3), ("m", 1.0)], "800 km", (0.0, 1e12, "zero or more"), from_metres, as_metres,
    "metres"
);

impl Angle {
    /// The angle in radians.
    pub fn as_radians(self) -> f64 {
        self.0.to_radians()
    }
}

impl Add for Db {
    type Output = Db;
    fn add(self, rhs: Db) -> Db {
        Db(self.0 + rhs.0)
    }
}

impl Sub for Db {
    type Output = Db;
    fn sub(self, rhs: Db) -> Db {
        Db(self.0 - rhs.0)
    }
}

impl Neg for Db {
    type Output = Db;
    fn neg(self) -> Db {
        Db(-self.0)
    }
}

impl fmt::Debug for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f)
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_what_people_write() {
        assert_eq!("50 Mbit/s".parse(), Ok(BitRate::from_bps(50_000_000)));
        assert_eq!("1.5e3 kbit/s".parse(), Ok(BitRate::from_bps(1_500_000)));
        assert_eq!("40ms".parse(), Ok(Duration::from_millis(40)));
        assert_eq!("2 min".parse(), Ok(Duration::from_secs(120)));
        assert_eq!("0.5 %".parse(), Ok(Probability::new(0.005)));
        assert_eq!(serde_json::from_str::<Probability>("0.2").ok(), Some(Probability::new(0.2)));
        assert!(serde_json::from_str::<Duration>("40").unwrap_err().to_string().contains("the unit is missing"));
        assert_eq!("-36.9 deg".parse(), Ok(Angle::from_degrees(-36.9)));
        assert_eq!("72 km/h".parse(), Ok(Speed::from_mps(20.0)));
        assert_eq!("1448 B".parse(), Ok(Bytes::new(1448)));
        assert_eq!("20 dBW".parse(), Ok(Dbw::new(20.0)));
        assert_eq!("-5 dB/K".parse(), Ok(DbPerKelvin::new(-5.0)));
        assert_eq!([Dbw::new(20.5).to_string(), DbPerKelvin::new(-5.0).to_string()], ["20.5 dBW", "-5 dB/K"]);
    }

    #[test]
    fn reads_the_spellings_of_each_field_and_writes_its_own() {
        for text in ["50 Mbps", "50 Mb/s", "50000kbps", "0.05 Gbps", "50_000_000 bps"] {
            assert_eq!(text.parse(), Ok(BitRate::from_bps(50_000_000)), "{text}");
        }
        assert_eq!(BitRate::parse("50 Mbps").map(|q| q.to_string()).as_deref(), Ok("50 Mbit/s"));
        assert_eq!("60 kmh".parse::<Speed>(), "60 km/h".parse());
        let knots: Speed = "36000 kn".parse().unwrap();
        assert!((knots.as_mps() - 18_520.0).abs() < 1e-9);
        let written = knots.to_string();
        assert!(!written.contains("kn") && written.parse() == Ok(knots), "knots are only read: {written}");
    }

    #[test]
    fn hints_at_a_unit_in_the_wrong_case() {
        let says = |error: ParseQuantityError| error.to_string();
        let rate = |text| says(BitRate::parse(text).unwrap_err());
        assert_eq!(
            rate("10 mbps"),
            "\"10 mbps\" is not a bit rate: unknown unit \"mbps\", did you mean \"10 Mbps\"? (one of Mbit/s, kbit/s, \
             Gbit/s, bit/s)"
        );
        assert!(!rate("10 MB/s").contains("did you mean"), "bytes are not bits");
        assert!(says(Speed::parse("60 Km/h").unwrap_err()).contains("did you mean \"60 km/h\"?"));
        assert!(says(Duration::parse("40 MS").unwrap_err()).contains("did you mean \"40 ms\"?"));
        assert!(says(Frequency::parse("2 ghz").unwrap_err()).contains("did you mean \"2 GHz\"?"));
    }

    #[test]
    fn says_what_is_wrong_and_what_is_allowed() {
        let says = |error: ParseQuantityError| error.to_string();
        assert_eq!(
            says(BitRate::parse("50").unwrap_err()),
            "\"50\" is not a bit rate: the unit is missing: one of Mbit/s, kbit/s, Gbit/s, bit/s"
        );
        assert_eq!(
            says(Db::parse("10 km").unwrap_err()),
            "\"10 km\" is not a ratio in decibels: unknown unit \"km\" (one of dB)"
        );
        assert!(says(Duration::parse("-3 ms").unwrap_err()).ends_with("must be zero or more, and at most 100 years"));
        assert!(says(BitRate::parse("0 bit/s").unwrap_err()).contains("at least 1 bit/s"));
        assert!(says(Probability::parse("150 %").unwrap_err()).contains("between 0 % and 100 %"));
        assert!(says(Db::parse("loud").unwrap_err()).contains("as in \"10 dB\""));
        assert_eq!(
            says(Dbw::parse("20 dB").unwrap_err()),
            "\"20 dB\" is not a power in decibels relative to 1 W: unknown unit \"dB\": one of dBW; dB is a ratio of \
             two powers: write \"20 dBW\""
        );
        assert!(
            says(DbPerKelvin::parse("-5 dB").unwrap_err())
                .ends_with("one of dB/K; dB is a ratio of two powers: write \"-5 dB/K\"")
        );
        assert!(says(Dbw::parse("50 dBm").unwrap_err()).ends_with("unknown unit \"dBm\" (one of dBW)"));
        assert!(says(Db::parse("20 dBW").unwrap_err()).ends_with("unknown unit \"dBW\" (one of dB)"));
        assert!(Db::parse("nan dB").is_err() && Db::parse("inf dB").is_err());
    }

    #[test]
    fn what_is_given_is_not_rounded_to_nothing() {
        let says = "0.4 B".parse::<Bytes>().unwrap_err().to_string();
        assert!(says.ends_with("is so little that it would be rounded to 0"), "{says}");
        assert_eq!(("0 B".parse(), "0.6 B".parse()), (Ok(Bytes::new(0)), Ok(Bytes::new(1))));
        assert!("0.4 ns".parse::<Duration>().is_err() && "1e-320 dB".parse::<Db>().is_ok());
        assert!("1e-323 %".parse::<Probability>().is_err(), "it is 0 in the base unit");
    }

    #[test]
    fn transmission_time_rounds_up() {
        assert_eq!(BitRate::from_bps(3).tx_time(1).as_nanos(), 333_333_334);
        assert_eq!(BitRate::from_bps(50_000_000).tx_time(8920).as_nanos(), 178_400);
        assert_eq!(BitRate::from_bps(1).tx_time(u64::MAX / 1_000_000_000).as_nanos(), 18_446_744_073_000_000_000);
    }

    #[test]
    fn writes_what_the_documentation_writes() {
        let written =
            |text: &str| [BitRate::parse(text).map(|q| q.to_string()), Angle::parse(text).map(|q| q.to_string())];
        assert_eq!(written("50 Mb/s")[0].as_deref(), Ok("50 Mbit/s"));
        assert_eq!(written("40 °")[1].as_deref(), Ok("40 deg"));
        assert_eq!(Duration::from_micros(5).to_string(), "5 us");
        assert_eq!(Duration::from_secs(600).to_string(), "600 s");
        assert_eq!(Duration::from_millis(200).to_string(), "200 ms");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            nanos in 0u64..1_000_000_000_000_000,
            bps in 1u64..1_000_000_000_000,
            tenths in -3000i32..3000,
        ) {
            let duration = Duration::from_nanos(nanos);
            prop_assert_eq!(duration.to_string().parse(), Ok(duration));
            let rate = BitRate::from_bps(bps);
            prop_assert_eq!(rate.to_string().parse(), Ok(rate));
            let db = Db::new(f64::from(tenths) / 10.0);
            prop_assert_eq!(db.to_string().parse(), Ok(db));
        }

        #[test]
        fn a_link_never_beats_its_rate(bits in 0u64..1_000_000_000, bps in 1u64..1_000_000_000) {
            let time = BitRate::from_bps(bps).tx_time(bits);
            prop_assert!(u128::from(time.as_nanos()) * u128::from(bps) >= u128::from(bits) * 1_000_000_000);
        }
    }
}
