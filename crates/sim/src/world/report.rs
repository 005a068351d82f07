//! From a world at its end to a record.

use std::io;
use std::path::Path;

use access::{Access, AccessReport};
use link::LastHopReport;
use traffic::{Experience, Needs};
use transport::{EndCause, Lifetime};
use units::{Db, Frequency, Time};

use super::connection::Connection;
use super::flow::Flow;
use super::place::Place;
use super::proxy::Proxy;
use super::run::World;
use crate::capture::{Capture, FlowEnds};
use crate::packet::Way;
use crate::plan::Plan;
use crate::record::drops::{Loss, PathLoss};
use crate::record::flow::FlowRecord;
use crate::record::flow_summary::{FlowFacts, mean_s};
use crate::record::recorder::Taps;
use crate::record::watch::Watch;
use crate::record::{
    ChannelSummary, Conservation, FlowSummary, PathSummary, PepSummary, Record, Summary, Table, UsersSummary,
};
use crate::scenario::ScenarioConfig;

impl World {
    /// From now on writes every packet into files in `directory`.
    ///
    /// # Errors
    /// A file cannot be created.
    pub(crate) fn record_packets(&mut self, directory: &Path, seed: u64) -> io::Result<()> {
        let flows = self.flows.iter().map(|flow| {
            let upload = self.kinds[flow.kind as usize].upload;
            FlowEnds { user: flow.user, upload, has_pep: flow.proxy.is_some() }
        });
        let capture = Capture::create(directory, seed, flows)?;
        self.taps().capture = Some(capture);
        Ok(())
    }

    /// Capture and watch. From now on packets pass last hops in time.
    fn taps(&mut self) -> &mut Taps {
        self.run_in_time(self.now);
        self.under.ledger.recorder.taps.get_or_insert_default()
    }

    /// From now on writes a log of each end of a connection that keeps one into `directory`, which is made for the
    /// first.
    ///
    /// # Errors
    /// A file cannot be created.
    pub(crate) fn keep_logs(&mut self, directory: &Path) -> io::Result<()> {
        self.connections.keep_logs(directory)
    }

    /// Completes the files of [`World::record_packets`] and [`World::keep_logs`], if there are any.
    ///
    /// # Errors
    /// The first error that any write met.
    pub(crate) fn complete_capture(&mut self) -> io::Result<()> {
        let now = self.now;
        self.connections.complete_logs()?;
        let capture = self.under.ledger.recorder.capture();
        capture.map_or(Ok(()), |capture| capture.finish(now))
    }

    /// From now on keeps events, and the packets that are sent from `from` on and before `until`.
    pub(crate) fn watch(&mut self, from: Time, until: Time) {
        self.taps().watch = Some(Watch::new(from, until));
    }

    /// The result of the run so far, which ends here.
    ///
    /// # Errors
    /// Packets appeared or vanished.
    pub(crate) fn record(mut self, plan: &Plan, seed: u64, partial: bool) -> Result<Record, String> {
        let config = plan.config();
        let now = self.now;
        // So that the counters are those of now.
        self.run_in_time(now);
        self.settle_last_hops(now);
        let conservation = self.conservation()?;
        let elapsed = self.now.since(Time::ZERO);
        let mut flows = self.end_flows();
        let place = self.place();
        let last_hop = place.last_hop.report(elapsed);
        let access = place.return_link.as_ref().map(|link| link.report(self.now));
        let series = self.under.ledger.recorder.series.as_ref();
        let series = series.map_or_else(Table::default, |series| series.table(last_hop.harq.decoded_after.len()));
        let summary = Summary {
            title: config.title.clone(),
            seed,
            simulated_s: elapsed.as_secs_f64(),
            partial,
            digest: self.under.ledger.recorder.digest().to_string(),
            inputs: plan.inputs().to_vec(),
            warnings: self.warnings_of(config, &flows, &last_hop, access.as_ref(), partial),
            last_hop,
            access,
            path: PathSummary::of(&place.path.trace().cut(now), elapsed, place.carrier),
            channel: ChannelSummary {
                kind: config.channel.kind(),
                reference_snr_db: place.reference_snr.map(Db::get),
                reference_varies: plan.model.reference_varies(),
                carrier_hz: place.carrier.map(Frequency::as_hz),
            },
            events: self.under.ledger.recorder.events(conservation.created),
            conservation,
            users: self.users_summary(&mut flows),
            flows: Vec::new(),
        };
        let (numbers, summary) = (summary.json(), Summary { flows: flows.summaries, ..summary });
        let watch = self.under.ledger.recorder.watch();
        let (events, more_events, packets) = watch.map_or_else(Default::default, |watch| {
            let (events, more) = watch.events();
            (events, more, watch.packets(self.now))
        });
        Ok(Record { series, events, more_events, packets, summary, numbers })
    }

