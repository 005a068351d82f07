//! A game over the network: the player's commands go up, the server's updates come down, in small datagrams at a tick
//! rate.
//!
//! Sizes and intervals follow the law that Färber fitted to Counter-Strike ("Network game traffic modelling",
//! NetGames 2002), with the parameters of the evaluation methodologies that the web model is from (NGMN 2008, annex A;
//! IEEE 802.16m-08/004): the largest extreme value law, P(X ≤ x) = e^(−e^(−(x − a)/b)). Their uplink's b of 5.7 B is
//! 6 B here.
//!
//! Simplified: one player for each flow; packets do not depend on what happens in the game, and nothing is
//! retransmitted. Who could notice: a study of prediction or of dead reckoning.

mod report;

use std::collections::VecDeque;

use rand::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::chance::unit_interval;
use units::{Bytes, Duration, FieldError, IPV4_UDP_HEADER_BYTES, Time};

use crate::quantiles::micros;
use crate::{
    Act, Action, AppSample, End, Experience, Kind, MakeRng, MakeUserRng, Needs, Source, UserSource, of_each_user,
};
pub(crate) use report::GameReport;
use report::Heard;

/// A player of a game: commands to the server and updates to the player, small datagrams at a tick rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Game {
    /// When the player joins, from the start of the run.
    pub start: Duration,
    /// For how long; by default until the end of the run.
    pub length: Option<Duration>,
    /// The updates from the server to the player.
    pub down: Updates,
    /// The commands from the player to the server.
    pub up: Commands,
    /// A packet that takes longer, one way, is too late.
    pub bound: Duration,
}

/// Declares the packets of one way with their defaults: interval and its scale in ms, size and its scale in bytes.
macro_rules! ticks {
    ($(#[$meta:meta])* $name:ident: $interval:literal, $interval_scale:literal, $size:literal, $size_scale:literal) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct $name {
            /// The time between packets: the location a of a largest extreme value law.
            pub interval: Duration,
            /// The law's scale b; 0 for a constant interval.
            pub interval_scale: Duration,
            /// Payload of a packet: the location a of a largest extreme value law.
            pub size: Bytes,
            /// The law's scale b; 0 for a constant size.
            pub size_scale: Bytes,
        }

        impl Default for $name {
            fn default() -> $name {
                $name {
                    interval: Duration::from_millis($interval),
                    interval_scale: Duration::from_millis($interval_scale),
                    size: Bytes::new($size),
                    size_scale: Bytes::new($size_scale),
                }
            }
        }

        impl $name {
            fn law(&self) -> Ticks {
                let $name { interval, interval_scale, size, size_scale } = *self;
                Ticks { interval, interval_scale, size, size_scale }
            }
        }
    };
}

ticks! {
    /// Updates of a game, from the server to the player.
    Updates: 55, 6, 120, 36
}
ticks! {
    /// Commands of a game, from the player to the server.
    Commands: 40, 6, 45, 6
}

/// Packets at a tick rate: the times between them, and their sizes.
#[derive(Clone, Copy, Debug)]
struct Ticks {
    interval: Duration,
    interval_scale: Duration,
    size: Bytes,
    size_scale: Bytes,
}

impl Default for Game {
    fn default() -> Game {
        Game {
            start: Duration::ZERO,
            length: None,
            down: Updates::default(),
            up: Commands::default(),
            bound: Duration::from_millis(100),
        }
    }
}

/// Sizes end so many scales above their location: one packet of a billion is larger.
const LARGEST: u64 = 20;
/// Packets do not follow each other more closely.
const CLOSEST: Duration = Duration::from_micros(100);

impl Kind for Game {
    fn check(&self) -> Result<(), FieldError> {
        if self.length.is_some_and(Duration::is_zero) {
            return Err(FieldError::new("length", "0 s was given: must be more than 0"));
        }
        if self.bound.is_zero() {
            return Err(FieldError::new("bound", "0 s was given: must be more than 0"));
        }
        self.down.law().check().map_err(|error| error.within("down"))?;
        self.up.law().check().map_err(|error| error.within("up"))
    }

