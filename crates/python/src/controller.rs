//! Congestion controllers written in Python.

use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyTuple};
use sim::congestion::{self, AckSample, Answer, Control, MOST_SEGMENTS, MakeControl, Needs, Start, View};
use units::{BitRate, Duration, Time};

use crate::script::{Raised, needed, shortened};

/// An acknowledgment that brought news, as a controller in Python sees it. Counts are in segments, times in seconds.
/// One object for all samples of a connection: what is to be kept is to be copied.
#[pyclass(module = "transorbit")]
pub(crate) struct Ack {
    sample: AckSample,
    view: View,
}

fn measured(duration: Duration) -> Option<f64> {
    (!duration.is_zero()).then(|| duration.as_secs_f64())
}

#[pymethods]
impl Ack {
    /// When it arrived.
    #[getter]
    fn now(&self) -> f64 {
        self.sample.now.as_secs_f64()
    }

    /// The window: what was answered last, with its fraction, unless the sender has moved it since.
    #[getter]
    fn window(&self) -> f64 {
        self.view.window
    }

    /// The slow start threshold; infinite while there is none.
    #[getter]
    fn threshold(&self) -> f64 {
        self.view.threshold
    }

    /// Segments newly acknowledged cumulatively.
    #[getter]
    fn acked(&self) -> u32 {
        self.sample.acked
    }

    /// Segments newly known to be delivered, cumulatively or selectively, each counted once.
    #[getter]
    fn delivered(&self) -> u32 {
        self.sample.delivered
    }

    /// Segments newly taken for lost.
    #[getter]
    fn lost(&self) -> u32 {
        self.sample.lost
    }

    /// All segments known to be delivered since the connection opened.
    #[getter]
    fn delivered_total(&self) -> u64 {
        self.sample.delivered_total
    }

    /// All segments ever taken for lost.
    #[getter]
    fn lost_total(&self) -> u64 {
        self.sample.lost_total
    }

    /// Segments in flight before this acknowledgment.
    #[getter]
    fn in_flight_before(&self) -> u32 {
        self.sample.in_flight_before
    }

    /// Segments in flight after it.
    #[getter]
    fn in_flight(&self) -> u32 {
        self.sample.in_flight
    }

    /// SND.UNA after it, as an offset in the byte stream.
    #[getter]
    fn una(&self) -> u64 {
        self.sample.una
    }

    /// SND.NXT after it, as an offset in the byte stream.
    #[getter]
    fn nxt(&self) -> u64 {
        self.sample.nxt
    }

    /// The round-trip time that it measured; None if it measured none.
    #[getter]
    fn rtt(&self) -> Option<f64> {
        self.sample.rtt.map(Duration::as_secs_f64)
    }

    /// Smoothed round-trip time (RFC 6298); None before the first measurement.
    #[getter]
    fn srtt(&self) -> Option<f64> {
        measured(self.sample.srtt)
    }

    /// Shortest round-trip time measured so far; None before the first measurement.
    #[getter]
    fn min_rtt(&self) -> Option<f64> {
        measured(self.sample.min_rtt)
    }

    /// The delivery rate that it measured, in bit/s of payload; None where it is not certain, or `rates` is not set.
    #[getter]
    fn delivery_rate(&self) -> Option<f64> {
        let rate = self.sample.rate?;
        let seconds = rate.interval?.as_secs_f64();
        Some(f64::from(rate.delivered) * f64::from(self.sample.mss) * 8.0 / seconds)
    }

    /// Of the delivery rate: segments delivered since the newest acknowledged one was sent; None without `rates`.
    #[getter]
    fn rate_delivered(&self) -> Option<u32> {
        self.sample.rate.map(|rate| rate.delivered)
    }

    /// Of the delivery rate: segments taken for lost in the same time.
    #[getter]
    fn rate_lost(&self) -> Option<u32> {
        self.sample.rate.map(|rate| rate.lost)
    }

    /// `delivered_total` when that segment was sent: a round trip ends when it reaches that of the round's start.
    #[getter]
    fn prior_delivered(&self) -> Option<u64> {
        self.sample.rate.map(|rate| rate.prior_delivered)
    }

