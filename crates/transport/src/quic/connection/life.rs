//! How a connection goes on: at another address of the user, and where one has ended.

use std::sync::Arc;

use noq_proto::Side;
use units::Time;

use super::{Connection, controller};
use crate::quic::config::HandshakeMode;
use crate::quic::identifiers::mix;
use crate::quic::library::{self, Library, Start, address};
use crate::quic::lifetime::{Ended, Resume};
use crate::quic::packet::{Answered, QuicPacket};
use crate::quic::qlog::Migration;
use crate::quic::streams::{FIRST, Stream};

impl Connection {
    /// The other end sends from address `number`: notes when the library begins to validate it, and when it has.
    pub(super) fn follow(&mut self, now: Time, number: u32) {
        let migrates = self.side == Side::Server && self.settings.config.migration == Some(true) && self.established;
        let Some((_, connection)) = self.library.live.as_mut().filter(|_| migrates) else { return };
        let answers = connection.stats().frame_rx.path_response;
        if number > self.other_address {
            self.other_address = number;
            self.validating = Some((number, answers));
            self.control.lock().log_migration(now, Migration::Started, address(!self.side, number));
        } else if let Some((number, _)) = self.validating.filter(|(_, before)| answers > *before) {
            self.validating = None;
            self.lifetime.migrations += 1;
            self.control.lock().log_migration(now, Migration::Complete, address(!self.side, number));
        }
    }

    /// The user's address changes from now on. Returns whether the options let this end take notice.
    pub fn change_address(&mut self, now: Time) -> bool {
        if self.settings.config.migration.is_none() {
            return false;
        }
        self.own_address += 1;
        if self.settings.config.migration == Some(true)
            && let Some((_, connection)) = &mut self.library.live
        {
            connection.handle_network_change(None, self.clock.instant(now));
            let mut core = self.control.lock();
            core.begin_anew();
            core.log_migration(now, Migration::Started, address(self.side, self.own_address));
        }
        true
    }

    /// The number of this connection among those of the flow.
    pub(super) fn number(&self) -> u32 {
        self.resume.as_ref().map_or(0, |resume| resume.connection)
    }

    /// The client opens another connection where this one has ended, if its options have it so and there is something
    /// left to do: at once, or when its application writes next. Whether it does.
    pub fn reopen(&mut self, now: Time) -> bool {
        if !self.over || self.side != Side::Client || self.settings.config.reopen.is_none() || self.is_idle() {
            return false;
        }
        let goes_on = |stream: &Stream| !stream.is_done() && (stream.end() > 0 || stream.for_ever || stream.closes);
        let is_endless = |stream: &Stream| stream.for_ever && !stream.is_done();
        let names = |which: &dyn Fn(&Stream) -> bool| -> Vec<u64> {
            self.streams.iter().filter(|(_, stream)| which(stream)).map(|(id, _)| *id).collect()
        };
        let carried = names(&goes_on);
        // Requests whose answers have arrived are not repeated.
        let Answered { written, read } = self.answered;
        let is_answered = |stream: &Stream| !stream.for_ever && written > 0 && stream.has >= written;
        let answered = self.streams.get(&FIRST).filter(|stream| is_answered(stream)).map(|_| (FIRST, read));
        let resume = Resume {
            connection: self.number() + 1,
            next: self.streams.keys().next_back().map_or(FIRST, |last| last + 4).max(self.opened),
            has: self.streams.iter().map(|(id, stream)| (*id, stream.has)).collect(),
            from: names(&is_endless).into_iter().map(|id| (id, self.streams[&id].end())).chain(answered).collect(),
            carried,
        };
        let from = resume.from.clone();
        self.lifetime.reopen(now);
        self.begin(now, resume);
        for (id, stream) in self.streams.iter_mut().filter(|(_, stream)| !stream.is_done()) {
            let has = stream.has;
            stream.carry_on(from.get(id).copied().unwrap_or(0), has);
        }
        self.arrived.from = self.streams.iter().map(|(id, stream)| (*id, stream.has)).collect();
        self.sending.from = from;
        true
    }

    /// The other end has opened another connection, whose first packet this is.
    pub(super) fn accept_again(&mut self, now: Time, packet: &QuicPacket) {
        let resume = Resume::clone(packet.resume.as_ref().expect("a connection after the first"));
        if !self.over {
            let ended = library::replaced(now);
            self.end(ended);
        }
        self.lifetime.reopen(now);
        self.lifetime.reopened_at = None;
        for (id, stream) in &mut self.streams {
            let (has, reads) = (resume.has.get(id).copied(), resume.from.get(id).copied().unwrap_or(0));
            let from = if stream.for_ever { has.unwrap_or(stream.end()) } else { has.unwrap_or(0).min(stream.end()) };
            let is_done = stream.finished || stream.closes && stream.closed && !stream.for_ever && from == stream.end();
            stream.carry_on(from, reads);
            (stream.finished, stream.closed) = (is_done, is_done);
            self.sending.from.insert(*id, from);
        }
        self.arrived.from = resume.from.clone();
        self.begin(now, resume);
    }

    /// Another QUIC connection of the flow takes the place of that before.
    fn begin(&mut self, now: Time, resume: Resume) {
        let entropy = mix(self.entropy ^ u64::from(resume.connection).rotate_left(32));
        let control = controller(&self.settings, self.clock, entropy);
        control.lock().follow(&mut self.control.lock());
        self.control = control;
        let resumes = self.settings.config.reopen == Some(HandshakeMode::ZeroRtt);
        let (settings, clock, side) = (&self.settings, self.clock, self.side);
        // Where the server is the user, its address is the one that the client has learned last.
        let start = Start { settings, clock, now, entropy, side, resumes, server: self.other_address };
        self.library = Library::new(&start, self.control.clone());
        self.sending.forget_datagrams(self.waiting.len());
        self.arrived.streams.values_mut().for_each(|received| received.pieces = 0);
        (self.established, self.over, self.validating) = (false, false, None);
        self.resume = Some(Arc::new(resume));
        self.control
            .lock()
            .log_start(now, [address(self.side, self.own_address), address(!self.side, self.other_address)]);
    }

    /// Whether nothing is left to send or to arrive, as far as the client knows.
    fn is_done(&self) -> bool {
        !self.streams.is_empty() && self.streams.values().all(Stream::is_done) && self.waiting.is_empty()
    }

    /// Whether nothing is left to send or to arrive until the client's application writes again.
    fn is_idle(&self) -> bool {
        let first = self.streams.get(&FIRST);
        let others = self.streams.iter().filter(|(id, _)| **id != FIRST).all(|(_, stream)| stream.is_done());
        let is_idle = |stream: &Stream| stream.is_done() || stream.is_answered(self.answered);
        first.is_some_and(is_idle) && others && self.waiting.is_empty()
    }

    /// The library says that the QUIC connection is over.
    pub(super) fn end(&mut self, ended: Ended) {
        self.control.lock().log_end(&ended);
        self.over = true;
        let mut streams = self.streams.values();
        let is_before_time = match self.side {
            Side::Client => !self.is_done(),
            Side::Server => streams.any(|stream| stream.waits() || !stream.is_sent()),
        };
        // What goes on with the next write is not cut off.
        let rests = self.settings.config.reopen.is_some()
            && match self.side {
                Side::Client => self.is_idle(),
                Side::Server => self.control.lock().packets.in_flight == 0 && !self.streams.values().any(Stream::waits),
            };
        self.lifetime.end(ended, is_before_time, is_before_time && !rests);
    }
}