    fn build(&self, offsets: &[Duration], _duration: Duration, streams: &mut MakeRng) -> Vec<UserSource> {
        of_each_user(offsets, streams, |offset, own| [self.source(offset, own)])
    }

    fn needs(&self) -> Needs {
        let (down, up) = (self.down.law(), self.up.law());
        let (law, size, size_scale) = if down.largest() >= up.largest() {
            (down, "down.size", "down.size_scale")
        } else {
            (up, "up.size", "up.size_scale")
        };
        let option = if law.size.get() >= LARGEST * law.size_scale.get() { size } else { size_scale };
        Needs::Messages { packet: law.largest() as u32 + IPV4_UDP_HEADER_BYTES, option }
    }
}

impl Ticks {
    fn check(&self) -> Result<(), FieldError> {
        if !(Duration::from_millis(1)..=Duration::from_secs(10)).contains(&self.interval) {
            let reason = format!("{} was given: must be from 1 ms to 10 s", self.interval);
            return Err(FieldError::new("interval", reason));
        }
        if self.interval_scale > self.interval {
            let reason = format!("{} was given: must be at most `interval`, {}", self.interval_scale, self.interval);
            return Err(FieldError::new("interval_scale", reason));
        }
        if self.size.get() == 0 {
            return Err(FieldError::new("size", "0 B was given: must be at least 1 B"));
        }
        let most = u64::from(u16::MAX) - u64::from(IPV4_UDP_HEADER_BYTES);
        if self.size.get() > most || self.size_scale.get() > most || self.largest() > most {
            let reason = format!("{} and {}: packets would not fit a datagram", self.size, self.size_scale);
            return Err(FieldError::new("size_scale", reason));
        }
        Ok(())
    }

    fn largest(&self) -> u64 {
        self.size.get() + LARGEST * self.size_scale.get()
    }

    fn draw_interval(&self, rng: &mut dyn Rng) -> Duration {
        let seconds = self.interval.as_secs_f64() + self.interval_scale.as_secs_f64() * standard(rng);
        Duration::from_secs_f64(seconds.max(0.0)).max(CLOSEST)
    }

    fn draw_size(&self, rng: &mut dyn Rng) -> Bytes {
        let bytes = self.size.get() as f64 + self.size_scale.get() as f64 * standard(rng);
        Bytes::new((bytes.round().max(1.0) as u64).min(self.largest()))
    }
}

/// The law with a = 0 and b = 1: −ln(−ln u).
fn standard(rng: &mut dyn Rng) -> f64 {
    -libm::log(-libm::log(unit_interval(rng.next_u64()).max(f64::MIN_POSITIVE)))
}

impl Game {
    fn source(&self, offset: Duration, streams: &mut MakeUserRng) -> GameSource {
        let start = Time::ZERO + self.start + offset;
        let mut updates = Ticker::new(self.down.law(), streams("traffic.updates"), streams("traffic.update_sizes"));
        let commands = Ticker::new(self.up.law(), streams("traffic.commands"), streams("traffic.command_sizes"));
        // The server's ticks are out of step with the player's.
        let phase = self.down.interval.mul_f64(unit_interval(updates.intervals.next_u64()));
        GameSource {
            bound: self.bound,
            end: self.length.map_or(Time::MAX, |length| start + length),
            state: GameState::Idle,
            next: [start + phase, start],
            tickers: [updates, commands],
            written: [0; 2],
            heard: [Heard::default(), Heard::default()],
            newest_command: None,
            reflected: VecDeque::new(),
            responses: Vec::new(),
        }
    }
}

/// Draws intervals and sizes.
struct Ticker {
    law: Ticks,
    intervals: Box<dyn Rng + Send>,
    sizes: Box<dyn Rng + Send>,
}

