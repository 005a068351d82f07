//! The two ends of a connection, whatever its transport: the only file of the world that speaks to one.

use std::sync::Arc;

use traffic::Action;
use transport::{Connection, Counters, Settings, State};
use units::Time;

use crate::packet::{Payload, Way};
use crate::record::series::FlowSample;

/// Both ends of a connection. An end is named by the way that its packets go: the sender's go forward, the receiver's back.
pub(super) struct Ends {
    settings: Arc<Settings>,
    entropy: u64,
    /// Nothing before the connection is opened.
    sender: Option<Box<Connection>>,
    receiver: Connection,
}

impl Ends {
    /// A receiver that waits for a sender to open. `entropy`: two numbers of the connection's own.
    pub(super) fn new(settings: Arc<Settings>, entropy: [u64; 2]) -> Ends {
        let receiver = Connection::listen(Arc::clone(&settings), entropy[1]);
        Ends { settings, entropy: entropy[0], sender: None, receiver }
    }

    /// As [`Ends::new`] with a receiver that keeps data until [`Ends::read`] takes them.
    pub(super) fn with_held_reads(settings: Arc<Settings>, entropy: [u64; 2]) -> Ends {
        let mut ends = Ends::new(settings, entropy);
        ends.receiver.hold_reads();
        ends
    }

    /// The application at the sending end does something.
    pub(super) fn act(&mut self, now: Time, action: Action) {
        match action {
            Action::Open => self.open(now),
            Action::Write(bytes) => self.opened().write(now, bytes.get()),
            Action::WriteForEver => self.opened().write_for_ever(now),
            Action::Close => self.opened().close(),
        }
    }

    /// Opens the connection.
    pub(super) fn open(&mut self, now: Time) {
        self.sender = Some(Box::new(Connection::connect(Arc::clone(&self.settings), now, self.entropy)));
    }

    /// The application at the receiving end takes this much.
    pub(super) fn read(&mut self, bytes: u64) {
        let got = self.receiver.read(bytes);
        debug_assert_eq!(got, bytes, "it takes what is there");
    }

    /// A packet that went `way` arrives.
    #[inline]
    pub(super) fn handle_packet(&mut self, now: Time, way: Way, payload: &Payload) {
        let Payload::Tcp(segment) = payload;
        if let Some(end) = self.end_mut(way.back()) {
            end.handle_segment(now, segment);
        }
    }

    /// The end whose packets go `way` is due.
    pub(super) fn handle_timeout(&mut self, now: Time, way: Way) {
        if let Some(end) = self.end_mut(way) {
            end.handle_timeout(now);
        }
    }

    /// The next packet to be sent on this way, and which transmission of its data it is.
    #[inline]
    pub(super) fn poll_transmit(&mut self, now: Time, way: Way) -> Option<(Payload, u32)> {
        let transmit = self.end_mut(way)?.poll_transmit(now)?;
        Some((Payload::Tcp(transmit.segment), transmit.transmission))
    }

    /// When the end whose packets go `way` is due.
    #[inline]
    pub(super) fn poll_timeout(&self, way: Way) -> Option<Time> {
        match way {
            Way::Forward => self.sender.as_ref()?.poll_timeout(),
            Way::Backward => self.receiver.poll_timeout(),
        }
    }

    /// Data that arrived in order.
    #[inline]
    pub(super) fn delivered_bytes(&self) -> u64 {
        self.receiver.delivered_bytes()
    }

    /// Data that the sender knows to have arrived.
    pub(super) fn acknowledged_bytes(&self) -> u64 {
        self.sender.as_ref().map_or(0, |sender| sender.counters().bytes_acked)
    }

    /// Whether the receiver has the data at `sequence`.
    pub(super) fn has_received(&self, sequence: u64) -> bool {
        self.receiver.has_received(sequence)
    }

    /// Whether the receiver has heard of the sender.
    pub(super) fn has_been_opened(&self) -> bool {
        self.receiver.info().state != State::Listen
    }

    /// Whether the sender said that nothing more comes, and all of it has arrived.
    pub(super) fn has_been_closed(&self) -> bool {
        matches!(self.receiver.info().state, State::CloseWait | State::LastAck | State::Closed)
    }

    /// Whether the sender knows that all has arrived, the end included.
    pub(super) fn has_finished(&self) -> bool {
        let state = self.sender.as_ref().map(|sender| sender.info().state);
        matches!(state, Some(State::FinWait2 | State::Closed))
    }

    /// What the sender has counted.
    pub(super) fn counters(&self) -> Counters {
        self.sender.as_ref().map(|sender| *sender.counters()).unwrap_or_default()
    }

    /// The sender's window in packets.
    #[inline]
    pub(super) fn window_packets(&self) -> Option<f64> {
        Some(self.sender.as_ref()?.window_segments())
    }

    /// The connection at this moment.
    pub(super) fn sample(&self, attenuation_db: f32) -> FlowSample {
        let delivered_bytes = self.delivered_bytes();
        let Some(sender) = &self.sender else {
            let none = f32::NAN;
            return FlowSample {
                cwnd_packets: none,
                ssthresh_packets: none,
                srtt_s: none,
                rto_s: none,
                attenuation_db,
                delivered_bytes,
                ..FlowSample::default()
            };
        };
        let info = sender.info();
        let in_flight = (info.unacked + info.retransmitted).saturating_sub(info.sacked + info.lost);
        FlowSample {
            cwnd_packets: info.window as f32,
            ssthresh_packets: info.slow_start_threshold.map_or(f32::NAN, |threshold| threshold as f32),
            srtt_s: info.srtt.map_or(f32::NAN, |srtt| srtt.as_secs_f64() as f32),
            rto_s: info.rto.as_secs_f64() as f32,
            in_flight_packets: in_flight as f32,
            attenuation_db,
            delivered_bytes,
            retransmitted_packets: sender.counters().retransmitted_segments,
        }
    }

    fn opened(&mut self) -> &mut Connection {
        self.sender.as_mut().expect("a source opens first")
    }

    #[inline]
    fn end_mut(&mut self, way: Way) -> Option<&mut Connection> {
        match way {
            Way::Forward => self.sender.as_deref_mut(),
            Way::Backward => Some(&mut self.receiver),
        }
    }
}
