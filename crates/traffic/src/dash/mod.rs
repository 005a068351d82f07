//! Adaptive video over HTTP, as in MPEG-DASH (ISO/IEC 23009-1): segments of a few seconds, each at several bit rates,
//! of which the client asks for one after the other over a connection that stays open.
//!
//! Simplified: one request at a time; no manifest, no audio, no HTTP headers in responses; a segment that is being
//! loaded is never given up; the server answers at once. Who could notice: a study of abandoned segments or of start-up
//! with TLS.

pub mod adaptation;
mod player;
mod report;

use std::collections::VecDeque;

use rand::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Duration, FieldError, Time};

use crate::random::normal;
use crate::{
    Act, Action, AppSample, End, Experience, Kind, MakeRng, MakeUserRng, Needs, Source, UserSource, of_each_user,
};
use adaptation::{Adaptation, Download, Situation, Video};
use player::Player;
pub use report::LinearQoe;
pub(crate) use report::VideoReport;

/// Adaptive video: the client asks for segments, and chooses the bit rate of each by its buffer or by the throughput.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Dash {
    /// When the connection is opened and the first segment requested, from the start of the run.
    pub start: Duration,
    /// The length of the video, rounded up to whole segments; by default it does not end.
    pub length: Option<Duration>,
    /// The media time of a segment.
    pub segment: Duration,
    /// The bit rates at which each segment is offered, the lowest first.
    pub ladder: Vec<BitRate>,
    /// Standard deviation of the segments' sizes over their mean, the same for all bit rates (lognormal); 0 for a
    /// constant bit rate.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub variation: f64,
    /// Size of a request.
    pub request: Bytes,
    /// The rule by which the bit rate of the next segment is chosen.
    pub adaptation: Adaptation,
    /// The video begins when so much of it has arrived.
    pub startup: Duration,
    /// After a stall it goes on when so much has arrived.
    pub resume: Duration,
    /// The client holds this much at most: it asks for a segment when there is room for it.
    pub buffer: Duration,
    /// The weights of the quality of experience.
    pub qoe: LinearQoe,
}

impl Default for Dash {
    fn default() -> Dash {
        Dash {
            start: Duration::ZERO,
            length: None,
            segment: Duration::from_secs(4),
            // Mao et al. 2017, section 5.1: 240p to 1440p.
            ladder: [300, 750, 1_200, 1_850, 2_850, 4_300].map(|kbps| BitRate::from_bps(1_000 * kbps)).to_vec(),
            variation: 0.0,
            request: Bytes::new(350),
            adaptation: Adaptation::default(),
            startup: Duration::from_secs(4),
            resume: Duration::from_secs(4),
            buffer: Duration::from_secs(60),
            qoe: LinearQoe::default(),
        }
    }
}

impl Kind for Dash {
    fn check(&self) -> Result<(), FieldError> {
        if !(Duration::from_millis(100)..=Duration::from_secs(60)).contains(&self.segment) {
            return Err(FieldError::new("segment", format!("{} was given: must be from 100 ms to 60 s", self.segment)));
        }
        if self.length.is_some_and(Duration::is_zero) {
            return Err(FieldError::new("length", "0 s was given: must be more than 0"));
        }
        check_ladder(&self.ladder)?;
        if !(0.0..=1.0).contains(&self.variation) {
            let reason = format!("{} was given: must be between 0 and 1", self.variation);
            return Err(FieldError::new("variation", reason));
        }
        if self.request.get() == 0 {
            return Err(FieldError::new("request", "0 B was given: must be at least 1 B"));
        }
        if self.buffer < self.segment {
            let reason = format!("{} was given: must hold a segment at least, {}", self.buffer, self.segment);
            return Err(FieldError::new("buffer", reason));
        }
        let whole = self.segment * (self.buffer.as_nanos() / self.segment.as_nanos());
        for (field, least) in [("startup", self.startup), ("resume", self.resume)] {
            if least > whole {
                let reason =
                    format!("{least} was given: the buffer of {} holds {whole} of whole segments", self.buffer);
                return Err(FieldError::new(field, reason));
            }
        }
        self.qoe.check().map_err(|error| error.within("qoe"))?;
        self.adaptation.entry().check(&self.video()).map_err(|error| error.within("adaptation"))
    }

    fn build(&self, offsets: &[Duration], _duration: Duration, streams: &mut MakeRng) -> Vec<UserSource> {
        of_each_user(offsets, streams, |offset, own| [self.source(offset, own)])
    }

    fn needs(&self) -> Needs {
        Needs::Exchange
    }
}

fn check_ladder(ladder: &[BitRate]) -> Result<(), FieldError> {
    if ladder.is_empty() || ladder.len() > 64 {
        return Err(FieldError::new("ladder", format!("{} bit rates were given: must be 1 to 64", ladder.len())));
    }
    if let Some(pair) = ladder.windows(2).find(|pair| pair[0] >= pair[1]) {
        let reason = format!("{} after {} was given: each must be more than the one before", pair[1], pair[0]);
        return Err(FieldError::new("ladder", reason));
    }
    if ladder[0].as_bps() < 1_000 {
        return Err(FieldError::new("ladder", format!("{} was given: must be at least 1 kbit/s", ladder[0])));
    }
    Ok(())
}

impl Dash {
    fn video(&self) -> Video<'_> {
        Video { ladder: &self.ladder, segment: self.segment, buffer: self.buffer }
    }

    fn source(&self, offset: Duration, streams: &mut MakeUserRng) -> DashSource {
        let segments = self.length.map_or(u64::MAX, |length| length.as_nanos().div_ceil(self.segment.as_nanos()));
        DashSource {
            config: self.clone(),
            segments,
            sizes: streams("traffic.segments"),
            opened: None,
            wake: Some(Time::ZERO + self.start + offset),
            acts: VecDeque::new(),
            due: Time::ZERO,
            player: Player::new(Time::ZERO, self.startup, self.resume),
            chosen: Vec::new(),
            downloads: Vec::new(),
            asked: None,
            received: 0,
        }
    }
}