    /// Counts every packet in two ways: by the world's ledger, and by asking the machines that hold packets.
    fn conservation(&self) -> Result<Conservation, String> {
        let dropped_by_reason = self.under.ledger.recorder.drops.by_reason();
        let dropped = dropped_by_reason.values().sum();
        let (created, delivered, in_flight) = (
            self.under.ledger.packets.created(),
            self.under.ledger.recorder.delivered,
            self.under.ledger.packets.in_flight(),
        );
        let held = self.under.network.in_flight();
        if created != delivered + dropped + in_flight || held as u64 != in_flight {
            return Err(format!(
                "{created} created, {delivered} delivered, {dropped} dropped, {in_flight} in flight, {held} held"
            ));
        }
        Ok(Conservation { created, delivered, dropped, in_flight, dropped_by_reason })
    }

    fn users_summary(&self, flows: &mut EndedFlows) -> UsersSummary {
        flows.users.sort_by_key(|&(user, ..)| user);
        let of_user = flows.users.chunk_by(|one, next| one.0 == next.0);
        let goodputs = of_user.map(|flows| {
            let first = flows.iter().map(|&(_, opened_at, _)| opened_at).min().expect("a user has a flow");
            let delivered: u64 = flows.iter().map(|&(.., delivered)| delivered).sum();
            self.now.since(first).per_second(delivered as f64 * 8.0)
        });
        UsersSummary::new(&goodputs.collect::<Vec<_>>())
    }

    fn warnings_of(
        &self,
        config: &ScenarioConfig,
        flows: &EndedFlows,
        last_hop: &LastHopReport,
        access: Option<&AccessReport>,
        partial: bool,
    ) -> Vec<String> {
        let mut warnings = self.warnings.clone();
        if partial {
            warnings.push(format!("stopped after {} of {}: a partial result", self.now, config.duration));
        }
        let without_route = self.under.ledger.recorder.drops.by(Loss::Path(PathLoss::NoRoute));
        if without_route > 0 {
            warnings.push(format!("{without_route} packets, data and acknowledgments, were lost for want of a route"));
        }
        let stranded = self.place().path.stranded;
        if stranded > 0 {
            warnings.push(format!("{stranded} packets wait for a route, and none comes any more"));
        }
        if last_hop.stalled_ratio > 0.05 {
            warnings.push(format!(
                "the last hop rested {:.0} % of the time although packets waited: all processes of its HARQ were taken",
                100.0 * last_hop.stalled_ratio
            ));
        }
        if let Some(overruled) = last_hop.overruled_choices {
            warnings.push(format!(
                "{overruled} times the scheduler of the script chose nobody who could be sent to: \
                 the first was served instead"
            ));
        }
        warnings.extend(config.access.as_ref().and_then(|access| access.idle_carriers()));
        warnings.extend(self.place().return_link.as_ref().and_then(|link| link.undecodable()));
        for (number, class) in (0..).zip(&config.last_hop.classes) {
            if !self.kinds.iter().any(|kind| kind.class == number) && !self.offered_classes.contains(&number) {
                warnings.push(format!("no flow belongs to the class \"{}\" of the last hop", class.name));
            }
        }
        warnings.extend(flows.cut_off());
        let of = self.flows.len();
        let opened = |id: u32| flows.opened_at[id as usize].is_some();
        if !partial {
            warnings.extend(self.unbegun(config, opened));
        }
        if flows.silent > 0 {
            let hint = access.map_or(String::new(), |access| random_access_hint(config, access));
            warnings.push(format!("{} of {of} flows delivered nothing{hint}", flows.silent));
        }
        warnings
    }