    /// Segments in flight when that segment had been sent, it included.
    #[getter]
    fn tx_in_flight(&self) -> Option<u32> {
        self.sample.rate.map(|rate| rate.tx_in_flight)
    }

    /// The time over which the delivery rate is measured; None where it is not certain.
    #[getter]
    fn rate_interval(&self) -> Option<f64> {
        self.sample.rate?.interval.map(Duration::as_secs_f64)
    }

    /// Whether the application left the path idle meanwhile: the rate may be too low.
    #[getter]
    fn app_limited(&self) -> bool {
        self.sample.rate.is_some_and(|rate| rate.app_limited)
    }

    /// Whether that segment was a retransmission.
    #[getter]
    fn retransmitted(&self) -> bool {
        self.sample.rate.is_some_and(|rate| rate.retransmitted)
    }

    /// Whether the window may move: neither in fast recovery nor in a reduction for a mark.
    #[getter]
    fn may_grow(&self) -> bool {
        self.sample.may_grow
    }

    /// Whether the window was full: if not, application or receiver limit, and the window must not grow (RFC 7661).
    #[getter]
    fn window_limited(&self) -> bool {
        self.sample.window_limited
    }

    /// The sender's state of loss recovery: "open", "disorder", "cwr", "recovery" or "loss".
    #[getter]
    fn state(&self) -> &'static str {
        self.sample.state.name()
    }

    /// Whether the acknowledgment echoes a congestion mark (RFC 3168).
    #[getter]
    fn ece(&self) -> bool {
        self.sample.ece
    }

    /// Segments newly known to be delivered with a congestion mark, by accurate feedback (RFC 9768).
    #[getter]
    fn marked(&self) -> u32 {
        self.sample.marked
    }

    /// Payload bytes of the segments in `marked`.
    #[getter]
    fn marked_bytes(&self) -> u64 {
        self.sample.marked_bytes
    }

    /// Segments are spaced by the sender, not by acknowledgments alone.
    #[getter]
    fn paced(&self) -> bool {
        self.sample.paced
    }

    /// Payload bytes of a full segment.
    #[getter]
    fn mss(&self) -> u32 {
        self.sample.mss
    }

    fn __repr__(&self) -> String {
        format!("Ack(now={}, delivered={}, window={})", self.now(), self.sample.delivered, self.view.window)
    }
}

/// An event at a sender other than an acknowledgment, as a controller in Python sees it: `kind` names it, and says
/// which of the other attributes are not None. One object for all events of a connection.
#[pyclass(module = "transorbit")]
pub(crate) struct Event {
    now: Time,
    event: congestion::Event,
    view: View,
}

impl Event {
    fn congestion(&self) -> Option<&congestion::Congestion> {
        if let congestion::Event::Congestion(congestion) = &self.event { Some(congestion) } else { None }
    }
}

