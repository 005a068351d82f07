//! Connections and their endpoints, whatever the transport: where they stand in the network, and who reads from them.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::Arc;

use engine::MachineId;
use transport::{Act, Answer, EndOptions, Endpoint, Input, Lifetime, Prompt, Reply, Transport, Wake};
use units::{Bytes, Time};

use super::ledger::Ledger;
use super::log::Log;
use super::network::Site;
use super::schedule::{Machine, Schedule};
use super::underlay::Underlay;
use super::written::Written;
use crate::packet::{EndpointId, Link, Packets, Payload, Way};
use crate::record::recorder::Recorder;
use crate::record::series::FlowSample;

/// The two endpoints of a connection.
pub(super) struct Connection {
    site: Site,
    /// By the [`Way`] of the packets that each sends.
    ends: [End; 2],
    /// What the ends are made from when it is opened, and the entropy of each.
    transport: Arc<dyn Transport>,
    entropy: [u64; 2],
}

/// One end of a connection.
pub(super) struct End {
    endpoint: Box<dyn Endpoint>,
    reader: Reader,
    machine: MachineId,
    /// Where its log is written, if it keeps one.
    log: Option<Box<Log>>,
    /// The congestion window in packets that the recorder was told last.
    window: u32,
    /// Payload bytes that have arrived: in order, or by datagrams.
    delivered_bytes: u64,
}

/// Who reads from an endpoint and does something about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reader {
    /// An application that takes what arrives, and that is all.
    Sink,
    Application(u32),
    Proxy(u32),
    /// Somebody outside of the world.
    Outside,
}

/// All connections of a world.
pub(super) struct Connections {
    connections: Vec<Connection>,
    /// Where the next packet is written.
    blank: Payload,
    /// Of two hosts, by the one that opens: the connections that may know something of the other.
    by_hosts: BTreeMap<Hosts, Vec<u32>>,
    /// Connections that may be over, until [`Connections::poll_over`] tells of them.
    over: BTreeSet<u32>,
}

/// Two hosts: whether the one opens that is the user or nearer to it, whether they are a gateway and a server, and the
/// user, whose address a gateway takes.
type Hosts = (bool, bool, u32);

impl Default for Connections {
    fn default() -> Connections {
        let (connections, over) = (Vec::new(), BTreeSet::new());
        Connections { connections, blank: Packets::no_payload(), by_hosts: BTreeMap::new(), over }
    }
}

impl Connections {
    /// Adds a connection at rest. `readers`: of the end whose packets go forward, and of the other.
    pub(super) fn add(
        &mut self,
        site: Site,
        transport: &Arc<dyn Transport>,
        entropy: [u64; 2],
        readers: [Reader; 2],
        schedule: &mut Schedule,
    ) -> u32 {
        let connection = self.connections.len() as u32;
        let mut end = |way: Way| {
            let (endpoint, reader) = (transport.unopened_end(), readers[way as usize]);
            let machine = schedule.add(Machine::of(EndpointId { connection, way }));
            End { endpoint, reader, machine, log: None, window: 0, delivered_bytes: 0 }
        };
        let ends = [end(Way::Forward), end(Way::Backward)];
        self.connections.push(Connection { site, ends, transport: Arc::clone(transport), entropy });
        connection
    }

    /// The class of service of the packets that a connection sends from now on.
    pub(super) fn set_class(&mut self, connection: u32, class: u32) {
        self.connections[connection as usize].site.class = class;
    }

    /// Has each connection keep a log that is opened from now on: of each end a file in `directory`.
    ///
    /// # Errors
    /// A file cannot be created.
    pub(super) fn keep_logs(&mut self, directory: &Path) -> io::Result<()> {
        for Connection { site, ends, .. } in self.connections.iter_mut().filter(|c| c.transport.keeps_logs()) {
            for (end, place) in ends.iter_mut().zip(["sender", "receiver"]) {
                end.log = Some(Box::new(Log::create(directory, site.flow, place)?));
            }
        }
        Ok(())
    }

    /// Completes the files of logs.
    ///
    /// # Errors
    /// The first error that any write met.
    pub(super) fn complete_logs(&mut self) -> io::Result<()> {
        let ends = self.connections.iter_mut().flat_map(|connection| &mut connection.ends);
        ends.filter_map(|end| end.log.as_mut()).try_for_each(|log| log.finish())
    }

    /// The connections by their numbers, after a run.
    pub(super) fn into_each(self) -> Vec<Option<Connection>> {
        self.connections.into_iter().map(Some).collect()
    }

