//! The report of a player of a game, and its opinion score.
//!
//! The score: the G-model of Wattimena, Kooij, van Vugt and Ahmed, "Predicting the perceived quality of a first person
//! shooter: the Quake IV G-model", NetGames 2006: X = 0.104 ping + jitter in ms, MOS = −0.00000587 X³ + 0.00139 X² −
//! 0.114 X + 4.37. Fitted to players of one game; losses do not count in it. Here ping is the sum of the mean delays
//! both ways, without the time to the next tick, and jitter that of the mean changes from one packet to the next.

use units::Duration;

use crate::quantiles::{Sorted, micros};

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

/// The delays of the packets that arrived one way.
#[derive(Clone, Debug, Default)]
pub(super) struct Heard {
    delays: Vec<u32>,
    late: u64,
    /// Sum of the absolute changes from one packet to the next.
    changes: u64,
}

impl Heard {
    /// A packet has arrived after `delay`.
    pub(super) fn add(&mut self, delay: Duration, bound: Duration) {
        let delay_us = micros(delay);
        self.late += u64::from(delay > bound);
        self.changes += self.delays.last().map_or(0, |&last| u64::from(last.abs_diff(delay_us)));
        self.delays.push(delay_us);
    }

    /// The delay of the game's last packet one way; NaN before the first.
    pub(super) fn last_s(&self) -> f32 {
        self.delays.last().map_or(f32::NAN, |&last| last as f32 * 1e-6)
    }

    fn jitter_s(&self) -> f64 {
        let pairs = self.delays.len().saturating_sub(1);
        if pairs == 0 { 0.0 } else { self.changes as f64 * 1e-6 / pairs as f64 }
    }
}

/// Returns the report of the packets sent, heard and lost, the server's first.
pub(super) fn report(sent: [u64; 2], heard: &[Heard; 2], lost: [u64; 2], responses: Vec<u32>) -> GameReport {
    let [down, up] = [0, 1].map(|way: usize| Sorted::new(heard[way].delays.as_slice()));
    let [down_received, up_received] = [0, 1].map(|way: usize| heard[way].delays.len() as u64);
    let share = |part: u64, all: u64| (all > 0).then(|| part as f64 / all as f64);
    let late = heard[0].late + heard[1].late + lost[0] + lost[1];
    let ping_s = down.mean_s().zip(up.mean_s()).map(|(down, up)| down + up);
    let jitter_s = ping_s.map(|_| heard[0].jitter_s() + heard[1].jitter_s());
    let responses = Sorted::new(responses);
    GameReport {
        down_sent: sent[0],
        down_received,
        down_loss_ratio: share(lost[0], lost[0] + down_received),
        down_delay_p50_s: down.quantile_s(0.5),
        down_delay_p95_s: down.quantile_s(0.95),
        down_delay_p99_s: down.quantile_s(0.99),
        up_sent: sent[1],
        up_received,
        up_loss_ratio: share(lost[1], lost[1] + up_received),
        up_delay_p50_s: up.quantile_s(0.5),
        up_delay_p95_s: up.quantile_s(0.95),
        up_delay_p99_s: up.quantile_s(0.99),
        late_ratio: share(late, down_received + up_received + lost[0] + lost[1]),
        response_p50_s: responses.quantile_s(0.5),
        response_p95_s: responses.quantile_s(0.95),
        response_p99_s: responses.quantile_s(0.99),
        ping_s,
        jitter_s,
        mos: ping_s.zip(jitter_s).map(|(ping, jitter)| mos(1e3 * ping, 1e3 * jitter)),
    }
}

/// The G-model, from delays in milliseconds.
fn mos(ping_ms: f64, jitter_ms: f64) -> f64 {
    let x = 0.104 * ping_ms + jitter_ms;
    (-0.00000587 * x * x * x + 0.00139 * x * x - 0.114 * x + 4.37).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_score_falls_with_delay_and_jitter() {
        assert_eq!(mos(0.0, 0.0), 4.37);
        // X = 10.4: 4.37 − 1.1856 + 0.15034 − 0.0066.
        assert!((mos(100.0, 0.0) - 3.328_14).abs() < 1e-4);
        let scores: Vec<f64> = (0..200).map(|ms| mos(10.0 * f64::from(ms), 0.0)).collect();
        assert!(scores.windows(2).all(|pair| pair[1] <= pair[0]) && scores[199] == 1.0);
        assert!(mos(100.0, 5.0) < mos(100.0, 0.0));
    }
}