#[pymethods]
impl Event {
    /// The kind of the event: "established", "starts", "sent", "lost", "congestion", "timed-out", "recovered",
    /// "undone", "restarted", "probe-acked" or "timeout".
    #[getter]
    fn kind(&self) -> &'static str {
        self.event.name()
    }

    /// When.
    #[getter]
    fn now(&self) -> f64 {
        self.now.as_secs_f64()
    }

    /// The window in segments.
    #[getter]
    fn window(&self) -> f64 {
        self.view.window
    }

    /// The slow start threshold in segments; infinite while there is none.
    #[getter]
    fn threshold(&self) -> f64 {
        self.view.threshold
    }

    /// Of "congestion", why: "loss", "mark" or "timeout".
    #[getter]
    fn cause(&self) -> Option<&'static str> {
        self.congestion().map(|congestion| congestion.cause.name())
    }

    /// Of "congestion": the segments to reduce from, the window or what is in flight, as the profile says.
    #[getter]
    fn reduce_from(&self) -> Option<u32> {
        self.congestion().map(|congestion| congestion.from)
    }

    /// Of "congestion", "sent" and "timeout": segments in flight.
    #[getter]
    fn in_flight(&self) -> Option<u32> {
        match self.event {
            congestion::Event::Congestion(congestion) => Some(congestion.in_flight),
            congestion::Event::Sent { in_flight } | congestion::Event::Timeout { in_flight } => Some(in_flight),
            _ => None,
        }
    }

    /// Of "congestion" and "established": smoothed round-trip time in seconds.
    #[getter]
    fn srtt(&self) -> Option<f64> {
        match self.event {
            congestion::Event::Congestion(congestion) => measured(congestion.srtt),
            congestion::Event::Established { srtt } => measured(srtt),
            _ => None,
        }
    }

    /// Of "congestion": the shortest round-trip time in seconds.
    #[getter]
    fn min_rtt(&self) -> Option<f64> {
        self.congestion().and_then(|congestion| measured(congestion.min_rtt))
    }

    /// Of "congestion": payload bytes of a full segment.
    #[getter]
    fn mss(&self) -> Option<u32> {
        self.congestion().map(|congestion| congestion.mss)
    }

    /// Of "starts" and "lost": whether the application had left the path idle.
    #[getter]
    fn app_limited(&self) -> Option<bool> {
        match self.event {
            congestion::Event::Starts { app_limited, .. } => Some(app_limited),
            congestion::Event::Lost(lost) => Some(lost.app_limited),
            _ => None,
        }
    }

    /// Of "starts": when a segment was sent before, in seconds.
    #[getter]
    fn last_sent(&self) -> Option<f64> {
        if let congestion::Event::Starts { last_sent, .. } = self.event {
            last_sent.map(Time::as_secs_f64)
        } else {
            None
        }
    }

    /// Of "lost": segments in flight when the segment had been sent, it included.
    #[getter]
    fn tx_in_flight(&self) -> Option<u32> {
        if let congestion::Event::Lost(lost) = self.event { Some(lost.tx_in_flight) } else { None }
    }

    /// Of "lost": segments taken for lost since the segment was sent, it included.
    #[getter]
    fn lost_since(&self) -> Option<u32> {
        if let congestion::Event::Lost(lost) = self.event { Some(lost.lost_since) } else { None }
    }

    /// Of "probe-acked": the state of loss recovery.
    #[getter]
    fn state(&self) -> Option<&'static str> {
        if let congestion::Event::ProbeAcked { state } = self.event { Some(state.name()) } else { None }
    }

    fn __repr__(&self) -> String {
        format!("Event(kind='{}', now={})", self.event.name(), self.now.as_secs_f64())
    }
}

/// The end of a connection at its start.
#[pyclass(module = "transorbit", frozen, get_all)]
pub(crate) struct Connection {
    /// Payload bytes of a full segment.
    mss: u32,
    /// The initial window in segments.
    window: u32,
    /// RFC 3465 L: the segments that one acknowledgment may count for in slow start; None counts all.
    counting_limit: Option<u32>,
    /// A number that differs between the ends of a run, the same for the same seed: for `random.Random`.
    seed: u64,
}

/// Makes the controller of each end from `factory`.
pub(crate) fn maker(factory: Py<PyAny>, raised: Raised) -> MakeControl {
    Arc::new(move |start: &Start| {
        let built_controller = raised.guard(None, |py| {
            let object = factory.bind(py).call0()?;
            if let Ok(steering) = object.cast::<crate::gym::Steering>() {
                return Ok(Some(steering.get().control()));
            }
            Ok(Some(Box::new(Controller::new(&object, start, raised.clone())?) as Box<dyn Control>))
        });
        built_controller.unwrap_or_else(|| Box::new(Silent))
    })
}

/// Stands for a controller that could not be made: the run ends at its next step.
struct Silent;

impl Control for Silent {
    fn needs(&self) -> Needs {
        Needs::default()
    }

    fn on_ack(&mut self, _sample: &AckSample, _view: View) -> Answer {
        Answer::default()
    }

    fn on_event(&mut self, _now: Time, _event: &congestion::Event, _view: View) -> Answer {
        Answer::default()
    }
}

