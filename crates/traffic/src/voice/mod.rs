//! Voice: packets at a constant rate during talk-spurts, and a listener that rates the packets that arrive.

pub mod activity;
pub mod codec;
pub mod emodel;
pub mod listener;
mod losses;
pub mod playout;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Duration, FieldError, IPV4_UDP_HEADER_BYTES, Time};

use crate::{Act, Action, End, Kind, MakeRng, MakeUserRng, Needs, Source, UserSource, of_each_user};
use activity::{Activity, Periods};
use codec::Codec;
use listener::Listener;
use playout::Playout;

/// One direction of a call: speech from the server to the user, in datagrams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Voice {
    /// When the call starts, from the start of the run.
    pub start: Duration,
    /// The length of the call; by default until the end of the run.
    pub length: Option<Duration>,
    /// The codec: its packets, and its robustness against losses.
    pub codec: Codec,
    /// The law of talk-spurts and pauses.
    pub activity: Activity,
    /// Rate during a talk-spurt, RTP, UDP and IP headers included; by default the codec's.
    pub rate: Option<BitRate>,
    /// Size of a packet, RTP, UDP and IP headers (40 bytes) included; by default the codec's.
    pub packet: Option<Bytes>,
    /// The play-out buffer of the listener.
    pub playout: Playout,
    /// Advantage factor A of the E-model: the listener's tolerance for the sake of access (0 wired, 20 hard-to-reach
    /// places).
    #[schemars(range(min = 0.0, max = 20.0))]
    pub advantage: f64,
    /// Equipment impairment factor Ie of the E-model; by default the codec's.
    pub equipment_impairment: Option<f64>,
    /// Packet-loss robustness factor Bpl of the E-model; by default the codec's.
    pub loss_robustness: Option<f64>,
}

impl Default for Voice {
    fn default() -> Voice {
        Voice {
            start: Duration::ZERO,
            length: None,
            codec: Codec::default(),
            activity: Activity::default(),
            rate: None,
            packet: None,
            playout: Playout::default(),
            advantage: 20.0,
            equipment_impairment: None,
            loss_robustness: None,
        }
    }
}

/// The packets of a voice flow, every default filled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VoicePackets {
    /// The size of a packet, IP header included.
    pub packet: Bytes,
    /// The time between packets during a talk-spurt.
    pub interval: Duration,
}

impl Kind for Voice {
    fn check(&self) -> Result<(), FieldError> {
        let packets = self.packets();
        if !(41..=65_535).contains(&packets.packet.get()) {
            let reason =
                format!("{} was given: must be more than its headers, 40 B, and at most 65535 B", packets.packet);
            return Err(FieldError::new("packet", reason));
        }
        if !(Duration::from_micros(100)..=Duration::from_secs(10)).contains(&packets.interval) {
            let (packet, interval) = (packets.packet, packets.interval);
            let rate = self.rate.unwrap_or(self.codec.rate());
            let reason = format!("{rate} sends a packet of {packet} each {interval}: must be from 100 us to 10 s");
            return Err(FieldError::new("rate", reason));
        }
        if self.length.is_some_and(Duration::is_zero) {
            return Err(FieldError::new("length", "0 s was given: must be more than 0"));
        }
        within("advantage", Some(self.advantage), 0.0, 20.0)?;
        within("equipment_impairment", self.equipment_impairment, 0.0, 95.0)?;
        within("loss_robustness", self.loss_robustness, 1.0, 100.0)?;
        self.activity.entry().check().map_err(|error| error.within("activity"))?;
        self.playout.entry().check().map_err(|error| error.within("playout"))
    }

    fn warning(&self) -> Option<String> {
        (self.playout.entry().adapts() && !self.activity.entry().pauses()).then(|| {
            let (playout, activity) = (self.playout.kind(), self.activity.kind());
            format!(
                "playout: \"{playout}\" adapts where a talk-spurt begins, and with the activity \"{activity}\" there \
                 is one: its delay stays that of the first packet; give an activity with pauses"
            )
        })
    }

    fn build(&self, offsets: &[Duration], _duration: Duration, streams: &mut MakeRng) -> Vec<UserSource> {
        of_each_user(offsets, streams, |offset, own| [self.source(offset, own)])
    }

