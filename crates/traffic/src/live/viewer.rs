//! The receiving end of live video. It shows each frame at a fixed age. What is not there then is skipped if a later
//! frame is, else the picture stands still until something comes.

use std::collections::VecDeque;

use units::{Duration, Time};

use super::catch_up::CatchUp;
use crate::quantiles::micros;

/// How a video is to be shown.
#[derive(Clone, Debug)]
pub(super) struct Playout {
    pub(super) frame_time: Duration,
    /// Frames of a group of pictures.
    pub(super) gop: Option<u32>,
    /// The age at which a frame is shown.
    pub(super) latency: Duration,
    /// Media with which a stall ends.
    pub(super) resume: Duration,
    pub(super) catch_up: CatchUp,
}

impl Playout {
    /// Whether a frame needs no other.
    pub(super) fn is_key(&self, frame: u64) -> bool {
        self.gop.is_none_or(|gop| frame.is_multiple_of(u64::from(gop)))
    }
}

/// A play-out buffer, entered when something arrives and at [`Viewer::poll_timeout`].
pub(super) struct Viewer {
    playout: Playout,
    start: Time,
    /// The number of frames of the whole video.
    total: u64,
    /// Known frames from number `first` on; those long past are forgotten.
    frames: VecDeque<Frame>,
    first: u64,
    state: ViewerState,
    /// The next frame to be shown.
    head: u64,
    /// The latest video frame of which all has arrived.
    newest: Option<u64>,
    /// Frames before this one are complete over a byte stream.
    streamed: u64,
    /// Where the known frames end in the byte stream, and in packets.
    bytes: u64,
    packets: u64,
    /// The frames shown depend on one that was not.
    is_broken: bool,
    pub(super) log: Log,
}

/// Counts and times of play-out so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Log {
    pub(super) started: Option<Time>,
    pub(super) shown: u64,
    /// For how long frames were shown.
    pub(super) shown_time: Duration,
    pub(super) skipped: u64,
    /// Skipped frames that were complete after all.
    pub(super) late: u64,
    pub(super) jumped: u64,
    pub(super) impaired: u64,
    pub(super) frozen: Duration,
    pub(super) stalls: u64,
    pub(super) stalled: Duration,
    /// Age of each frame when it was shown, in microseconds.
    pub(super) latencies: Vec<u32>,
    pub(super) sent: u64,
}