/// Calls the methods of an object.
struct Controller {
    class: String,
    on_ack: Py<PyAny>,
    on_congestion: Option<Py<PyAny>>,
    on_event: Option<Py<PyAny>>,
    pacing_rate: Option<Py<PyAny>>,
    poll_timeout: Option<Py<PyAny>>,
    needs: Needs,
    ack: Py<Ack>,
    event: Py<Event>,
    /// Its last answer, which holds until it is asked again.
    last: Answer,
    raised: Raised,
}

/// Before the first acknowledgment.
const NONE: AckSample = AckSample {
    now: Time::ZERO,
    acked: 0,
    delivered: 0,
    lost: 0,
    delivered_total: 0,
    lost_total: 0,
    in_flight_before: 0,
    in_flight: 0,
    una: 0,
    nxt: 0,
    rtt: None,
    srtt: Duration::ZERO,
    min_rtt: Duration::ZERO,
    rate: None,
    may_grow: false,
    window_limited: false,
    window_full: false,
    state: sim::CongestionState::Open,
    ece: false,
    marked: 0,
    marked_bytes: 0,
    paced: false,
    mss: 0,
};

/// The methods that are called beside `on_ack`, in the order in which `new` takes them.
const OTHERS: [&str; 5] = ["on_congestion", "on_event", "on_start", "pacing_rate", "poll_timeout"];

const WINDOW: &str = "a window in segments is expected, a number from 0 to 1e9, or None to leave it as it is";
const THRESHOLD: &str = "a slow start threshold in segments is expected, a number from 0, or None for half";
const RATE: &str = "a rate in bit/s is expected, a number above 0, or None";

impl Controller {
    fn new(object: &Bound<'_, PyAny>, start: &Start, raised: Raised) -> PyResult<Controller> {
        let py = object.py();
        let class = object.get_type().qualname()?.to_string();
        let [on_congestion, on_event, on_start, pacing_rate, poll_timeout] =
            OTHERS.map(|name| object.getattr_opt(name).map(|method| method.map(Bound::unbind)));
        let set = |name: &str| object.getattr_opt(name)?.map_or(Ok(false), |value| value.is_truthy());
        let on_ack = needed(object, "a controller", "on_ack(ack)", &OTHERS)?;
        let (on_event, poll_timeout, pacing_rate) = (on_event?, poll_timeout?, pacing_rate?);
        if poll_timeout.is_some() && on_event.is_none() {
            let told = format!("{class}.poll_timeout needs a method on_event(event), which is told of that time");
            return Err(PyTypeError::new_err(told));
        }
        if let Some(on_start) = on_start? {
            let limit = Some(start.counting_limit).filter(|limit| *limit != u32::MAX);
            let Start { mss, window, entropy, .. } = *start;
            on_start.call1(py, (Connection { mss, window, counting_limit: limit, seed: entropy },))?;
        }
        let needs = Needs {
            drives: set("drives")?,
            rates: set("rates")? || pacing_rate.is_some(),
            sent: set("sent")?,
            paces: pacing_rate.is_some(),
            timer: poll_timeout.is_some(),
            probes: false,
            advances_only: false,
        };
        let view = View { window: 0.0, threshold: 0.0 };
        let event = Event { now: Time::ZERO, event: congestion::Event::TimedOut, view };
        Ok(Controller {
            class,
            on_ack,
            on_congestion: on_congestion?,
            on_event,
            pacing_rate,
            poll_timeout,
            needs,
            ack: Py::new(py, Ack { sample: NONE, view })?,
            event: Py::new(py, event)?,
            last: Answer::default(),
            raised,
        })
    }

    fn wrong(&self, method: &str, answer: &Bound<'_, PyAny>, wanted: &str) -> PyErr {
        PyTypeError::new_err(format!("{}.{method} answered {}: {wanted}", self.class, shortened(answer)))
    }

    /// The number that was answered, None for None.
    fn number(&self, method: &str, answer: &Bound<'_, PyAny>, most: f64, wanted: &str) -> PyResult<Option<f64>> {
        let number = match answer.cast_exact::<PyFloat>() {
            Ok(number) => number.value(),
            Err(_) if answer.is_none() => return Ok(None),
            Err(_) => answer.extract().map_err(|_: PyErr| self.wrong(method, answer, wanted))?,
        };
        if (0.0..=most).contains(&number) { Ok(Some(number)) } else { Err(self.wrong(method, answer, wanted)) }
    }

