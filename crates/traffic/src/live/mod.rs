//! Live video: a source at a paced, constant rate, and a viewer with a play-out buffer, over UDP or TCP.
//!
//! Simplified: one bit rate; frames of one size, or two with groups of pictures; no forward error correction and no
//! retransmission over UDP; a frame is shown if all of it has arrived. RTP's 12 bytes are not counted. Who could
//! notice: a study of repair over UDP, or of codecs that conceal a lost packet.

pub mod catch_up;
mod report;
mod viewer;

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Duration, FieldError, IPV4_UDP_HEADER_BYTES, Time};

use crate::{Act, Action, AppSample, End, Experience, Kind, MakeRng, Needs, Source, UserSource, of_each_user};
use catch_up::CatchUp;
pub(crate) use report::LiveReport;
use viewer::{Playout, Viewer};

/// Live video at a constant rate from the server to the user, over UDP or TCP, with a play-out buffer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Live {
    /// When the video starts, from the start of the run.
    pub start: Duration,
    /// The length of the video; by default until the end of the run.
    pub length: Option<Duration>,
    /// Bit rate of the video, without headers.
    pub rate: BitRate,
    /// Frames per second.
    #[schemars(range(min = 1, max = 240))]
    pub fps: u32,
    /// Frames in a group of pictures, the first of which needs no other; without it, none needs another.
    pub gop: Option<u32>,
    /// The size of the first frame of a group over that of the others.
    pub key_size: f64,
    /// Frames that are handed over together, when the last of them is captured: a chunk.
    pub chunk: u32,
    /// Whether the packets of a chunk are spread over the time of a chunk, or sent at once.
    pub paced: bool,
    /// The largest packet over UDP, with UDP and IP headers.
    pub packet: Bytes,
    /// The age at which a frame is to be shown, from its capture.
    pub latency: Duration,
    /// After a stall the video goes on when so much of it is there.
    pub resume: Duration,
    /// How a player that has fallen behind comes back to `latency`.
    pub catch_up: CatchUp,
}

impl Default for Live {
    fn default() -> Live {
        Live {
            start: Duration::ZERO,
            length: None,
            rate: BitRate::from_bps(4_000_000),
            fps: 25,
            gop: None,
            key_size: 4.0,
            chunk: 1,
            paced: true,
            packet: Bytes::new(1_000),
            latency: Duration::from_secs(1),
            resume: Duration::from_millis(200),
            catch_up: CatchUp::default(),
        }
    }
}

impl Kind for Live {
    fn check(&self) -> Result<(), FieldError> {
        let refuse = |field: &str, reason: String| Err(FieldError::new(field, reason));
        if !(1..=240).contains(&self.fps) {
            return refuse("fps", format!("{} was given: must be from 1 to 240", self.fps));
        }
        if self.rate.as_bps() < 8 * u64::from(self.fps) {
            return refuse("rate", format!("{} was given: must be a byte for each frame at least", self.rate));
        }
        if self.length.is_some_and(|length| length < self.frame_time()) {
            return refuse("length", "must be a frame at least".to_owned());
        }
        if let Some(gop) = self.gop.filter(|gop| !(1..=10_000).contains(gop)) {
            return refuse("gop", format!("{gop} was given: must be from 1 to 10000"));
        }
        if !(1.0..=100.0).contains(&self.key_size) {
            return refuse("key_size", format!("{} was given: must be between 1 and 100", self.key_size));
        }
        if !(1..=10_000).contains(&self.chunk) {
            return refuse("chunk", format!("{} was given: must be from 1 to 10000", self.chunk));
        }
        if !(100..=65_535).contains(&self.packet.get()) {
            return refuse("packet", format!("{} was given: must be from 100 B to 65535 B", self.packet));
        }
        let packets = self.size(0).max(self.size(1)).div_ceil(self.payload()) * u64::from(self.chunk);
        if packets > MOST_PACKETS {
            let reason =
                format!("{} was given: a chunk has up to {packets} packets, {MOST_PACKETS} are possible", self.rate);
            return refuse("rate", reason);
        }
        let least = self.frame_time() * u64::from(self.chunk);
        if self.latency < least {
            let reason = format!("{} was given: must be the time of a chunk at least, {least}", self.latency);
            return refuse("latency", reason);
        }
        if self.resume > self.latency {
            let reason = format!("{} was given: must be at most `latency`, {}", self.resume, self.latency);
            return refuse("resume", reason);
        }
        self.catch_up.entry().check().map_err(|error| error.within("catch_up"))
    }

    fn build(&self, offsets: &[Duration], _duration: Duration, streams: &mut MakeRng) -> Vec<UserSource> {
        of_each_user(offsets, streams, |offset, _| [self.source(offset)])
    }

    fn needs(&self) -> Needs {
        Needs::Media { packet: self.packet.get() as u32 }
    }
}

/// Packets of a chunk, which are handed over together.
const MOST_PACKETS: u64 = 1_000_000;

impl Live {
    /// Bytes of media in a full packet.
    fn payload(&self) -> u64 {
        self.packet.get() - u64::from(IPV4_UDP_HEADER_BYTES)
    }

    fn frame_time(&self) -> Duration {
        Duration::from_nanos(1_000_000_000 / u64::from(self.fps))
    }