impl Ticker {
    fn new(law: Ticks, intervals: Box<dyn Rng + Send>, sizes: Box<dyn Rng + Send>) -> Ticker {
        Ticker { law, intervals, sizes }
    }
}

/// A player and the server. Of two values the first is the server's: its packets, or what arrives of them.
pub(crate) struct GameSource {
    bound: Duration,
    /// From when on nothing is sent.
    end: Time,
    state: GameState,
    /// The instant of the next packet.
    next: [Time; 2],
    tickers: [Ticker; 2],
    /// Packets sent.
    written: [u64; 2],
    heard: [Heard; 2],
    /// The newest command that the server has: its number and when it was sent.
    newest_command: Option<(u64, Time)>,
    /// For commands not seen by the player yet: the first update made with each, and when the command was sent.
    reflected: VecDeque<(u64, Time)>,
    /// From each of these commands to the arrival of such an update, in microseconds.
    responses: Vec<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum GameState {
    Idle,
    Open,
    Closing,
    Closed,
}

const ENDS: [End; 2] = [End::Server, End::User];

impl Source for GameSource {
    fn poll_action(&mut self, now: Time) -> Option<Act> {
        if self.poll_timeout().is_none_or(|at| at > now) {
            return None;
        }
        match self.state {
            GameState::Idle => {
                self.state = GameState::Open;
                Some(Act::on_first(End::User, Action::Open))
            }
            GameState::Open if self.next[0].min(self.next[1]) >= self.end => {
                self.state = GameState::Closing;
                Some(Act::on_first(End::User, Action::Close))
            }
            GameState::Open => Some(self.tick()),
            GameState::Closing => {
                self.state = GameState::Closed;
                Some(Act::on_first(End::Server, Action::Close))
            }
            GameState::Closed => None,
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        match self.state {
            // The player opens with a command.
            GameState::Idle => Some(self.next[1]),
            GameState::Open => Some(self.next[0].min(self.next[1]).min(self.end)),
            GameState::Closing => Some(self.end),
            GameState::Closed => None,
        }
    }

    fn handle_datagram(&mut self, now: Time, _connection: u32, end: End, number: u64, sent: Time) {
        match end {
            End::User => {
                self.heard[0].add(now.since(sent), self.bound);
                while let Some((_, asked)) = self.reflected.pop_front_if(|(update, _)| *update <= number) {
                    self.responses.push(micros(now.since(asked)));
                }
            }
            End::Server => {
                self.heard[1].add(now.since(sent), self.bound);
                if self.newest_command.is_none_or(|(newest, _)| number > newest) {
                    self.newest_command = Some((number, sent));
                    // The command is in the next update; of several commands before one update the newest counts.
                    let update = self.written[0];
                    self.reflected.pop_back_if(|(made_with, _)| *made_with == update);
                    self.reflected.push_back((update, sent));
                }
            }
        }
    }

    fn experience(&self, _now: Time, lost: [u64; 2]) -> Option<Experience> {
        let report = || report::report(self.written, &self.heard, lost, self.responses.clone());
        (self.state != GameState::Idle).then(|| Experience::Game(report()))
    }

    fn sample(&self, _now: Time) -> AppSample {
        let [down_delay_s, up_delay_s] = [&self.heard[0], &self.heard[1]].map(Heard::last_s);
        AppSample { down_delay_s, up_delay_s, ..AppSample::NONE }
    }
}

impl GameSource {
    /// The end whose packet is due sends it; the server first.
    fn tick(&mut self) -> Act {
        let index = usize::from(self.next[1] < self.next[0]);
        let Ticker { law, intervals, sizes } = &mut self.tickers[index];
        self.next[index] += law.draw_interval(&mut **intervals);
        let size = law.draw_size(&mut **sizes);
        self.written[index] += 1;
        Act::on_first(ENDS[index], Action::Write(size))
    }
}

#[cfg(test)]
mod tests;
