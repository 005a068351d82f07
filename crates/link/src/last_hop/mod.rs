//! The machine of the last hop: scheduler, transmitter, HARQ and reordering.
//!
//! Its methods call those in `sending.rs`, which choose the next burst; those in `handover.rs` and `late.rs` call both.
//! The other files hold its parts, of which none calls the machine.

mod config;
mod counters;
mod decisions;
mod fifo;
mod handover;
mod late;
mod numbering;
mod queued;
mod sending;
mod transfer;
mod transit;
mod transmitter;
mod waits;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use channel::{Channel, TransmissionLaw};
use rand::Rng;
use units::{BitRate, Db, Duration, FieldError, RateOverTime, Time};

use crate::buffer::Backlog;
use crate::estimate::Estimates;
use crate::harq::{Burst, Decoding, FeedbackMessage, Harq, HarqCounters};
use crate::packet::{DropReason, FlowNumbers, Output, PacketRef};
use crate::propagation::Propagation;
use crate::queue::{Queue, QueueConfig};
use crate::reordering::{Reordering, ReorderingCounters};
use crate::report::{HarqReport, LastHopReport, ReorderingReport};
use crate::scheduler::choose::Choose;
use crate::scheduler::classes::Classes;
use crate::scheduler::{Parts, Scheduler, SchedulerConfig};
use crate::segmentation::Segmentation;
pub use config::LastHopConfig;
use counters::Counters;
use fifo::Fifo;
use numbering::Numbering;
use queued::Queued;
pub use transfer::Transfer;
use transit::Transit;
use transmitter::Transmitter;

/// See [`LastHopConfig`].
///
/// Call [`LastHop::handle_packet`] for each packet and [`LastHop::handle_timeout`] at [`LastHop::poll_timeout`], and
/// take [`LastHop::poll_output`] after either until it is empty. Events between two calls are handled at their own
/// time, so a late call delays outputs but not the transmitter.
pub struct LastHop {
    queued: Queued,
    transmitter: Transmitter,
    propagation: Propagation,
    /// The delay of feedback; `None` for the delay of the link.
    feedback_delay: Option<Duration>,
    harq: Box<dyn Harq>,
    wants_estimate: bool,
    estimates: Estimates,
    channels: Vec<Box<dyn Channel>>,
    decisions: decisions::Decisions,
    reordering: Reordering,
    /// Between scheduler and scheme, and behind the reordering buffer, if packets are cut.
    segmentation: Option<Box<Segmentation>>,
    numbering: Numbering,
    /// The next event; [`Time::MAX`] without any.
    next: Time,
    /// Whether a retransmission waits for the transmitter.
    repeats: bool,
    /// When the transmitter chooses a packet again: when it is free, if packets wait for it; else [`Time::MAX`].
    looks_at: Time,
    /// Whether bursts may overtake others, because the delay changes.
    overtaking: bool,
    /// The least delay over the run.
    least_delay: Duration,
    /// Bursts in flight to the users.
    bursts: Transit<Flight>,
    /// Feedback in flight to the satellite.
    feedback: Transit<FeedbackMessage>,
    outputs: VecDeque<Output>,
    /// When the outputs left, for [`LastHop::poll_output_by`].
    left_at: Time,
    counters: Counters,
    /// Whether somebody outside chooses packets, who is to be asked when they are chosen.
    asks_outside: bool,
    /// Takes the place of scheduler and bursts while it is there.
    fifo: Option<Fifo>,
}

#[derive(Clone, Copy)]
struct Flight {
    snr: Db,
    burst: Burst,
    /// Whether the users have turned to another satellite, or have none.
    missed: bool,
}