struct Frame {
    captured: Time,
    first_packet: u64,
    missing: u64,
    /// The offset after the frame in the byte stream.
    end: u64,
    fate: FrameFate,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FrameFate {
    Ahead,
    Shown,
    Skipped,
    Jumped,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ViewerState {
    /// Nothing has been shown.
    Waiting,
    /// The picture begins with a frame at an instant; it ends a stall that began at another.
    Beginning {
        at: Time,
        first: u64,
        stalled: Option<Time>,
    },
    /// The head is due.
    Due(Time),
    /// No frame to show since then.
    Stalled(Time),
    Ended,
}

/// Frames behind the head that are remembered, to distinguish late from lost ones.
const REMEMBERED: u64 = 1_024;
/// A stall after the last frame was sent is the end when it takes so long.
const PATIENCE: Duration = Duration::from_secs(10);

impl Viewer {
    pub(super) fn new(playout: Playout, start: Time, total: u64) -> Viewer {
        Viewer {
            playout,
            start,
            total,
            frames: VecDeque::new(),
            first: 0,
            state: ViewerState::Waiting,
            head: 0,
            newest: None,
            streamed: 0,
            bytes: 0,
            packets: 0,
            is_broken: false,
            log: Log::default(),
        }
    }

    /// The source hands over the next frame, of so many bytes in so many packets.
    pub(super) fn announce(&mut self, captured: Time, size: u64, packets: u64) {
        self.bytes += size;
        let frame =
            Frame { captured, first_packet: self.packets, missing: packets, end: self.bytes, fate: FrameFate::Ahead };
        self.frames.push_back(frame);
        self.packets += packets;
        self.log.sent += 1;
    }

    /// Packet `number` has arrived, counted from 0.
    pub(super) fn handle_packet(&mut self, now: Time, number: u64) {
        let index = self.frames.partition_point(|frame| frame.first_packet <= number);
        let Some(index) = index.checked_sub(1) else { return };
        let frame = &mut self.frames[index];
        frame.missing = frame.missing.saturating_sub(1);
        if frame.missing == 0 {
            self.complete(now, self.first + index as u64);
        }
    }

    /// `bytes` have arrived in order since the connection began.
    pub(super) fn handle_bytes(&mut self, now: Time, bytes: u64) {
        while let Some(frame) = self.frame_mut(self.streamed).filter(|frame| frame.end <= bytes) {
            frame.missing = 0;
            self.streamed += 1;
            self.complete(now, self.streamed - 1);
        }
    }

    /// The next instant at which it does something by itself.
    pub(super) fn poll_timeout(&self) -> Option<Time> {
        match self.state {
            ViewerState::Beginning { at, .. } | ViewerState::Due(at) => Some(at),
            ViewerState::Stalled(since) if self.log.sent >= self.total => {
                Some(since.max(self.captured(self.total - 1)) + PATIENCE)
            }
            ViewerState::Waiting | ViewerState::Stalled(_) | ViewerState::Ended => None,
        }
    }

    /// Shows what is due until `now`.
    pub(super) fn advance(&mut self, now: Time) {
        while let Some(at) = self.poll_timeout().filter(|at| *at <= now) {
            self.handle_timeout(at);
        }
    }

    /// Shows what is due before `now`: what arrives at `now` is in time for it.
    pub(super) fn advance_before(&mut self, now: Time) {
        while let Some(at) = self.poll_timeout().filter(|at| *at < now) {
            self.handle_timeout(at);
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        match self.state {
            ViewerState::Beginning { first, stalled, .. } => {
                self.log.stalled += stalled.map_or(Duration::ZERO, |since| now.since(since));
                self.log.started.get_or_insert(now);
                while self.head < first {
                    self.log.late += u64::from(self.is_complete(self.head));
                    self.skip();
                }
                self.show(now);
            }
            ViewerState::Due(_) => self.show(now),
            ViewerState::Stalled(since) => match self.beginning(now, Some(since)) {
                // Less than it waited for, but nothing comes after it.
                Some(beginning) => self.state = beginning,
                // The last frames never came: they are skipped, as others that are missing.
                None => {
                    let missing = self.total - self.head;
                    self.log.stalls -= 1;
                    self.log.skipped += missing;
                    self.log.frozen += now.since(since).min(self.playout.frame_time * missing);
                    self.state = ViewerState::Ended;
                }
            },
            ViewerState::Waiting | ViewerState::Ended => {}
        }
    }

    /// The head is due.
    fn show(&mut self, now: Time) {
        let time = self.playout.frame_time;
        if self.head >= self.total {
            self.state = ViewerState::Ended;
        } else if self.is_complete(self.head) {
            let latency = now.since(self.captured(self.head));
            let (rule, target) = (self.playout.catch_up.entry(), self.playout.latency);
            let (rate, jumps) = (rule.rate(latency, target), rule.jumps(latency, target));
            self.log.latencies.push(micros(latency));
            self.log.shown += 1;
            self.is_broken &= !self.playout.is_key(self.head);
            self.log.impaired += u64::from(self.is_broken);
            self.pass(FrameFate::Shown);
            if jumps {
                self.jump(now + time);
            }
            // Play-out never runs ahead of its target.
            let next = (now + time.mul_f64(1.0 / rate)).max(self.captured(self.head) + target);
            self.log.shown_time += next.since(now);
            self.state = ViewerState::Due(next);
        } else if self.newest.is_some_and(|newest| newest > self.head) {
            self.skip();
            self.log.frozen += time;
            self.state = ViewerState::Due(now + time);
        } else {
            self.log.stalls += 1;
            self.state = ViewerState::Stalled(now);
        }
        self.forget();
    }

    /// Leaves out frames until that which is as old as it should be at `now`, if that is there.
    fn jump(&mut self, now: Time) {
        let newest = self.newest.unwrap_or(0);
        while self.head < newest && now.since(self.captured(self.head)) > self.playout.latency {
            self.log.jumped += 1;
            self.is_broken = true;
            self.pass(FrameFate::Jumped);
        }
    }

    /// All of a frame has arrived.
    fn complete(&mut self, now: Time, number: u64) {
        if self.frame(number).is_some_and(|frame| frame.fate == FrameFate::Skipped) {
            self.log.late += 1;
        }
        self.newest = self.newest.max(Some(number));
        self.state = match self.state {
            ViewerState::Waiting => self.beginning(now, None).unwrap_or(self.state),
            ViewerState::Stalled(since) if self.there() >= self.playout.resume || number + 1 == self.total => {
                self.beginning(now, Some(since)).unwrap_or(self.state)
            }
            // It is in time after all.
            ViewerState::Beginning { first, stalled, .. }
                if (self.head..first).contains(&number) && self.due(number) >= now =>
            {
                ViewerState::Beginning { at: self.due(number), first: number, stalled }
            }
            state => state,
        };
    }

    /// The picture begins with the first complete frame that may be shown yet; `None` without one.
    fn beginning(&self, now: Time, stalled: Option<Time>) -> Option<ViewerState> {
        let first = self.ahead().next()?;
        Some(ViewerState::Beginning { at: now.max(self.due(first)), first, stalled })
    }

    /// When a frame is as old as the viewer's latency.
    fn due(&self, number: u64) -> Time {
        self.captured(number) + self.playout.latency
    }

    /// The complete frames that may be shown yet.
    fn ahead(&self) -> impl Iterator<Item = u64> {
        (self.head..self.newest.map_or(0, |newest| newest + 1)).filter(|&number| self.is_complete(number))
    }

    /// The media that may be shown yet: holes do not count.
    fn there(&self) -> Duration {
        self.playout.frame_time * self.ahead().count() as u64
    }

    /// The head is not shown.
    fn skip(&mut self) {
        self.log.skipped += 1;
        self.is_broken = true;
        self.pass(FrameFate::Skipped);
    }

    fn pass(&mut self, fate: FrameFate) {
        let head = self.head;
        if let Some(frame) = self.frame_mut(head) {
            frame.fate = fate;
        }
        self.head += 1;
    }

    fn forget(&mut self) {
        while self.first + REMEMBERED < self.head && self.frames.pop_front().is_some() {
            self.first += 1;
        }
    }

    fn frame(&self, number: u64) -> Option<&Frame> {
        self.frames.get(number.checked_sub(self.first)? as usize)
    }

    fn frame_mut(&mut self, number: u64) -> Option<&mut Frame> {
        self.frames.get_mut(number.checked_sub(self.first)? as usize)
    }

    fn is_complete(&self, number: u64) -> bool {
        self.frame(number).is_some_and(|frame| frame.missing == 0)
    }

    fn captured(&self, number: u64) -> Time {
        let known = self.frame(number).map(|frame| frame.captured);
        known.unwrap_or(self.start + self.playout.frame_time * number)
    }

    /// Media ahead of the picture, and the picture's age.
    pub(super) fn state(&self, now: Time) -> (Option<Duration>, Option<Duration>) {
        let buffer = self.there();
        let last = self.log.latencies.last().map(|&micros| Duration::from_micros(u64::from(micros)));
        match self.state {
            ViewerState::Waiting if self.frames.is_empty() => (None, None),
            ViewerState::Waiting => (Some(buffer), None),
            ViewerState::Beginning { .. } | ViewerState::Due(_) => (Some(buffer), last),
            ViewerState::Stalled(since) => (Some(buffer), last.map(|last| last + now.since(since))),
            ViewerState::Ended => (None, None),
        }
    }

    /// Returns the counts and times of play-out until `now`.
    pub(super) fn log(&self, now: Time) -> Log {
        let mut log = self.log.clone();
        if let ViewerState::Stalled(since) | ViewerState::Beginning { stalled: Some(since), .. } = self.state {
            log.stalled += now.since(since);
        }
        // What is shown, or stands still, beyond `now` does not count yet.
        if let ViewerState::Due(next) = self.state {
            let ahead = next.since(now);
            let fate = self.head.checked_sub(1).and_then(|last| self.frame(last)).map(|frame| frame.fate);
            let time = if fate == Some(FrameFate::Skipped) { &mut log.frozen } else { &mut log.shown_time };
            *time = time.saturating_sub(ahead);
        }
        log
    }
}