    /// A warning of flows whose application has not begun within the run. One that has may need fewer connections than
    /// it could use.
    fn unbegun(&self, config: &ScenarioConfig, opened: impl Fn(u32) -> bool) -> Option<String> {
        let of = self.flows.len();
        if of == 0 {
            return Some("no flow begins within the run".to_owned());
        }
        let mut begun = vec![false; self.applications.len()];
        for (id, flow) in (0..).zip(&self.flows) {
            begun[flow.application as usize] |= opened(id);
        }
        let unbegun = || self.flows.iter().filter(|flow| !begun[flow.application as usize]);
        let is_outside = |flow: &Flow| config.flows[flow.kind as usize].traffic.entry().needs() == Needs::Outside;
        let hint = match unbegun().all(is_outside) {
            true => ": their packets are those of hosts, in transorbit emulate and transorbit replay",
            false => "",
        };
        let count = unbegun().count();
        (count > 0).then(|| format!("{count} of {of} flows do not begin within the run{hint}"))
    }

    /// Summarises the flows one after the other, and gives up what each held: the memory of one serves the next.
    fn end_flows(&mut self) -> EndedFlows {
        self.under.ledger.tell_in_flight();
        let mut connections = std::mem::take(&mut self.connections).into_each();
        let records = std::mem::take(&mut self.under.ledger.recorder.flows);
        let mut ended = EndedFlows::with_capacity(records.len());
        for ((id, flow), mut record) in (0..).zip(&self.flows).zip(records) {
            let connection = connections[flow.connection as usize].take().expect("a flow has a connection of its own");
            record.end(&|sequence| connection.end(Way::Backward).endpoint().has_received(sequence));
            let split = flow.proxy.map(|proxy| {
                let proxy = &self.proxies[proxy as usize];
                let ground = connections[proxy.terrestrial() as usize].take().expect("so has a proxy");
                Split { proxy, ground }
            });
            ended.add(self.summarise(id, flow, &record, &connection, split), record.opened_at, connection.lifetimes());
        }
        ended
    }

    fn summarise(
        &self,
        id: u32,
        flow: &Flow,
        record: &FlowRecord,
        connection: &Connection,
        split: Option<Split<'_>>,
    ) -> Box<FlowSummary> {
        let kind = &self.kinds[flow.kind as usize];
        let sender = connection.end(Way::Forward).endpoint();
        let last = split.as_ref().filter(|_| kind.upload).map_or(connection, |split| &split.ground);
        let receiver = last.end(Way::Backward);
        FlowSummary::of(&FlowFacts {
            id,
            user: flow.user,
            upload: kind.upload,
            traffic: kind.traffic,
            transport: kind.transport_kind,
            congestion: kind.transport.congestion(),
            record,
            delays_s: record.delay.percentiles_s(),
            counters: sender.counters(),
            delivered_bytes: receiver.delivered_bytes(),
            size: self.applications[flow.application as usize].source.size(),
            now: self.now,
            closed: receiver.endpoint().has_been_closed(),
            finished: sender.has_finished(),
            access_kind: self.access_kind(record.accessed),
            experience: self.experience(id, flow, record).map(Box::new),
            lifetimes: connection.lifetimes(),
            pep: split.as_ref().map(Split::summary),
        })
    }

    /// Returns the report of the listener; of a flow without one that of the application, if this is the first of its
    /// flows.
    fn experience(&self, id: u32, flow: &Flow, record: &FlowRecord) -> Option<Experience> {
        if let Some(listener) = &record.listener {
            return listener.quality().map(Experience::Voice);
        }
        let application = &self.applications[flow.application as usize];
        let lost = record.lost_datagrams.map(u64::from);
        if application.first_flow == id { application.source.experience(self.now, lost) } else { None }
    }

    /// The only place, so far.
    fn place(&self) -> &Place {
        &self.under.network.places[0]
    }