impl LastHop {
    /// An idle last hop to one user for each of `channels`.
    ///
    /// `propagation`: that of the configuration, or computed from the orbit. `base_rtt`: the flows' round-trip time
    /// without queueing, for buffers in bandwidth-delay products. `law`: the law of [`LastHopConfig::law_request`].
    /// `streams`: makes a generator for a purpose and a number: `harq` for each user, and `queue` for each queue.
    /// `choosers`: finds a script's scheduler by its name; called once for each.
    ///
    /// # Errors
    /// As [`LastHopConfig::check`], and if no script has registered the scheduler named.
    ///
    /// # Panics
    /// If a law is needed and not given.
    pub fn new(
        config: &LastHopConfig,
        propagation: Propagation,
        base_rtt: Duration,
        channels: Vec<Box<dyn Channel>>,
        law: Option<&TransmissionLaw>,
        streams: impl Fn(&'static str, u64) -> Box<dyn Rng + Send> + Clone + Send + 'static,
        choosers: &mut dyn FnMut(&str) -> Option<Box<dyn Choose>>,
    ) -> Result<LastHop, FieldError> {
        let users = channels.len();
        config.check(base_rtt, users)?;
        let link = config.facts(base_rtt, users);
        let mut asks_outside = false;
        let mut choosers = |name: &str| {
            asks_outside = true;
            choosers(name)
        };
        let of_users = streams.clone();
        let harq = config.harq.entry().build(law, Box::new(move |user| of_users("harq", user)))?;
        let mut numbers = 0..;
        let mut scheduler = |scheduler: &SchedulerConfig, manager: &QueueConfig| {
            let mut queue = |limit| {
                let rng = streams("queue", numbers.next().expect("endless"));
                Queue::new(limit, manager.entry().build(&link, rng))
            };
            scheduler
                .entry()
                .build(&mut Parts { link: &link, queue: &mut queue, choosers: &mut choosers })
                .map_err(|error| error.within("scheduler"))
        };
        let last = scheduler(&config.scheduler, &config.queue)?;
        let classes = config.classes.iter().enumerate().map(|(i, class)| {
            scheduler(&class.scheduler, &class.queue).map_err(|error| error.within(&format!("classes.{i}")))
        });
        let mut classes: Vec<Box<dyn Scheduler>> = classes.collect::<Result<_, _>>()?;
        let scheduler = if classes.is_empty() {
            last
        } else {
            classes.push(last);
            Box::new(Classes::new(classes))
        };
        let reordering = Reordering::new(config.reordering.clone(), users);
        let estimates = Estimates::new(&config.estimate, users);
        let mut hop =
            LastHop::from_parts(config.mean_rate(), propagation, scheduler, harq, reordering, estimates, channels);
        hop.asks_outside = asks_outside;
        hop.feedback_delay = config.harq.entry().feedback_delay().or(hop.feedback_delay);
        let cutting = config.segmentation.as_ref().zip(config.harq.entry().max_packet_bytes());
        hop.segmentation = cutting.map(|(cutting, block)| Box::new(Segmentation::new(cutting, block)));
        Ok(hop)
    }

    /// A last hop of given parts, for experiments with a scheduler that is not in the registry.
    pub fn from_parts(
        rate: BitRate,
        propagation: Propagation,
        scheduler: Box<dyn Scheduler>,
        harq: Box<dyn Harq>,
        reordering: Reordering,
        estimates: Estimates,
        channels: Vec<Box<dyn Channel>>,
    ) -> LastHop {
        let fifo = fifo_of(scheduler.as_ref(), &propagation, harq.as_ref(), &reordering, &channels);
        LastHop {
            queued: Queued::new(scheduler),
            transmitter: Transmitter::new(rate),
            feedback_delay: propagation.constant(),
            overtaking: propagation.constant().is_none(),
            least_delay: propagation.least(),
            propagation,
            wants_estimate: harq.wants_estimate(),
            harq,
            estimates,
            decisions: decisions::Decisions::of(&channels),
            channels,
            reordering,
            segmentation: None,
            numbering: Numbering::default(),
            next: Time::MAX,
            repeats: false,
            looks_at: Time::MAX,
            bursts: Transit::default(),
            feedback: Transit::default(),
            outputs: VecDeque::new(),
            left_at: Time::ZERO,
            counters: Counters::default(),
            asks_outside: false,
            fifo,
        }
    }

    /// From the start of the run the transmitter has these rates.
    pub fn vary_rate(&mut self, rates: Arc<RateOverTime>) {
        self.transmitter.rates = Some(rates);
        // A burst's end is no longer known by its size.
        self.fifo = None;
    }

    /// From the start of the run on, waits are noted: [`LastHop::poll_wait`] is to be asked after each call. Nothing
    /// else changes.
    pub fn note_waits(&mut self) {
        self.queued.waits = Some(Box::default());
        self.fifo = None;
    }

    /// Whether waits are noted.
    pub fn notes_waits(&self) -> bool {
        self.queued.waits.is_some()
    }

    /// The next packet whose first transmission has started, and how long it had waited for the transmitter.
    #[inline]
    pub fn poll_wait(&mut self) -> Option<(PacketRef, Duration)> {
        self.queued.waits.as_mut()?.poll()
    }

    /// Whether [`LastHop::handle_numbered`] is to be called in place of [`LastHop::handle_packet`].
    #[inline]
    pub fn wants_numbers(&self) -> bool {
        self.reordering.wants_numbers()
    }

    /// A packet arrives at the satellite, which has these numbers in its flow.
    pub fn handle_numbered(&mut self, now: Time, packet: PacketRef, numbers: FlowNumbers) {
        self.reordering.note_numbers(&packet, numbers);
        self.handle_packet(now, packet);
    }

    /// A packet arrives at the satellite.
    #[inline(always)]
    pub fn handle_packet(&mut self, now: Time, packet: PacketRef) {
        debug_assert!((packet.user as usize) < self.channels.len(), "no such user: {packet:?}");
        self.counters.offered_packets += 1;
        self.counters.offered_bytes += u64::from(packet.size);
        let Some(fifo) = &mut self.fifo else { return self.schedule_packet(now, packet) };
        match fifo.enqueue(now, packet, &mut self.transmitter) {
            Ok(waiting) => self.counters.on_queued(waiting),
            Err(reason) => self.outputs.push_back(Output::Dropped(packet, reason)),
        }
    }

    fn schedule_packet(&mut self, now: Time, packet: PacketRef) {
        if self.next <= now {
            self.work_off(now);
        }
        self.left_at = now;
        if self.queued.rests && self.transmitter.free_at < now && !self.pending() {
            self.queued.rest();
        }
        let queued = self.queued.enqueue(now, packet);
        if let Err(reason) = queued {
            self.outputs.push_back(Output::Dropped(packet, reason));
        }
        self.queued.collect_dropped(&mut self.outputs);
        if queued.is_ok() {
            self.counters.on_queued(self.queued.packets());
        }
        // Otherwise it is sending, and looks at the end of that burst, whatever came.
        if self.looks_at == Time::MAX {
            self.transmit(now);
            self.next = self.next_event();
        }
    }

    /// Handles the events that are due.
    #[inline]
    pub fn handle_timeout(&mut self, now: Time) {
        self.work_until(now);
    }

    /// The handle of the next packet that has arrived, if no burst is simulated: it was neither dropped nor marked.
    /// [`LastHop::poll_output`] would return it, and returns all others.
    #[inline]
    pub fn poll_arrived(&mut self) -> Option<u32> {
        let packet = self.fifo.as_mut()?.pop_arrived()?;
        self.counters.on_delivered(&packet);
        Some(packet.id)
    }

    /// The next packet that left, delivered or dropped.
    #[inline]
    pub fn poll_output(&mut self) -> Option<Output> {
        // Packets arrived before the last one was dropped.
        if let Some(packet) = self.fifo.as_mut().and_then(Fifo::pop_arrived) {
            self.counters.on_delivered(&packet);
            return Some(Output::Delivered(packet));
        }
        let output = self.next_output()?;
        self.counters.on_output(&output);
        Some(output)
    }

    /// Whether [`LastHop::poll_output`] has nothing to tell, and waits are not noted.
    #[inline]
    pub fn is_silent(&self) -> bool {
        !self.fifo.as_ref().is_some_and(Fifo::has_arrived) && self.outputs.is_empty() && self.queued.waits.is_none()
    }

    /// When [`LastHop::handle_timeout`] is due.
    ///
    /// While bursts are in flight no packet leaves before the first of them arrives, and without one none before what
    /// is sent next may arrive; events until then are handled at their own time. So this is not the end of each burst,
    /// unless the scheduler may drop packets meanwhile.
    #[inline]
    pub fn poll_timeout(&self) -> Option<Time> {
        Some(self.next_due()).filter(|&due| due < Time::MAX)
    }

    /// As [`LastHop::poll_timeout`]; [`Time::MAX`] for none.
    #[inline]
    pub fn next_due(&self) -> Time {
        match &self.fifo {
            Some(fifo) => fifo.arrives_at,
            None if self.queued.gives_up => self.next,
            None if self.overtaking || self.bursts.next_arrival() == Time::MAX => self.next_arrival(),
            None => self.bursts.next_arrival(),
        }
    }

    /// The first arrival of a burst that is in flight, or the earliest of one that is sent later; [`Time::MAX`] if none
    /// is.
    #[inline(never)]
    fn next_arrival(&self) -> Time {
        let sent = self.looks_at.min(self.feedback.next_arrival());
        let later = if sent < Time::MAX { sent + self.least_delay } else { Time::MAX };
        self.bursts.next_arrival().min(later)
    }

    /// The next internal event, for callers that observe every burst: at or before [`LastHop::poll_timeout`].
    pub fn next_step(&self) -> Option<Time> {
        let simulated = || (self.next < Time::MAX).then_some(self.next);
        self.fifo.as_ref().map_or_else(simulated, Fifo::next_step)
    }

    /// Packets that came in and were not polled as an output.
    pub fn in_flight(&self) -> usize {
        let queued = self.queued.packets() + self.fifo.as_ref().map_or(0, |fifo| fifo.packets.len());
        match &self.segmentation {
            Some(segmentation) => queued + segmentation.in_flight(&self.outputs),
            None => queued + self.harq.undecided() + self.reordering.stored() + self.outputs.len(),
        }
    }

    /// The packets that wait for the transmitter.
    pub fn queue(&self) -> Backlog {
        self.fifo.as_ref().map_or_else(|| self.queued.scheduler().backlog(), Fifo::waiting)
    }

    /// The end of the burst that the transmitter is sending; in the past if it is idle.
    pub fn sending_until(&self) -> Time {
        self.begun().sending_until()
    }

    /// Coded bits of the bursts sent so far, the one being sent included.
    pub fn coded_bits(&self) -> u64 {
        self.begun().coded_bits
    }

    /// The same by `end`, of the burst being sent those that were sent by then.
    pub fn coded_bits_by(&self, end: Time) -> f64 {
        self.begun().coded_bits_by(end)
    }

    /// The transmitter without bursts that have not begun.
    fn begun(&self) -> Cow<'_, Transmitter> {
        let mut transmitter = Cow::Borrowed(&self.transmitter);
        if let Some(fifo) = &self.fifo {
            fifo.take_back(transmitter.to_mut());
        }
        transmitter
    }