    #[inline]
    pub(super) fn site(&self, connection: u32) -> &Site {
        &self.connections[connection as usize].site
    }

    #[inline]
    pub(super) fn end(&self, id: EndpointId) -> &End {
        &self.connections[id.connection as usize].ends[id.way as usize]
    }

    /// Opens the connection of `end`, at which an application stands. Returns the end that opens it, which is to be
    /// entered then. A proxy's end holds at most `held`.
    pub(super) fn open(&mut self, now: Time, end: EndpointId, held: Option<Bytes>) -> EndpointId {
        let EndpointId { connection, way } = end;
        let opened = &mut self.connections[connection as usize];
        let way = if opened.transport.opens_at_user() { opened.site.of_user } else { way };
        let options = [way, way.back()].map(|way| opened.options(way, held));
        if let Some([opens, accepts]) = opened.transport.open(now, options) {
            opened.ends[way as usize].endpoint = opens;
            opened.ends[way.back() as usize].endpoint = accepts;
        }
        EndpointId { connection, way }
    }

    /// The users of a place get other addresses: the ends that take notice, which are to be entered then.
    pub(super) fn change_addresses(&mut self, now: Time, place: u32) -> Vec<EndpointId> {
        let mut changed = Vec::new();
        for (connection, Connection { site, ends, .. }) in (0..).zip(&mut self.connections) {
            let way = site.of_user;
            if site.place == place && site.link(way) == Link::Uplink && ends[way as usize].endpoint.change_address(now)
            {
                site.address += 1;
                changed.push(EndpointId { connection, way });
            }
        }
        changed
    }

    /// An end that opens a connection, and has sent nothing, is told what its host knows of the other from the newest
    /// connection that knows something.
    pub(super) fn recall(&mut self, EndpointId { connection, way }: EndpointId) {
        let Connection { site, ends, .. } = &self.connections[connection as usize];
        if ends[way as usize].endpoint.memory().is_none() {
            return;
        }
        let hosts = (way == site.of_user, site.link(way) == Link::Terrestrial, site.user);
        let earlier = self.by_hosts.entry(hosts).or_default();
        let endpoint = |connection: u32| &self.connections[connection as usize].ends[way as usize].endpoint;
        let memory = |&connection: &u32| endpoint(connection).memory().filter(|memory| memory.has_cookie());
        let known = earlier.iter().rposition(|connection| memory(connection).is_some());
        let told = known.and_then(|at| memory(&earlier[at]));
        earlier.drain(..known.unwrap_or(0));
        earlier.push(connection);
        if let Some(told) = told {
            self.connections[connection as usize].ends[way as usize].endpoint.recall(told);
        }
    }

    /// The next connection of which an end may have nothing left to do.
    pub(super) fn poll_over(&mut self) -> Option<u32> {
        self.over.pop_first()
    }

    /// Keeps only what is asked later of the ends of a connection, if nothing can happen there any more. `lost`: its
    /// packets that were. `rests`: whether its application does nothing until something arrives.
    pub(super) fn give_up(&mut self, connection: u32, lost: u32, rests: bool) {
        let [forward, backward] = &mut self.connections[connection as usize].ends;
        let [one, other] = [&forward, &backward].map(|end| end.endpoint.counters());
        let sent = one.segments_sent + other.segments_sent;
        let is_in_flight = sent != one.segments_received + other.segments_received + u64::from(lost);
        let readers = [forward.reader, backward.reader];
        let is_left = rests && readers == [Reader::Sink; 2];
        let is_between = readers.iter().any(|reader| matches!(reader, Reader::Proxy(_) | Reader::Outside));
        let is_finished = forward.endpoint.has_finished() && (backward.endpoint.has_finished() || is_left);
        if is_finished
            && !is_in_flight
            && !is_between
            && let (Some(one), Some(other)) = (forward.endpoint.remains(), backward.endpoint.remains())
        {
            (forward.endpoint, backward.endpoint) = (one, other);
        }
    }

    /// An application acts at an endpoint, which is to be entered then.
    pub(super) fn act(&mut self, now: Time, id: EndpointId, act: Act) {
        self.connections[id.connection as usize].ends[id.way as usize].endpoint.act(now, act);
    }

    /// As [`Endpoint::postpone`] of an endpoint.
    pub(super) fn postpone(&mut self, now: Time, id: EndpointId) -> Option<Time> {
        self.connections[id.connection as usize].ends[id.way as usize].endpoint.postpone(now)
    }

    /// The next stream on which more has arrived at an endpoint, and how much in all.
    pub(super) fn poll_stream(&mut self, id: EndpointId) -> Option<(u32, u64)> {
        self.connections[id.connection as usize].ends[id.way as usize].endpoint.poll_stream()
    }

