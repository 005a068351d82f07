//! Learned policies: a run that goes on by intervals, with what was seen in each and an action for the next.
//!
//! Everything within an interval happens in the core: one crossing from Python for a step.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use sim::congestion::{AckSample, Answer, Control, Event, Needs, View};
use sim::{Choose, QueueState};
use units::{BitRate, Time};

use crate::simulation::{Simulation, broken};

/// The action that an agent has set, and the observations since.
#[derive(Default)]
struct AgentShared {
    window: f64,
    pacing_rate: Option<BitRate>,
    /// Since the last step.
    acks: u32,
    rtt_sum_s: f64,
    delivered: u64,
    delivered_bytes: u64,
    lost: u64,
    /// At the last acknowledgment.
    rtt_s: f64,
    min_rtt_s: f64,
    in_flight: u32,
}

/// A controller that an agent steers: every end of every flow that names it has the same window and rate.
#[pyclass(module = "transorbit._core", frozen)]
pub(crate) struct Steering {
    shared: Arc<Mutex<AgentShared>>,
    paced: bool,
}

fn locked<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[pymethods]
impl Steering {
    /// `paced`: the agent sets a rate too.
    #[new]
    fn new(paced: bool) -> Steering {
        Steering { shared: Arc::default(), paced }
    }

    /// Returns itself: it is its own factory of the controllers of both ends.
    fn __call__(slf: Py<Steering>) -> Py<Steering> {
        slf
    }

    /// Runs `simulation` until `until_s` with this window in segments and, if paced, this rate in bit/s. What was seen:
    /// the mean round-trip time of the interval (the last one known, if none was measured) and the shortest so far in
    /// seconds, bytes delivered, segments in flight, segments delivered and lost.
    fn step(
        &self,
        py: Python<'_>,
        simulation: &Simulation,
        until_s: f64,
        window: f64,
        rate_bps: f64,
    ) -> PyResult<(f64, f64, u64, u32, u64, u64)> {
        let until = Time::from_secs_f64(until_s);
        {
            let mut shared = locked(&self.shared);
            shared.window = window;
            shared.pacing_rate = self.paced.then(|| BitRate::from_bps((rate_bps as u64).max(1)));
            (shared.acks, shared.rtt_sum_s, shared.delivered, shared.lost) = (0, 0.0, 0, 0);
            shared.delivered_bytes = 0;
        }
        simulation.with(py, |run| run.advance(until))?.map_err(broken)?;
        let mut shared = locked(&self.shared);
        if shared.acks > 0 {
            shared.rtt_s = shared.rtt_sum_s / f64::from(shared.acks);
        }
        Ok((shared.rtt_s, shared.min_rtt_s, shared.delivered_bytes, shared.in_flight, shared.delivered, shared.lost))
    }
}

impl Steering {
    pub(crate) fn control(&self) -> Box<dyn Control> {
        Box::new(Steered { shared: Arc::clone(&self.shared), paced: self.paced, lost_total: 0 })
    }
}

struct Steered {
    shared: Arc<Mutex<AgentShared>>,
    paced: bool,
    /// As of the last acknowledgment, what time-outs took for lost included.
    lost_total: u64,
}

impl Steered {
    fn answer(shared: &AgentShared) -> Answer {
        Answer { window: Some(shared.window), pacing_rate: shared.pacing_rate, ..Answer::default() }
    }
}

impl Control for Steered {
    fn needs(&self) -> Needs {
        Needs { drives: true, rates: self.paced, paces: self.paced, ..Needs::default() }
    }

    fn on_ack(&mut self, sample: &AckSample, _view: View) -> Answer {
        let mut shared = locked(&self.shared);
        shared.delivered += u64::from(sample.delivered);
        shared.delivered_bytes += u64::from(sample.delivered) * u64::from(sample.mss);
        shared.lost += sample.lost_total.saturating_sub(self.lost_total);
        self.lost_total = sample.lost_total;
        shared.in_flight = sample.in_flight;
        shared.min_rtt_s = sample.min_rtt.as_secs_f64();
        if let Some(rtt) = sample.rtt {
            shared.acks += 1;
            shared.rtt_sum_s += rtt.as_secs_f64();
        }
        Steered::answer(&shared)
    }

    fn on_event(&mut self, _now: Time, _event: &Event, _view: View) -> Answer {
        Steered::answer(&locked(&self.shared))
    }
}

/// The weight that an agent has set for each user, and each user's queue at the last choice.
#[derive(Default)]
struct Queues {
    weights: Vec<f64>,
    /// By user, since the last step.
    served_bytes: Vec<u64>,
    /// By user, as at the last choice in the interval; empty if it had none waiting.
    seen: Vec<Option<QueueState>>,
}

/// A scheduler that an agent steers: the waiting user of the greatest weight is served, of equal ones the one that has
/// waited longest.
#[pyclass(module = "transorbit._core", frozen)]
pub(crate) struct Weights {
    shared: Arc<Mutex<Queues>>,
}

#[pymethods]
impl Weights {
    #[new]
    fn new(users: usize) -> Weights {
        let queues = Queues { weights: vec![0.0; users], served_bytes: vec![0; users], seen: vec![None; users] };
        Weights { shared: Arc::new(Mutex::new(queues)) }
    }

    /// Returns itself: it is its own factory.
    fn __call__(slf: Py<Weights>) -> Py<Weights> {
        slf
    }

    /// Runs `simulation` until `until_s` with these weights. For each user what was seen at the last choice (packets
    /// waiting, the wait of the first in seconds, mutual information of a coded bit) and the bytes served in the
    /// interval.
    fn step(
        &self,
        py: Python<'_>,
        simulation: &Simulation,
        until_s: f64,
        weights: Vec<f64>,
    ) -> PyResult<Vec<(usize, f64, f64, u64)>> {
        let until = Time::from_secs_f64(until_s);
        {
            let mut queues = locked(&self.shared);
            queues.weights.iter_mut().zip(weights).for_each(|(own, given)| *own = given);
            queues.served_bytes.fill(0);
            queues.seen.fill(None);
        }
        simulation.with(py, |run| run.advance(until))?.map_err(broken)?;
        let queues = locked(&self.shared);
        let seen = queues.seen.iter().zip(&queues.served_bytes).map(|(seen, served)| match seen {
            Some(queue) => (queue.packets, queue.head_wait.as_secs_f64(), queue.information, *served),
            None => (0, 0.0, 0.0, *served),
        });
        Ok(seen.collect())
    }
}

impl Weights {
    pub(crate) fn chooser(&self) -> Box<dyn Choose> {
        Box::new(Weighted(Arc::clone(&self.shared)))
    }
}

struct Weighted(Arc<Mutex<Queues>>);

impl Choose for Weighted {
    fn choose(&mut self, _now: Time, queues: &[QueueState]) -> Option<u32> {
        let mut shared = locked(&self.0);
        let shared = &mut *shared;
        shared.seen.fill(None);
        for queue in queues {
            if let Some(seen) = shared.seen.get_mut(queue.user as usize) {
                *seen = Some(*queue);
            }
        }
        let weight = |queue: &QueueState| shared.weights.get(queue.user as usize).copied().unwrap_or_default();
        let urgent = |a: &&QueueState, b: &&QueueState| {
            weight(a).total_cmp(&weight(b)).then(a.head_wait.cmp(&b.head_wait)).then(b.user.cmp(&a.user))
        };
        let chosen = queues.iter().max_by(urgent)?;
        if let Some(served) = shared.served_bytes.get_mut(chosen.user as usize) {
            *served += u64::from(chosen.head_size);
        }
        Some(chosen.user)
    }
}