/// A player and its server.
pub(crate) struct DashSource {
    config: Dash,
    /// The number of segments of the whole video.
    segments: u64,
    sizes: Box<dyn Rng + Send>,
    opened: Option<Time>,
    /// The instant of the next request.
    wake: Option<Time>,
    /// The actions that are due, and the instant at which they became due.
    acts: VecDeque<Act>,
    due: Time,
    player: Player,
    /// The level of each segment that was requested.
    chosen: Vec<u8>,
    /// The sizes and times of the segments that have arrived.
    downloads: Vec<Download>,
    asked: Option<Request>,
    /// Bytes of all segments that have arrived.
    received: u64,
}

/// A segment that is being loaded, and whether the server has been asked for it.
struct Request {
    at: Time,
    size: Bytes,
    answered: bool,
}

impl Source for DashSource {
    fn poll_action(&mut self, now: Time) -> Option<Act> {
        if self.acts.is_empty() && self.wake.is_some_and(|wake| wake <= now) {
            self.wake = None;
            self.request(now);
        }
        self.acts.pop_front()
    }

    fn poll_timeout(&self) -> Option<Time> {
        if self.acts.is_empty() { self.wake } else { Some(self.due) }
    }

    fn handle_delivered(&mut self, now: Time, _connection: u32, end: End, bytes: u64) {
        match end {
            End::Server => self.handle_request(now, bytes),
            End::User => self.handle_bytes(now, bytes),
        }
    }

    fn experience(&self, now: Time, _lost: [u64; 2]) -> Option<Experience> {
        self.opened.map(|_| Experience::Video(self.report(&self.player.at(now))))
    }

    fn sample(&self, now: Time) -> AppSample {
        let Some(_) = self.opened else { return AppSample::NONE };
        let player = self.player.at(now);
        let playing = if player.is_playing() { self.played_rate(&player) } else { None };
        AppSample {
            buffer_s: player.buffer().as_secs_f64() as f32,
            bitrate_bps: playing.map_or(f32::NAN, |rate| rate.as_bps() as f32),
            ..AppSample::NONE
        }
    }
}

impl DashSource {
    /// Asks for the next segment, and opens the connection first.
    fn request(&mut self, now: Time) {
        self.player.advance(now);
        if self.opened.is_none() {
            self.opened = Some(now);
            self.player = Player::new(now, self.config.startup, self.config.resume);
            self.acts.push_back(Act::on_first(End::User, Action::Open));
        }
        let sizes = self.next_sizes();
        let situation = Situation {
            video: self.config.video(),
            buffer: self.player.buffer(),
            previous: self.chosen.last().map(|&level| usize::from(level)),
            downloads: &self.downloads,
            sizes: &sizes,
        };
        let level = self.config.adaptation.entry().choose(&situation).min(self.config.ladder.len() - 1);
        self.chosen.push(level as u8);
        self.asked = Some(Request { at: now, size: sizes[level], answered: false });
        self.acts.push_back(Act::on_first(End::User, Action::Write(self.config.request)));
        self.due = now;
    }

    /// Sizes of the next segment by level: lognormal with mean 1 times rate and length.
    fn next_sizes(&mut self) -> Vec<Bytes> {
        let variance = libm::log1p(self.config.variation * self.config.variation);
        let factor = libm::exp(variance.sqrt() * normal(&mut *self.sizes) - variance / 2.0);
        let bytes = |rate: &BitRate| rate.as_bps() as f64 * self.config.segment.as_secs_f64() / 8.0;
        let size = |rate| Bytes::new(((bytes(rate) * factor).round() as u64).max(1));
        self.config.ladder.iter().map(size).collect()
    }

    /// The server has received `bytes` of requests in total.
    fn handle_request(&mut self, now: Time, bytes: u64) {
        let whole_requests = bytes / self.config.request.get();
        let Some(asked) = &mut self.asked else { return };
        if asked.answered || whole_requests < self.chosen.len() as u64 {
            return;
        }
        asked.answered = true;
        self.acts.push_back(Act::on_first(End::Server, Action::Write(asked.size)));
        self.due = now;
    }

    /// The user has received `bytes` of segments in total.
    fn handle_bytes(&mut self, now: Time, bytes: u64) {
        let Some(asked) = self.asked.take_if(|asked| bytes >= self.received + asked.size.get()) else { return };
        self.received += asked.size.get();
        self.downloads.push(Download { size: asked.size, time: now.since(asked.at) });
        self.player.add(now, self.config.segment);
        if self.downloads.len() as u64 >= self.segments {
            self.player.complete();
            self.acts.extend([End::User, End::Server].map(|end| Act::on_first(end, Action::Close)));
            self.due = now;
            return;
        }
        let room = self.config.buffer.saturating_sub(self.config.segment);
        self.wake = Some(now + self.player.buffer().saturating_sub(room));
    }

    /// The bit rate of the segment that is played.
    fn played_rate(&self, player: &Player) -> Option<BitRate> {
        let number = player.played().as_nanos() / self.config.segment.as_nanos();
        self.chosen.get(number as usize).map(|&level| self.config.ladder[usize::from(level)])
    }

    fn report(&self, player: &Player) -> VideoReport {
        report::report(&self.config.video(), &self.config.qoe, player, &self.chosen, &self.downloads)
    }
}

#[cfg(test)]
mod tests;
