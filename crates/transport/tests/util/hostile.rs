//! A connection under a peer that may send anything. Bytes are the script, so that a fuzzer and a property test drive
//! the same.

use transport::{Connection, EcnMode, Flags, Profile, SackBlocks, Segment, Settings, SynOptions, TcpConfig};
use units::{Bytes, Duration, Ecn, Time};

/// Numbers from bytes; zeros when they are used up.
struct Source<'a>(&'a [u8]);

impl Source<'_> {
    fn byte(&mut self) -> u64 {
        let (first, rest) = self.0.split_first().map_or((0, self.0), |(first, rest)| (u64::from(*first), rest));
        self.0 = rest;
        first
    }

    /// Mostly close to `near`, sometimes anywhere.
    fn offset(&mut self, near: u64) -> u64 {
        match self.byte() {
            0..=9 => near,
            10..=200 => (near + self.byte() * 250).saturating_sub(self.byte() * 250),
            201..=230 => self.byte() << (self.byte() % 56),
            _ => u64::MAX - self.byte(),
        }
    }

    fn segment(&mut self, una: u64, nxt: u64, next: u64) -> Segment {
        let flags = [Flags::ACK, Flags::FIN, Flags::SYN, Flags::RST, Flags::PSH, Flags::ECE, Flags::CWR, Flags::DUMMY];
        // a plain acknowledgment half of the time
        let bits = if self.byte() < 128 { 1 } else { self.byte() };
        let chosen =
            (0..8).filter(|bit| bits >> bit & 1 == 1).fold(Flags::default(), |all, bit| all | flags[bit as usize]);
        let accurate = chosen.has(Flags::ECE) && self.byte() < 128;
        let chosen = if accurate { chosen | Flags::AE } else { chosen };
        let mut sack = SackBlocks::default();
        for _ in 0..self.byte() % 5 {
            let (start, end) = (self.offset(una), self.offset(nxt));
            if start < end && sack.len() < SackBlocks::MAX {
                sack.push(start, end);
            }
        }
        let scale = self.byte();
        Segment {
            seq: self.offset(next),
            ack: self.offset(nxt),
            window: self.byte() << (self.byte() % 20),
            len: if self.byte() < 128 { 0 } else { (self.byte() * 23) as u32 },
            flags: chosen,
            ecn: [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][self.byte() as usize % 4],
            timestamps: (self.byte() < 160).then(|| (self.byte() as u32, self.byte() as u32)),
            sack,
            syn: chosen.has(Flags::SYN).then(|| SynOptions {
                mss: (self.byte() * 40) as u16,
                window_scale: (scale < 200).then_some(scale as u8),
                sack_permitted: self.byte() < 200,
                fast_open: None,
            }),
            accecn: None,
        }
    }

    fn settings(&mut self) -> Settings {
        let profile = Profile::ALL[self.byte() as usize % Profile::ALL.len()];
        // The one from outside needs somebody's code.
        let kinds = || transport::CongestionConfig::ALL.iter().filter(|kind| **kind != "external");
        let kind = kinds().cycle().nth(self.byte() as usize).expect("registered");
        let congestion = serde_json::from_value(serde_json::json!({ "kind": kind })).expect("a registered name");
        let config = TcpConfig { profile, congestion, mss: Some(Bytes::new(1000)), ..TcpConfig::default() };
        let ecn = [EcnMode::Off, EcnMode::Classic, EcnMode::Accurate][self.byte() as usize % 3];
        Settings { ecn, pacing: self.byte() < 60, ..config.resolve(1500) }
    }
}

/// Whatever comes, the connection neither panics nor loops nor loses count.
pub fn drive(script: &[u8]) {
    let mut source = Source(script);
    let settings = source.settings();
    let mut now = Time::ZERO;
    let mut connection = if source.byte() < 128 {
        Connection::connect(settings, now, source.byte())
    } else {
        Connection::listen(settings, source.byte())
    };
    let mut next = 0;
    while !source.0.is_empty() {
        let info = connection.info();
        match source.byte() {
            0..=150 => {
                let segment = source.segment(info.una, info.nxt, next);
                next = if segment.flags.has(Flags::SYN) { 1 } else { next.max(segment.end().min(1 << 40)) };
                connection.handle_segment(now, &segment);
            }
            151..=190 => {
                now = connection.poll_timeout().unwrap_or(now).max(now);
                connection.handle_timeout(now);
            }
            191..=210 => connection.write(now, source.byte() * 500),
            211..=214 => connection.close(),
            215 => match source.byte() % 4 {
                0 => connection.abandon(),
                1 => connection.set_cork(source.byte() < 128),
                2 => connection.write_more(now, source.byte() * 500),
                _ => connection.set_user_timeout(Some(Duration::from_millis(source.byte() * 100 + 1))),
            },
            216..=220 => connection.hold_reads(),
            221..=230 => drop(connection.read(source.byte() * 500)),
            _ => now += Duration::from_micros(source.byte() * 2000),
        }
        let mut sent = 0;
        while let Some(transmit) = connection.poll_transmit(now) {
            assert!(transmit.segment.len <= 1000 + 12, "longer than a segment: {transmit:?}");
            sent += 1;
            assert!(sent < 200_000, "a storm of segments");
        }
        connection.check();
        assert!(connection.info().window >= 1);
    }
}