    /// What an endpoint is asked to answer is in a slot, and the answer is sent from there. Returns whether that is so;
    /// if not, nothing has happened, and the caller then uses [`Connections::enter`].
    #[inline(always)]
    pub(super) fn answer(
        &mut self,
        now: Time,
        id: EndpointId,
        prompt: Prompt,
        slot: u32,
        under: &mut Underlay,
    ) -> bool {
        match self.answer_once(now, id, prompt, slot, under) {
            Answered::Refused => return false,
            Answered::First => self.send_further(now, id, under),
            Answered::All => {}
        }
        true
    }

    /// An endpoint has answered with a packet, and others may follow.
    #[inline(never)]
    fn send_further(&mut self, now: Time, id: EndpointId, under: &mut Underlay) {
        loop {
            let slot = under.ledger.packets.reserve();
            match self.answer_once(now, id, Prompt::More, slot, under) {
                Answered::First => {}
                Answered::All => break,
                Answered::Refused => unreachable!("an endpoint that has answered goes on"),
            }
        }
    }

    #[inline(always)]
    fn answer_once(&mut self, now: Time, id: EndpointId, prompt: Prompt, slot: u32, under: &mut Underlay) -> Answered {
        let Connection { site, ends: [server, user], .. } = &mut self.connections[id.connection as usize];
        let (end, peer) = if id.way == Way::Forward { (server, user) } else { (user, server) };
        let Underlay { ledger: Ledger { packets, recorder, .. }, schedule, .. } = &mut *under;
        let mut packet = packets.slot(slot);
        if matches!(prompt, Prompt::Packet) && !end.reader.only_takes(packet.payload()) {
            return Answered::Refused;
        }
        let reply = end.endpoint.answer(now, prompt, packet.payload());
        // The most frequent by itself: a choice of six is a jump through a table.
        let (sent, last) = if let Reply::Sent { delivered } = reply {
            end.take(now, id.way, site, delivered, recorder);
            (Some(0), true)
        } else {
            match reply {
                Reply::Sent { .. } => unreachable!("told apart above"),
                Reply::Quiet { delivered } => {
                    end.take(now, id.way, site, delivered, recorder);
                    (None, true)
                }
                Reply::SentChanged { before } => {
                    end.follow(now, id, site, recorder, schedule);
                    (Some(before as u32), true)
                }
                Reply::QuietChanged => {
                    end.follow(now, id, site, recorder, schedule);
                    (None, true)
                }
                Reply::First { before } => (Some(before as u32), false),
                Reply::Refused => return Answered::Refused,
            }
        };
        match sent {
            Some(sent_before) => {
                let received = move |own: &Payload| peer.endpoint.has_received(own.sequence());
                let written = Written { slot, sent_before, answers: matches!(prompt, Prompt::Packet), last };
                let bytes = written.make(now, id, site, packet, recorder, received);
                under.carry(now, id.way, site, written, bytes);
            }
            None => {
                under.ledger.packets.release(slot);
                if matches!(prompt, Prompt::More) {
                    under.schedule_link(now, site, id.way);
                }
            }
        }
        if last { Answered::All } else { Answered::First }
    }

    /// Enters an endpoint, and sends what it has to send: who reads there, and whether more has arrived in order than
    /// before.
    #[inline(never)]
    pub(super) fn enter(
        &mut self,
        now: Time,
        id: EndpointId,
        input: Input<'_>,
        under: &mut Underlay,
    ) -> (Reader, bool) {
        let mut sent = false;
        let Connection { site, ends: [server, user], .. } = &mut self.connections[id.connection as usize];
        let (end, peer) = if id.way == Way::Forward { (server, user) } else { (user, server) };
        let answer = end.endpoint.handle(now, input, &mut self.blank, &mut |payload, sent_before| {
            let slot = under.ledger.packets.reserve();
            under.ledger.packets.exchange(slot, payload);
            let received = |own: &Payload| peer.endpoint.has_received(own.sequence());
            let written = Written { slot, sent_before, answers: false, last: false };
            under.launch(now, id, site, written, received);
            sent = true;
        });
        if let Some(log) = &mut end.log {
            log.take(&mut *end.endpoint);
        }
        let advanced = end.note(now, id, site, &answer, &mut under.ledger.recorder, &mut under.schedule);
        if sent {
            under.schedule_link(now, site, id.way);
        }
        if answer.over {
            self.over.insert(id.connection);
        }
        (end.reader, advanced)
    }
}