    fn playout(&self) -> Playout {
        let Live { gop, latency, resume, .. } = *self;
        Playout { frame_time: self.frame_time(), gop, latency, resume, catch_up: self.catch_up.clone() }
    }

    /// The size of a frame: the group as a whole has the bit rate.
    fn size(&self, frame: u64) -> u64 {
        let mean = self.rate.as_bps() as f64 / 8.0 / f64::from(self.fps);
        let Some(gop) = self.gop.map(f64::from) else { return mean.round() as u64 };
        let other = mean * gop / (self.key_size + gop - 1.0);
        let size = if self.playout().is_key(frame) { self.key_size * other } else { other };
        (size.round() as u64).max(1)
    }

    fn source(&self, offset: Duration) -> LiveSource {
        let start = Time::ZERO + self.start + offset;
        let frames = self.length.map_or(u64::MAX, |length| length.as_nanos() / self.frame_time().as_nanos());
        LiveSource {
            viewer: Viewer::new(self.playout(), start, frames),
            config: self.clone(),
            start,
            frames,
            state: CameraState::Idle,
            frame: 0,
            packets: VecDeque::new(),
        }
    }
}

/// A camera and its viewer.
pub(crate) struct LiveSource {
    config: Live,
    start: Time,
    /// The number of frames of the whole video.
    frames: u64,
    state: CameraState,
    /// The next frame to be handed over.
    frame: u64,
    /// Payloads of the chunk that are still to be written, and when.
    packets: VecDeque<(Time, Bytes)>,
    viewer: Viewer,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CameraState {
    Idle,
    Open,
    Closed,
}

impl Source for LiveSource {
    fn poll_action(&mut self, now: Time) -> Option<Act> {
        self.viewer.advance(now);
        let due = self.next_action().is_some_and(|at| at <= now);
        if !due {
            return None;
        }
        let action = match self.state {
            CameraState::Idle => {
                self.state = CameraState::Open;
                Action::Open
            }
            CameraState::Open if self.packets.is_empty() && self.frame >= self.frames => {
                self.state = CameraState::Closed;
                Action::Close
            }
            CameraState::Open => {
                if self.packets.is_empty() {
                    self.hand_over(now);
                }
                let (_, payload) = self.packets.pop_front().expect("a chunk has packets");
                Action::Write(payload)
            }
            CameraState::Closed => return None,
        };
        Some(Act::on_first(End::Server, action))
    }

    fn poll_timeout(&self) -> Option<Time> {
        [self.next_action(), self.viewer.poll_timeout()].into_iter().flatten().min()
    }

    fn handle_delivered(&mut self, now: Time, _connection: u32, _end: End, bytes: u64) {
        self.viewer.advance_before(now);
        self.viewer.handle_bytes(now, bytes);
    }

    fn handle_datagram(&mut self, now: Time, _connection: u32, _end: End, number: u64, _written: Time) {
        self.viewer.advance_before(now);
        self.viewer.handle_packet(now, number);
    }

    fn experience(&self, now: Time, _lost: [u64; 2]) -> Option<Experience> {
        let report = || report::report(self.config.frame_time(), self.start, self.viewer.log(now));
        (self.state != CameraState::Idle).then(|| Experience::Live(report()))
    }

    fn sample(&self, now: Time) -> AppSample {
        let (buffer, latency) = self.viewer.state(now);
        let seconds = |time: Option<Duration>| time.map_or(f32::NAN, |time| time.as_secs_f64() as f32);
        AppSample { buffer_s: seconds(buffer), latency_s: seconds(latency), ..AppSample::NONE }
    }
}

impl LiveSource {
    /// When the server acts next.
    fn next_action(&self) -> Option<Time> {
        match self.state {
            CameraState::Idle => Some(self.start),
            CameraState::Open => match self.packets.front() {
                Some(&(at, _)) => Some(at),
                None if self.frame >= self.frames => Some(self.captured(self.frames - 1)),
                None => Some(self.captured(self.chunk_end() - 1)),
            },
            CameraState::Closed => None,
        }
    }

    /// The frame after the last of the next chunk.
    fn chunk_end(&self) -> u64 {
        (self.frame + u64::from(self.config.chunk)).min(self.frames)
    }

    fn captured(&self, frame: u64) -> Time {
        self.start + self.config.frame_time() * frame
    }

    /// Cuts the next chunk into packets, each with bytes of one frame.
    fn hand_over(&mut self, now: Time) {
        let payload = self.config.payload();
        let (first, end) = (self.frame, self.chunk_end());
        let mut sizes = Vec::new();
        for frame in first..end {
            let size = self.config.size(frame);
            let packets = size.div_ceil(payload);
            self.viewer.announce(self.captured(frame), size, packets);
            sizes.extend((0..packets).map(|packet| payload.min(size - packet * payload)));
        }
        let span = self.config.frame_time() * (end - first);
        let number = sizes.len() as u64;
        let at = |index: u64| if self.config.paced { now + span * index / number } else { now };
        self.packets.extend((0..).zip(sizes).map(|(index, size)| (at(index), Bytes::new(size))));
        self.frame = end;
    }
}

#[cfg(test)]
mod tests;
