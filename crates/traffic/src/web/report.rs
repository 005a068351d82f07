//! The times of web pages, requests and responses of a user, from which its report comes.

use units::Duration;

use crate::quantiles::Sorted;

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

/// The times of one user's pages, requests and responses.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WebTimes {
    /// Pages that were requested.
    pub clicks: u64,
    /// Load time of each complete page: from the click to its last byte.
    pub load_times: Times,
    /// For each request that reached the server: from its writing to its last byte there.
    pub request_times: Times,
    /// For each response that reached the user: from the writing of its request to its last byte there.
    pub response_times: Times,
}

/// Times in the order in which they were measured. A single one takes no memory beside this.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Times(KeptTimes);

#[derive(Clone, Debug, Default, PartialEq)]
enum KeptTimes {
    #[default]
    None,
    One(Duration),
    Several(Vec<Duration>),
}

impl Times {
    /// Adds a time.
    pub fn push(&mut self, time: Duration) {
        self.0 = match std::mem::take(&mut self.0) {
            KeptTimes::None => KeptTimes::One(time),
            KeptTimes::One(first) => KeptTimes::Several(vec![first, time]),
            KeptTimes::Several(mut times) => {
                times.push(time);
                KeptTimes::Several(times)
            }
        };
    }

    /// Returns the times.
    pub fn as_slice(&self) -> &[Duration] {
        match &self.0 {
            KeptTimes::None => &[],
            KeptTimes::One(time) => std::slice::from_ref(time),
            KeptTimes::Several(times) => times,
        }
    }
}

impl WebTimes {
    /// Counts, means and quantiles.
    pub fn report(&self) -> WebReport {
        let [loads, requests, responses] =
            [&self.load_times, &self.request_times, &self.response_times].map(|times| Sorted::new(times.as_slice()));
        WebReport {
            pages: loads.count(),
            clicks: self.clicks,
            load_mean_s: loads.mean_s(),
            load_median_s: loads.quantile_s(0.5),
            load_p95_s: loads.quantile_s(0.95),
            requests: requests.count(),
            request_mean_s: requests.mean_s(),
            request_median_s: requests.quantile_s(0.5),
            request_min_s: requests.quantile_s(0.0),
            request_max_s: requests.quantile_s(1.0),
            responses: responses.count(),
            response_mean_s: responses.mean_s(),
            response_median_s: responses.quantile_s(0.5),
            response_min_s: responses.quantile_s(0.0),
            response_max_s: responses.quantile_s(1.0),
        }
    }
}
