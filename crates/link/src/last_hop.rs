//! The machine of the last hop: scheduler, transmitter, HARQ and reordering.

mod config;
mod counters;
mod decisions;
mod entered;
mod fifo;
mod handover;
mod pause;
mod transit;
mod transmitter;
mod waits;

use std::collections::VecDeque;
use std::sync::Arc;

use channel::{Channel, TransmissionLaw};
use rand::Rng;
use units::{BitRate, Db, Duration, FieldError, RateOverTime, Time};

use crate::buffer::Backlog;
use crate::estimate::Estimates;
use crate::harq::{Burst, Feedback, Harq, Verdict};
use crate::packet::{DropReason, FlowNumbers, Output, PacketRef};
use crate::propagation::Propagation;
use crate::queue::{Queue, QueueConfig};
use crate::reordering::{Reordering, ReorderingCounters};
use crate::report::{HarqReport, LastHopReport, ReorderingReport, per_second};
use crate::scheduler::choose::Choose;
use crate::scheduler::classes::Classes;
use crate::scheduler::{Parts, Scheduler, SchedulerConfig};
use crate::segmentation::Segmentation;
pub use config::{LastHopConfig, LawRequest};
use counters::Counters;
use fifo::Fifo;
use pause::Pause;
pub use pause::Transfer;
use transit::Transit;
use waits::Waits;

