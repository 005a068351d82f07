//! Reports of applications on their users' experience, by the kind of traffic: load times, stalls, latency, opinion
//! scores.

/// The experience of an application's user; `None` for the kinds of traffic that it is not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Experience {
    /// The times of web pages, requests and responses.
    pub web: Option<WebReport>,
    /// The viewer's report of adaptive video.
    pub video: Option<VideoReport>,
    /// The viewer's report of live video.
    pub live: Option<LiveReport>,
    /// The player's report of a game.
    pub game: Option<GameReport>,
}

/// The state of an application at an instant; NaN for what it does not have.
#[derive(Clone, Copy, Debug)]
pub struct AppSample {
    /// Media in the buffer of a player.
    pub buffer_s: f32,
    /// Bit rate of what is played.
    pub bitrate_bps: f32,
    /// Age of the picture of live video.
    pub latency_s: f32,
    /// One-way delay of the last update of a game.
    pub down_delay_s: f32,
    /// One-way delay of the last command of a game.
    pub up_delay_s: f32,
}

impl AppSample {
    /// The sample of an application that has no such state.
    pub const NONE: AppSample = AppSample {
        buffer_s: f32::NAN,
        bitrate_bps: f32::NAN,
        latency_s: f32::NAN,
        down_delay_s: f32::NAN,
        up_delay_s: f32::NAN,
    };

    /// Whether the sample has any value.
    pub fn is_known(&self) -> bool {
        [self.buffer_s, self.bitrate_bps, self.latency_s, self.down_delay_s, self.up_delay_s]
            .iter()
            .any(|it| !it.is_nan())
    }
}

impl Default for AppSample {
    fn default() -> AppSample {
        AppSample::NONE
    }
}

units::report! {
    /// The times that users of the web measured. The first request on a connection is written when the connection is
    /// opened, so its times and the load time of the first page contain the handshake. Times are `None` where there are
    /// none.
    #[derive(Copy, Default)]
    pub struct WebReport {
        /// Pages that were complete; 0 for traffic that knows requests only.
        pages: u64,
        /// Pages that were asked for.
        clicks: u64,
        /// Mean time from the click to the last byte of a complete page.
        load_mean_s: Option<f64>,
        /// Median of it: the smallest that half of the pages do not exceed.
        load_median_s: Option<f64>,
        /// 95th percentile of it.
        load_p95_s: Option<f64>,
        /// Requests that reached the server whole.
        requests: u64,
        /// Mean time of a request, from the opening of the connection (later ones: from the writing) to the last byte
        /// at the server.
        request_mean_s: Option<f64>,
        /// Median of it: the smallest that half of them do not exceed.
        request_median_s: Option<f64>,
        /// Shortest time of a request.
        request_min_s: Option<f64>,
        /// Longest time of a request.
        request_max_s: Option<f64>,
        /// Responses that reached the user whole.
        responses: u64,
        /// Mean time of a response, from the writing of its request to the last byte at the user.
        response_mean_s: Option<f64>,
        /// Median of it: the smallest that half of them do not exceed.
        response_median_s: Option<f64>,
        /// Shortest time of a response.
        response_min_s: Option<f64>,
        /// Longest time of a response.
        response_max_s: Option<f64>,
    }
}

units::report! {
    /// The viewer's experience of adaptive video.
    #[derive(Copy)]
    pub struct VideoReport {
        /// From the opening of the connection to the first picture: `startup_s` of the flow.
        startup_s: Option<f64>,
        /// Media that was played.
        played_s: f64,
        /// Times that the picture stood still because the buffer was empty.
        rebuffers: u64,
        /// Total time for which the picture stood still, a stall at the end of the run included.
        rebuffer_s: f64,
        /// Share of `rebuffer_s` in the time from the first picture to the end of the video or the run.
        rebuffer_ratio: Option<f64>,
        /// Segments that arrived whole.
        segments: u64,
        /// Segments of which something was played; the keys from here to `mos` are about them.
        played_segments: u64,
        /// Mean bit rate of what was played, by the ladder.
        bitrate_mean_bps: Option<f64>,
        /// Changes of the bit rate from one segment to the next.
        switches: u64,
        /// Mean size of such a change.
        switch_mean_bps: Option<f64>,
        /// Mean [quality of experience](models/video.md) of a segment by the linear model of Yin and others (2015).
        qoe: Option<f64>,
        /// [Mean opinion score](models/video.md) of the stalls alone, 1.5 to 5.
        ([1.5, 5.0]) mos: Option<f64>,
        /// Throughput of the segments: their bits over the time from the request of each to its last byte.
        throughput_bps: Option<f64>,
        /// Media in the buffer at the end of the run.
        buffer_s: f64,
    }
}