    /// The counters of the reliability scheme.
    pub fn harq(&self) -> Cow<'_, HarqCounters> {
        let mut counters = Cow::Borrowed(self.harq.counters());
        if let Some(fifo) = &self.fifo {
            let (started, arrived) = self.counters.uncounted(fifo.started);
            counters.to_mut().on_clear(started, arrived);
        }
        counters
    }

    /// The counters of the reordering buffers.
    pub fn reordering(&self) -> &ReorderingCounters {
        self.reordering.counters()
    }

    /// The attenuation of a user's channel; see [`Channel::attenuation`]. `now` never goes back; call
    /// [`LastHop::handle_timeout`] with it first.
    pub fn attenuation(&mut self, now: Time, user: u32) -> Option<Db> {
        self.channels[user as usize].attenuation(now)
    }

    /// The summary of a run that took `elapsed` from [`Time::ZERO`].
    pub fn report(&self, elapsed: Duration) -> LastHopReport {
        let counters = &self.counters;
        let end = Time::ZERO + elapsed;
        let coded_bits = self.coded_bits_by(end);
        let segmentation = self.segmentation.as_ref().map(|segmentation| segmentation.counters());
        let useful_bits = segmentation.map_or(self.harq().useful_bits, |counters| counters.useful_bits) as f64;
        LastHopReport {
            offered_packets: counters.offered_packets,
            offered_bytes: counters.offered_bytes,
            delivered_packets: counters.delivered_packets,
            delivered_bytes: counters.delivered_bytes,
            dropped: counters.dropped,
            handovers: counters.handovers,
            marked_packets: self.queued.scheduler().marked(),
            overruled_choices: Some(self.queued.scheduler().overruled()).filter(|&choices| choices > 0),
            cut_packets: segmentation.map(|counters| counters.cut_packets),
            in_flight: self.in_flight(),
            queue_packets_max: counters.queue_packets_max,
            coded_bps: elapsed.per_second(coded_bits),
            useful_bps: elapsed.per_second(useful_bits),
            spectral_efficiency: (coded_bits > 0.0).then(|| useful_bits / coded_bits),
            utilisation: elapsed.per_second(self.begun().busy_by(end).as_secs_f64()),
            stalled_ratio: elapsed.per_second(self.transmitter.stalled_by(end).as_secs_f64()),
            harq: HarqReport::new(&self.harq()),
            reordering: ReorderingReport::new(self.reordering.counters()),
        }
    }

    #[inline(always)]
    fn work_until(&mut self, now: Time) {
        if let Some(fifo) = &mut self.fifo {
            return fifo.work_until(now);
        }
        if self.next <= now {
            self.work_off(now);
        }
        self.estimates.advance(now, &mut self.channels);
    }

    /// Handles the events up to `now`.
    #[inline(never)]
    fn work_off(&mut self, now: Time) {
        while self.next <= now && self.next < Time::MAX {
            self.work_at(self.next);
            self.next = self.next_event();
        }
    }

    /// Handles arrivals and reports up to `now`, without the transmitter at `now`.
    #[cold]
    fn arrive_until(&mut self, now: Time) {
        while self.next < now {
            self.work_at(self.next);
            self.next = self.next_event();
        }
        let free_at = std::mem::replace(&mut self.transmitter.free_at, Time::MAX);
        self.work_at(now);
        self.transmitter.free_at = free_at;
        self.estimates.advance(now, &mut self.channels);
    }

    /// The next arrival at either end, or the end of the burst if packets wait for it; [`Time::MAX`] without any.
    #[inline]
    fn next_event(&self) -> Time {
        self.bursts.next_arrival().min(self.feedback.next_arrival()).min(self.looks_at)
    }

    /// Handles the events at `now`: receptions, then feedback, then the transmitter, whose choice depends on both.
    #[inline(always)]
    fn work_at(&mut self, now: Time) {
        self.receive(now);
        while let Some(feedback) = self.feedback.pop_due(now) {
            self.repeats = self.harq.handle_feedback(now, feedback);
        }
        self.transmit(now);
    }

    #[inline(always)]
    fn receive(&mut self, now: Time) {
        // The burst is read in place, because it is large.
        while let Some(Flight { snr, burst, missed }) = self.bursts.due(now) {
            let Burst { coded, packet, sequence } = burst;
            let reception = self.harq.receive(now, burst, *snr);
            // A user that has missed a burst sends no feedback.
            if let Some(feedback) = reception.feedback
                && !missed
            {
                let delay = self.feedback_delay.unwrap_or_else(|| self.propagation.delay(now));
                self.feedback.push(now + delay, coded.feedback(feedback));
            }
            self.decisions.follow(packet, *sequence, reception.decoding);
            match reception.decoding {
                Decoding::Undecided => {}
                Decoding::Decoded => self.reordering.handle_decoded(now, packet, *sequence, &mut self.outputs),
                Decoding::Failed => {
                    self.outputs.push_back(Output::Dropped(*packet, DropReason::Harq));
                    self.reordering.handle_failed(now, packet, *sequence, &mut self.outputs);
                }
            }
            self.bursts.remove_next_message();
        }
    }

    /// The next packet behind the reordering buffer, put together where it was cut.
    #[inline]
    fn next_output(&mut self) -> Option<Output> {
        if self.segmentation.is_some() { self.next_whole() } else { self.outputs.pop_front() }
    }

    #[inline(never)]
    fn next_whole(&mut self) -> Option<Output> {
        let segmentation = self.segmentation.as_mut()?;
        loop {
            if let Some(whole) = segmentation.merge(self.outputs.pop_front()?) {
                return Some(whole);
            }
        }
    }
}

/// The queue of a last hop of these parts whose bursts are entered, not simulated; `None` if they have to be.
fn fifo_of(
    scheduler: &dyn Scheduler,
    propagation: &Propagation,
    harq: &dyn Harq,
    reordering: &Reordering,
    channels: &[Box<dyn Channel>],
) -> Option<Fifo> {
    let (limit, delay) = (scheduler.fifo_limit()?, propagation.constant()?);
    let clear = harq.sends_uncoded() && channels.iter().all(|channel| channel.is_clear());
    let waits = reordering.wants_numbers(); // a gap that a full queue made is waited for
    (clear && !waits).then(|| Fifo::new(limit, delay))
}