impl Connection {
    /// What the end whose packets go `way` is opened with. `held`: what it holds at most if a proxy reads there.
    fn options(&self, way: Way, held: Option<Bytes>) -> EndOptions {
        let End { reader, log, .. } = self.end(way);
        let holds = held.filter(|_| matches!(reader, Reader::Proxy(_)));
        EndOptions { entropy: self.entropy[way as usize], holds, logs: log.is_some() }
    }

    /// The end whose packets go `way`.
    pub(super) fn end(&self, way: Way) -> &End {
        &self.ends[way as usize]
    }

    /// Of both ends, where the transport may end connections.
    pub(super) fn lifetimes(&self) -> Option<[&Lifetime; 2]> {
        let [forward, backward] = &self.ends;
        Some([forward.endpoint.lifetime()?, backward.endpoint.lifetime()?])
    }
}

/// The result of asking an endpoint to answer in place.
enum Answered {
    Refused,
    /// A packet was sent, and others may follow.
    First,
    All,
}

impl Reader {
    /// Whether all that is done about a packet is that its endpoint takes it.
    #[inline]
    fn only_takes(self, payload: &Payload) -> bool {
        self == Reader::Sink || matches!(self, Reader::Application(_)) && !payload.brings_data()
    }
}

impl End {
    /// So much has arrived. Returns whether that is more than before.
    #[inline(always)]
    fn advance(&mut self, now: Time, way: Way, site: &Site, delivered: u64, recorder: &mut Recorder) -> bool {
        let advanced = delivered > self.delivered_bytes;
        self.delivered_bytes = delivered;
        if advanced && way == Way::Backward && !matches!(self.reader, Reader::Proxy(_)) {
            recorder.advanced(now, site.flow);
        }
        advanced
    }

    /// As [`End::advance`], after a reply that tells of nothing else.
    #[inline(always)]
    fn take(&mut self, now: Time, way: Way, site: &Site, delivered: u64, recorder: &mut Recorder) {
        let advanced = self.advance(now, way, site, delivered, recorder);
        debug_assert!(!advanced || self.reader == Reader::Sink, "an application is told of data");
    }

    /// Takes the state of the endpoint after a reply that asks for it.
    #[inline(always)]
    fn follow(&mut self, now: Time, id: EndpointId, site: &Site, recorder: &mut Recorder, schedule: &mut Schedule) {
        let answer = self.endpoint.poll_state();
        let advanced = self.note(now, id, site, &answer, recorder, schedule);
        debug_assert!(!advanced || self.reader == Reader::Sink, "an application is told of data");
    }

    /// Takes the answer of the endpoint to an input. Returns whether more has arrived in order than before.
    #[inline(always)]
    fn note(
        &mut self,
        now: Time,
        id: EndpointId,
        site: &Site,
        answer: &Answer,
        recorder: &mut Recorder,
        schedule: &mut Schedule,
    ) -> bool {
        let advanced = self.advance(now, id.way, site, answer.delivered, recorder);
        if let Some(window) = answer.window
            && window != self.window
            && id.way == Way::Forward
            && site.link(id.way) != Link::Terrestrial
        {
            self.window = window;
            recorder.window(now, site.flow, f64::from(window));
        }
        if let Wake::At(at) = answer.wake {
            schedule.wake_next(self.machine, at);
        }
        advanced
    }

    pub(super) fn endpoint(&self) -> &dyn Endpoint {
        &*self.endpoint
    }

    pub(super) fn machine(&self) -> MachineId {
        self.machine
    }

    pub(super) fn reader(&self) -> Reader {
        self.reader
    }

    pub(super) fn delivered_bytes(&self) -> u64 {
        self.delivered_bytes
    }

    /// The state of the sender at this moment, without attenuation and delivered bytes.
    pub(super) fn sample(&self) -> FlowSample {
        let endpoint = self.endpoint();
        let retransmitted_packets = endpoint.counters().retransmitted_segments;
        let Some(sample) = endpoint.sample().filter(|_| !endpoint.has_finished()) else {
            return FlowSample { retransmitted_packets, ..FlowSample::without_window() };
        };
        FlowSample {
            cwnd_packets: sample.window as f32,
            ssthresh_packets: sample.slow_start_threshold.map_or(f32::NAN, |threshold| threshold as f32),
            srtt_s: sample.srtt.map_or(f32::NAN, |srtt| srtt.as_secs_f64() as f32),
            rto_s: sample.rto.as_secs_f64() as f32,
            in_flight_packets: sample.in_flight as f32,
            retransmitted_packets,
            ..FlowSample::default()
        }
    }
}