/// See [`LastHopConfig`].
///
/// Call [`LastHop::handle_packet`] for each packet and [`LastHop::handle_timeout`] at [`LastHop::poll_timeout`], and
/// take [`LastHop::poll_output`] after either until it is empty. Events between two calls are handled at their own
/// time, so a late call delays outputs but not the transmitter.
pub struct LastHop {
    rate: BitRate,
    /// The transmitter's rates over time, in place of `rate`.
    rates: Option<Arc<RateOverTime>>,
    propagation: Propagation,
    /// The delay of feedback; `None` for the delay of the link.
    feedback_delay: Option<Duration>,
    scheduler: Box<dyn Scheduler>,
    harq: Box<dyn Harq>,
    wants_estimate: bool,
    estimates: Estimates,
    channels: Vec<Box<dyn Channel>>,
    decisions: decisions::Decisions,
    reordering: Reordering,
    /// Between scheduler and scheme, and behind the reordering buffer, if packets are cut.
    segmentation: Option<Box<Segmentation>>,
    /// The number of the next packet of each flow.
    numbering: Vec<u64>,
    /// Packets in the scheduler.
    queued: usize,
    /// When the transmitter may begin a burst: the present one is sent, and a satellite serves. [`Time::MAX`] without a
    /// satellite.
    free_at: Time,
    pause: Pause,
    /// The next event; [`Time::MAX`] without any.
    next: Time,
    /// Whether a repetition waits for the transmitter.
    repeats: bool,
    /// When the transmitter chooses a packet again: when it is free, if packets wait for it; else [`Time::MAX`].
    looks_at: Time,
    /// The instant since which packets wait of which none may start; [`Time::MAX`] if there are none.
    stalled_since: Time,
    /// Whether the scheduler may drop packets that it took.
    gives_up: bool,
    /// Whether bursts may overtake others, because the delay changes.
    overtaking: bool,
    /// The least delay over the run.
    least_delay: Duration,
    /// The last burst length and its transmission time: most bursts have the same length, and this saves a division.
    last_tx: (u32, Duration),
    /// Bursts in flight to the users.
    bursts: Transit<Flight>,
    /// Feedback in flight to the satellite.
    feedback: Transit<Feedback>,
    outputs: VecDeque<Output>,
    counters: Counters,
    /// Takes the place of scheduler and bursts while it is there.
    fifo: Option<Fifo>,
    /// How long packets wait, if [`LastHop::note_waits`] was called.
    waits: Option<Box<Waits>>,
}

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
    /// `streams`: makes a generator for a purpose and a number: `harq`, and `queue` for each queue. `choosers`: finds a
    /// user's scheduler by its name; called once for each.
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
        streams: &mut dyn FnMut(&'static str, u64) -> Box<dyn Rng + Send>,
        choosers: &mut dyn FnMut(&str) -> Option<Box<dyn Choose>>,
    ) -> Result<LastHop, FieldError> {
        let users = channels.len();
        config.check(base_rtt, users)?;
        let link = config.facts(base_rtt, users);
        let harq = config.harq.entry().build(law, streams("harq", 0))?;
        let mut numbers = 0..;
        let mut scheduler = |scheduler: &SchedulerConfig, manager: &QueueConfig| {
            let mut queue = |limit| {
                let rng = streams("queue", numbers.next().expect("endless"));
                Queue::new(limit, manager.entry().build(&link, rng).expect("checked above"))
            };
            scheduler
                .entry()
                .build(&mut Parts { link: &link, queue: &mut queue, choosers: &mut *choosers })
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
        let (gives_up, wants_estimate) = (scheduler.gives_up(), harq.wants_estimate());
        let mut hop = LastHop {
            rate,
            rates: None,
            feedback_delay: propagation.constant(),
            overtaking: propagation.constant().is_none(),
            least_delay: propagation.least(),
            propagation,
            scheduler,
            harq,
            wants_estimate,
            estimates,
            decisions: decisions::Decisions::of(&channels),
            channels,
            reordering,
            segmentation: None,
            numbering: Vec::new(),
            queued: 0,
            free_at: Time::ZERO,
            pause: Pause::default(),
            next: Time::MAX,
            repeats: false,
            looks_at: Time::MAX,
            stalled_since: Time::MAX,
            gives_up,
            last_tx: (0, Duration::ZERO),
            bursts: Transit::new(),
            feedback: Transit::new(),
            outputs: VecDeque::new(),
            counters: Counters::default(),
            fifo: None,
            waits: None,
        };
        hop.fifo = hop.enters_bursts();
        hop
    }

    /// From the start of the run the transmitter has these rates.
    pub fn follow(&mut self, rates: Arc<RateOverTime>) {
        self.rates = Some(rates);
        // A burst's end is no longer known by its size.
        self.fifo = None;
    }

    /// From the start of the run on, waits are noted: [`LastHop::poll_wait`] is to be asked after each call. Nothing
    /// else changes.
    pub fn note_waits(&mut self) {
        self.waits = Some(Box::default());
        self.fifo = None;
    }

    /// Whether waits are noted.
    pub fn notes_waits(&self) -> bool {
        self.waits.is_some()
    }

    /// The next packet whose first transmission has begun, and how long it had waited for the transmitter.
    #[inline]
    pub fn poll_wait(&mut self) -> Option<(PacketRef, Duration)> {
        self.waits.as_mut()?.poll()
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
        if self.fifo.is_some() {
            return self.handle_fifo_packet(now, packet);
        }
        self.schedule_packet(now, packet);
    }

    fn schedule_packet(&mut self, now: Time, packet: PacketRef) {
        self.work_until(now);
        self.counters.offered_packets += 1;
        self.counters.offered_bytes += u64::from(packet.size);
        match self.scheduler.enqueue(now, packet) {
            Ok(()) => {
                if let Some(waits) = &mut self.waits {
                    waits.on_arrival(now, &packet);
                }
                self.queued += 1;
                self.counters.queue_packets_max = self.counters.queue_packets_max.max(self.queued);
            }
            Err(reason) => self.outputs.push_back(Output::Dropped(packet, reason)),
        }
        self.collect_dropped();
        self.transmit(now);
        self.next = self.next_event();
    }

    /// Handles the events that are due.
    #[inline]
    pub fn handle_timeout(&mut self, now: Time) {
        self.work_until(now);
    }

    /// The next packet that left, delivered or dropped.
    #[inline]
    pub fn poll_output(&mut self) -> Option<Output> {
        // Packets arrived before the last one was dropped.
        let output = match self.poll_fifo() {
            Some(packet) => Output::Delivered(packet),
            None => self.next_output()?,
        };
        self.counters.on_output(&output);
        Some(output)
    }

    /// Whether [`LastHop::poll_wait`] and [`LastHop::poll_output`] have nothing to tell.
    #[inline]
    pub fn is_silent(&self) -> bool {
        !self.fifo.as_ref().is_some_and(Fifo::has_arrived) && self.outputs.is_empty() && self.waits.is_none()
    }

    /// When [`LastHop::handle_timeout`] is due.
    ///
    /// While bursts are in flight no packet leaves before the first of them arrives, and events until then are handled
    /// at their own time. So this is not the end of each burst, unless the scheduler may drop packets meanwhile.
    #[inline]
    pub fn poll_timeout(&self) -> Option<Time> {
        if let Some(fifo) = &self.fifo {
            return fifo.next_arrival();
        }
        if self.gives_up {
            return self.next_step();
        }
        if self.overtaking {
            return self.poll_overtaking();
        }
        let arrival = self.bursts.next();
        if arrival < Time::MAX { Some(arrival) } else { self.next_step() }
    }

    /// The same where the next burst may arrive before an earlier one.
    #[inline(never)]
    fn poll_overtaking(&self) -> Option<Time> {
        let arrival = self.bursts.next();
        if arrival == Time::MAX {
            return self.next_step();
        }
        let sent = self.looks_at.min(self.feedback.next());
        Some(if sent < Time::MAX { arrival.min(sent + self.least_delay) } else { arrival })
    }

    /// The next internal event, for callers that observe every burst: at or before [`LastHop::poll_timeout`].
    pub fn next_step(&self) -> Option<Time> {
        let simulated = || (self.next < Time::MAX).then_some(self.next);
        self.fifo.as_ref().map_or_else(simulated, Fifo::next_step)
    }

    /// Packets that came in and were not polled as an output.
    pub fn in_flight(&self) -> usize {
        match &self.segmentation {
            Some(segmentation) => self.queued + segmentation.in_flight(&self.outputs),
            None => self.queued + self.undecided() + self.reordering.stored() + self.outputs.len(),
        }
    }

    /// The packets that wait for the transmitter.
    pub fn queue(&self) -> Backlog {
        self.fifo.as_ref().map_or_else(|| self.scheduler.backlog(), Fifo::waiting)
    }

    /// Coded bits of the bursts sent so far, the one being sent included.
    pub fn coded_bits(&self) -> u64 {
        self.counters.coded_bits
    }

    /// The counters of the reordering buffers.
    pub fn reordering(&self) -> &ReorderingCounters {
        self.reordering.counters()
    }

    /// The attenuation of a user's channel; see [`Channel::attenuation`]. `now` never goes back, nor before it: call
    /// [`LastHop::handle_timeout`] with it first.
    pub fn attenuation(&mut self, now: Time, user: u32) -> Option<Db> {
        self.channels[user as usize].attenuation(now)
    }

    /// The summary of a run that took `elapsed` from [`Time::ZERO`].
    pub fn report(&self, elapsed: Duration) -> LastHopReport {
        let counters = &self.counters;
        // The part of the last burst that is still to be sent when the run ends.
        let unsent = self.sending_until().since(Time::ZERO + elapsed);
        let end = Time::ZERO + elapsed;
        let unsent_bits = match &self.rates {
            Some(rates) => rates.bits(end, end + unsent),
            None => unsent.as_secs_f64() * self.rate.as_bps() as f64,
        };
        let coded_bits = (counters.coded_bits as f64 - unsent_bits).max(0.0);
        let segmentation = self.segmentation.as_ref().map(|segmentation| segmentation.counters());
        let useful_bits = segmentation.map_or(self.harq().useful_bits, |counters| counters.useful_bits) as f64;
        LastHopReport {
            offered_packets: counters.offered_packets,
            offered_bytes: counters.offered_bytes,
            delivered_packets: counters.delivered_packets,
            delivered_bytes: counters.delivered_bytes,
            dropped: counters.dropped,
            handovers: counters.handovers,
            marked_packets: self.scheduler.marked(),
            overruled_choices: Some(self.scheduler.overruled()).filter(|&choices| choices > 0),
            cut_packets: segmentation.map(|counters| counters.cut_packets),
            in_flight: self.in_flight(),
            queue_packets_max: counters.queue_packets_max,
            coded_bps: per_second(coded_bits, elapsed),
            useful_bps: per_second(useful_bits, elapsed),
            spectral_efficiency: (coded_bits > 0.0).then(|| useful_bits / coded_bits),
            utilisation: per_second(counters.busy.saturating_sub(unsent).as_secs_f64(), elapsed),
            stalled_ratio: per_second(
                (counters.stalled + (Time::ZERO + elapsed).since(self.stalled_since)).as_secs_f64(),
                elapsed,
            ),
            harq: HarqReport::new(&self.harq()),
            reordering: ReorderingReport::new(self.reordering.counters()),
        }
    }

    #[inline(always)]
    fn work_until(&mut self, now: Time) {
        if self.fifo.is_some() {
            return self.work_fifo_until(now);
        }
        while self.next <= now && self.next < Time::MAX {
            self.work_at(self.next);
            self.next = self.next_event();
        }
        self.estimates.advance(now, &mut self.channels);
    }

    /// Handles arrivals up to `now`, without the transmitter at `now`.
    #[cold]
    fn arrive_until(&mut self, now: Time) {
        while self.next < now {
            self.work_at(self.next);
            self.next = self.next_event();
        }
        let free_at = std::mem::replace(&mut self.free_at, Time::MAX);
        self.work_at(now);
        self.free_at = free_at;
    }

    /// The next arrival at either end, or the end of the burst if packets wait for it; [`Time::MAX`] without any.
    #[inline]
    fn next_event(&self) -> Time {
        self.bursts.next().min(self.feedback.next()).min(self.looks_at)
    }

    /// Handles the events at `now`: receptions, then feedback, then the transmitter, whose choice depends on both.
    fn work_at(&mut self, now: Time) {
        self.estimates.advance(now, &mut self.channels);
        self.receive(now);
        while let Some(feedback) = self.feedback.pop_due(now) {
            self.harq.handle_feedback(now, feedback);
            self.repeats = self.harq.has_burst();
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
            if let Some(answer) = reception.answer
                && !missed
            {
                let delay = self.feedback_delay.unwrap_or_else(|| self.propagation.delay(now));
                self.feedback.push(now + delay, coded.answered(answer));
            }
            self.decisions.follow(packet, *sequence, reception.verdict);
            match reception.verdict {
                Verdict::Undecided => {}
                Verdict::Decoded => self.reordering.handle_decoded(now, packet, *sequence, &mut self.outputs),
                Verdict::Failed => {
                    self.outputs.push_back(Output::Dropped(*packet, DropReason::Harq));
                    self.reordering.handle_failed(now, packet, *sequence, &mut self.outputs);
                }
            }
            self.bursts.pop();
        }
    }

    /// Whether something waits for its first transmission.
    #[inline]
    fn pending(&self) -> bool {
        self.queued > 0 || self.segmentation.as_ref().is_some_and(|segmentation| segmentation.is_cutting())
    }

    /// The next packet behind the reordering buffer, put together where it was cut.
    #[inline]
    fn next_output(&mut self) -> Option<Output> {
        let Some(segmentation) = &mut self.segmentation else { return self.outputs.pop_front() };
        loop {
            if let Some(whole) = segmentation.merge(self.outputs.pop_front()?) {
                return Some(whole);
            }
        }
    }

    /// The number of the next packet of a flow.
    #[inline]
    fn number(&mut self, flow: u32) -> u64 {
        if flow as usize >= self.numbering.len() {
            self.numbering.resize(flow as usize + 1, 0);
        }
        let number = &mut self.numbering[flow as usize];
        *number += 1;
        *number - 1
    }

    /// Takes the packets that the scheduler dropped.
    fn collect_dropped(&mut self) {
        while self.gives_up
            && let Some((packet, reason)) = self.scheduler.poll_dropped()
        {
            self.queued -= 1;
            self.outputs.push_back(Output::Dropped(packet, reason));
        }
    }
}