units::report! {
    /// The viewer's experience of live video.
    #[derive(Copy)]
    pub struct LiveReport {
        /// From the opening of the video to the first picture: `startup_s` of the flow.
        startup_s: Option<f64>,
        /// Media that was shown.
        played_s: f64,
        /// Times that the picture stood still because nothing was there to be shown.
        rebuffers: u64,
        /// Total time for which the picture stood still, a stall at the end of the run included.
        rebuffer_s: f64,
        /// Share of `rebuffer_s` in the time from the first picture on.
        rebuffer_ratio: Option<f64>,
        /// Frames that the source handed over.
        sent_frames: u64,
        /// Frames that were shown.
        shown_frames: u64,
        /// Frames that were not there when they were to be shown.
        skipped_frames: u64,
        /// Skipped frames that were complete later.
        late_frames: u64,
        /// Frames left out to catch up.
        jumped_frames: u64,
        /// Frames that were shown although one that they need was not: all up to the next that begins a group.
        impaired_frames: u64,
        /// How long the picture stood still for skipped frames: while later ones were there, or as the last never came.
        frozen_s: f64,
        /// Share of skipped frames among those that were skipped or shown: `late_ratio` of the flow.
        late_ratio: Option<f64>,
        /// Mean age of a frame when it is shown, from its capture.
        latency_mean_s: Option<f64>,
        /// Median of it.
        latency_p50_s: Option<f64>,
        /// 95th percentile of it.
        latency_p95_s: Option<f64>,
        /// 99th percentile of it.
        latency_p99_s: Option<f64>,
        /// Largest of it.
        latency_max_s: Option<f64>,
        /// [Mean opinion score](models/video.md) of the stalls alone, 1.5 to 5; `null` where frames were skipped, of
        /// which it knows nothing.
        ([1.5, 5.0]) mos: Option<f64>,
    }
}

units::report! {
    /// The player's experience of a game; `down` is from the server to the player, also where the user is the server.
    /// Packets in flight at the end are neither received nor lost.
    #[derive(Copy)]
    pub struct GameReport {
        /// Updates that the server sent.
        down_sent: u64,
        /// Updates that reached the player.
        down_received: u64,
        /// Share of lost ones among those whose fate is known.
        down_loss_ratio: Option<f64>,
        /// Median of their one-way delay.
        down_delay_p50_s: Option<f64>,
        /// 95th percentile of it.
        down_delay_p95_s: Option<f64>,
        /// 99th percentile of it.
        down_delay_p99_s: Option<f64>,
        /// Commands that the player sent.
        up_sent: u64,
        /// Commands that reached the server.
        up_received: u64,
        /// Share of lost ones among those whose fate is known.
        up_loss_ratio: Option<f64>,
        /// Median of their one-way delay.
        up_delay_p50_s: Option<f64>,
        /// 95th percentile of it.
        up_delay_p95_s: Option<f64>,
        /// 99th percentile of it.
        up_delay_p99_s: Option<f64>,
        /// Share of packets, both ways, that took longer than the bound or were lost: that of the flow.
        late_ratio: Option<f64>,
        /// Median time from sending a command to the arrival of an update made with it; of several commands before one
        /// update the newest counts.
        response_p50_s: Option<f64>,
        /// 95th percentile of it.
        response_p95_s: Option<f64>,
        /// 99th percentile of it.
        response_p99_s: Option<f64>,
        /// Mean delays of both ways together.
        ping_s: Option<f64>,
        /// Mean absolute changes of the delay from one packet to the next, of both ways together.
        jitter_s: Option<f64>,
        /// [Mean opinion score](models/game.md) by the G-model of Quake IV, 1 to 4.37.
        ([1.0, 4.37]) mos: Option<f64>,
    }
}