    /// The access methods that a flow's packets used, random access before dedicated.
    fn access_kind(&self, accessed: [bool; 2]) -> Option<String> {
        let link = self.place().return_link.as_ref()?;
        let used = [Access::Random, Access::Dedicated].into_iter().filter(|&access| accessed[access as usize]);
        let names: Vec<&str> = used.map(|access| link.name_of(access)).collect();
        (!names.is_empty()).then(|| names.join("+"))
    }
}

/// A flow's proxy, and its connection on the ground.
struct Split<'a> {
    proxy: &'a Proxy,
    ground: Connection,
}

impl Split<'_> {
    fn summary(&self) -> PepSummary {
        let Split { proxy, ground } = self;
        let counters = ground.end(Way::Forward).endpoint().counters();
        PepSummary {
            congestion: proxy.congestion.to_string(),
            sent_packets: counters.data_segments_sent,
            retransmitted_packets: counters.retransmitted_segments,
            rto_events: counters.rto_events,
            rtt_mean_s: mean_s(counters.rtt_sum, counters.rtt_samples),
            relayed_bytes: proxy.relayed_bytes(Way::Forward),
            returned_bytes: proxy.relayed_bytes(Way::Backward),
            held_bytes_max: proxy.held_bytes_max(),
        }
    }
}

/// What is known of the flows after a run.
struct EndedFlows {
    /// One by one, in memory that the flows before gave up.
    #[expect(clippy::vec_box, reason = "a list of a million summaries takes memory of its own")]
    summaries: Vec<Box<FlowSummary>>,
    /// When each was opened.
    opened_at: Vec<Option<Time>>,
    /// Of each that was opened: its user, when, and what was delivered.
    users: Vec<(u32, Time, u64)>,
    /// How many of these delivered nothing.
    silent: usize,
    /// Those whose connection its library ended while data were left: how many, and the first with its cause.
    cut_off: usize,
    first_cut_off: Option<(u32, EndCause)>,
}

impl EndedFlows {
    fn with_capacity(flows: usize) -> EndedFlows {
        EndedFlows {
            summaries: Vec::with_capacity(flows),
            opened_at: Vec::with_capacity(flows),
            users: Vec::with_capacity(flows),
            silent: 0,
            cut_off: 0,
            first_cut_off: None,
        }
    }

    fn add(&mut self, summary: Box<FlowSummary>, opened_at: Option<Time>, lifetimes: Option<[&Lifetime; 2]>) {
        if let Some(ends) = lifetimes.filter(|ends| ends.iter().any(|end| end.is_cut_off)) {
            if self.cut_off == 0 {
                self.first_cut_off = Lifetime::first_end(ends).map(|end| (summary.id, end.cause.clone()));
            }
            self.cut_off += 1;
        }
        if let Some(at) = opened_at {
            self.users.push((summary.user, at, summary.delivered_bytes));
            self.silent += usize::from(summary.received_packets == 0);
        }
        self.summaries.push(summary);
        self.opened_at.push(opened_at);
    }

    /// A warning of the connections that were cut off, if any were.
    fn cut_off(&self) -> Option<String> {
        let (id, cause) = self.first_cut_off.as_ref()?;
        let hint = match cause {
            EndCause::IdleTimeout => ": nothing arrived any more, and nobody opened another, as reopen does",
            _ => "",
        };
        let (count, of) = (self.cut_off, self.summaries.len());
        let after = self.summaries[*id as usize].ended_after_s.unwrap_or(0.0);
        Some(format!(
            "{count} of {of} flows ended before their time, first flow {id} after {after:.1} s ({cause}{hint})"
        ))
    }
}

/// Why flows may have delivered nothing where random access lost much, for the end of a warning.
fn random_access_hint(config: &ScenarioConfig, access: &AccessReport) -> String {
    let (Some(plr), Some(load)) = (access.plr, access.normalized_load) else { return String::new() };
    if plr <= 0.3 {
        return String::new();
    }
    if config.flows.iter().all(|flow| flow.start_spread.is_zero()) {
        return ": on the return link, flows that begin in step collide again and again (start_spread)".to_owned();
    }
    let lost = 100.0 * plr;
    format!(": on the return link, random access lost {lost:.0} % of its packets, with {load:.2} sent for each slot")
}