    /// A window, or a window and a threshold.
    fn window(&self, method: &str, answer: &Bound<'_, PyAny>) -> PyResult<Answer> {
        let mut said = Answer::default();
        if let Ok(pair) = answer.cast::<PyTuple>()
            && pair.len() == 2
        {
            said.window = self.number(method, &pair.get_item(0)?, MOST_SEGMENTS, WINDOW)?;
            said.threshold = self.number(method, &pair.get_item(1)?, f64::INFINITY, THRESHOLD)?;
        } else {
            said.window = self.number(method, answer, MOST_SEGMENTS, WINDOW)?;
        }
        Ok(said)
    }

    /// Returns the answer, completed with the controller's rate and its next time.
    fn complete(&self, py: Python<'_>, now: Time, mut said: Answer) -> PyResult<Answer> {
        if let Some(pacing_rate) = &self.pacing_rate {
            let answer = pacing_rate.bind(py).call0()?;
            let rate = self.number("pacing_rate", &answer, 1e15, RATE)?;
            if rate.is_some_and(|rate| rate <= 0.0) {
                return Err(self.wrong("pacing_rate", &answer, RATE));
            }
            said.pacing_rate = rate.map(|rate| BitRate::from_bps((rate as u64).max(1)));
        }
        if let Some(poll_timeout) = &self.poll_timeout {
            let answer = poll_timeout.bind(py).call0()?;
            let wanted = "a time after now is expected, in seconds of the run, or None";
            let at = self.number("poll_timeout", &answer, 9e9, wanted)?.map(Time::from_secs_f64);
            if at.is_some_and(|at| at <= now) {
                return Err(self.wrong("poll_timeout", &answer, wanted));
            }
            said.timeout = at;
        }
        Ok(said)
    }

    fn tell(&self, py: Python<'_>, now: Time) -> PyResult<Answer> {
        let congested = self.event.borrow(py).congestion().is_some();
        let said = match (&self.on_congestion, &self.on_event) {
            (Some(on_congestion), _) if congested => {
                let answer = on_congestion.bind(py).call1((&self.event,))?;
                if self.needs.drives {
                    self.window("on_congestion", &answer)?
                } else {
                    let threshold = self.number("on_congestion", &answer, f64::INFINITY, THRESHOLD)?;
                    Answer { threshold, ..Answer::default() }
                }
            }
            (_, Some(on_event)) if !congested => {
                let answer = on_event.bind(py).call1((&self.event,))?;
                self.window("on_event", &answer)?
            }
            _ => return Ok(Answer { window: None, threshold: None, ..self.last }),
        };
        self.complete(py, now, said)
    }
}

impl Control for Controller {
    fn needs(&self) -> Needs {
        self.needs
    }

    fn on_ack(&mut self, sample: &AckSample, view: View) -> Answer {
        let otherwise = Answer { window: None, threshold: None, ..self.last };
        self.last = self.raised.guard(otherwise, |py| {
            *self.ack.borrow_mut(py) = Ack { sample: *sample, view };
            let answer = self.on_ack.bind(py).call1((&self.ack,))?;
            let said = self.window("on_ack", &answer)?;
            self.complete(py, sample.now, said)
        });
        self.last
    }

    fn on_event(&mut self, now: Time, event: &congestion::Event, view: View) -> Answer {
        let otherwise = Answer { window: None, threshold: None, ..self.last };
        let congested = matches!(event, congestion::Event::Congestion(_));
        if if congested { self.on_congestion.is_none() } else { self.on_event.is_none() } {
            return otherwise;
        }
        // The code has failed: no call renews a time that is past.
        let otherwise = Answer { timeout: otherwise.timeout.filter(|at| *at > now), ..otherwise };
        self.last = self.raised.guard(otherwise, |py| {
            *self.event.borrow_mut(py) = Event { now, event: *event, view };
            self.tell(py, now)
        });
        self.last
    }
}