    fn listener(&self) -> Option<Listener> {
        let packets = self.packets();
        let quality = emodel::Parameters {
            equipment_impairment: self.equipment_impairment.unwrap_or(self.codec.equipment_impairment()),
            loss_robustness: self.loss_robustness.unwrap_or(self.codec.loss_robustness()),
            advantage: self.advantage,
            ..emodel::Parameters::default()
        };
        Some(Listener::new(packets.interval, packets.interval + self.codec.lookahead(), &self.playout, quality))
    }

    fn needs(&self) -> Needs {
        Needs::Datagrams { packet: self.packets().packet.get() as u32 }
    }
}

impl Voice {
    /// Packets and their interval.
    pub fn packets(&self) -> VoicePackets {
        let packet = self.packet.unwrap_or(self.codec.packet());
        let interval = match (self.rate, self.packet) {
            (None, None) => self.codec.interval(),
            (rate, _) => rate.unwrap_or(self.codec.rate()).tx_time(packet.bits()),
        };
        VoicePackets { packet, interval }
    }

    fn source(&self, offset: Duration, streams: &mut MakeUserRng) -> VoiceSource {
        let packets = self.packets();
        let start = Time::ZERO + self.start + offset;
        let mut periods = self.activity.entry().periods(packets.interval, streams);
        // Who takes part in a conversation listens first: the phases of many calls differ from the start.
        let first = start + periods.as_mut().map_or(Duration::ZERO, |periods| periods.idle());
        VoiceSource {
            wake: start,
            next: first,
            interval: packets.interval,
            payload: Bytes::new(packets.packet.get() - u64::from(IPV4_UDP_HEADER_BYTES)),
            left: periods.as_mut().map_or(u64::MAX, |periods| periods.burst()),
            end: self.length.map_or(Time::MAX, |length| start + length),
            state: CallState::Idle,
            periods,
        }
    }
}

fn within(field: &str, value: Option<f64>, low: f64, high: f64) -> Result<(), FieldError> {
    match value {
        Some(value) if !(low..=high).contains(&value) => {
            Err(FieldError::new(field, format!("{value} was given: must be between {low} and {high}")))
        }
        _ => Ok(()),
    }
}

/// The speaker. A packet costs two additions and a comparison; random draws happen only at the end of a talk-spurt.
pub(crate) struct VoiceSource {
    /// The instant of the next action.
    wake: Time,
    /// The instant of the next packet.
    next: Time,
    /// The instant from which nothing is sent.
    end: Time,
    interval: Duration,
    payload: Bytes,
    /// Remaining packets of the talk-spurt.
    left: u64,
    state: CallState,
    /// Talk-spurts and pauses; `None` without pauses.
    periods: Option<Box<Periods>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CallState {
    Idle,
    Open,
    Closed,
}

impl Source for VoiceSource {
    fn poll_action(&mut self, now: Time) -> Option<Act> {
        if now < self.wake {
            return None;
        }
        let action = match self.state {
            CallState::Idle => {
                self.state = CallState::Open;
                Action::Open
            }
            CallState::Open if self.next >= self.end => {
                self.state = CallState::Closed;
                Action::Close
            }
            CallState::Open => {
                self.advance();
                Action::Write(self.payload)
            }
            CallState::Closed => return None,
        };
        self.wake = if self.state == CallState::Closed { Time::MAX } else { self.next.min(self.end) };
        Some(Act::on_first(End::Server, action))
    }

    fn poll_datagram(&mut self, now: Time) -> Option<(Bytes, Time)> {
        // The next packet and the end are later: both come after this one.
        if self.state != CallState::Open || self.next != now || self.next >= self.end {
            return None;
        }
        self.advance();
        self.wake = self.next.min(self.end);
        Some((self.payload, self.wake))
    }

    fn poll_timeout(&self) -> Option<Time> {
        (self.state != CallState::Closed).then_some(self.wake)
    }
}

impl VoiceSource {
    /// Counts the sent packet and sets the instant of the next.
    #[inline]
    fn advance(&mut self) {
        self.next += self.interval;
        self.left -= 1;
        if self.left == 0 {
            self.pause();
        }
    }

    #[cold]
    fn pause(&mut self) {
        let Some(periods) = &mut self.periods else {
            self.left = u64::MAX;
            return;
        };
        self.next += periods.idle();
        self.left = periods.burst();
    }
}

#[cfg(test)]
mod tests;
