//! A connection of QUIC as one end of a flow.

use std::sync::Arc;

use units::FieldError;

use super::{Kind, Service, Transport};
use crate::quic::LEAST_PACKET;
pub use crate::quic::QuicConfig;

/// The short header with the longest packet number, the frame of the datagram, and the tag.
const DATAGRAM_OVERHEAD: u32 = 1 + 8 + 4 + 9 + 16;

/// The services of QUIC, with `datagrams` and without.
const DATAGRAMS: &[Service] = &[Service::Datagrams];
const STREAMS: &[Service] = &[Service::ByteStream, Service::Streams];

impl Kind for QuicConfig {
    fn check(&self) -> Result<(), FieldError> {
        QuicConfig::check(self)
    }

    fn services(&self) -> &'static [Service] {
        if self.datagrams { DATAGRAMS } else { STREAMS }
    }

    fn other_services(&self) -> Option<(&'static str, &'static str, &'static [Service])> {
        Some(if self.datagrams { ("datagrams", "false", STREAMS) } else { ("datagrams", "true", DATAGRAMS) })
    }

    fn largest_datagram(&self, default_packet: u32) -> Option<u32> {
        self.datagrams.then(|| self.packet_bytes(default_packet) - DATAGRAM_OVERHEAD)
    }

    fn least_packet(&self) -> u32 {
        LEAST_PACKET
    }

    fn full_packet(&self, default_packet: u32) -> Option<(u32, &'static str)> {
        Some((self.packet_bytes(default_packet), "packet"))
    }

    fn sends_ect(&self) -> bool {
        QuicConfig::sends_ect(self)
    }

    fn resolve(&mut self, default_packet: u32) {
        *self = self.resolved(default_packet);
    }

    fn check_registered(&self, controllers: &[String]) -> Result<(), FieldError> {
        self.congestion.check_registered(controllers)
    }

    #[cfg(not(target_family = "wasm"))]
    fn build(&self, default_packet: u32) -> Arc<dyn Transport> {
        end::build(self.resolved(default_packet))
    }

    #[cfg(target_family = "wasm")]
    fn build(&self, _default_packet: u32) -> Arc<dyn Transport> {
        unreachable!("refused where options are checked")
    }
}

#[cfg(not(target_family = "wasm"))]
mod end {
    use std::borrow::Cow;
    use std::sync::Arc;

    use units::{Duration, FieldError, Time};

    use super::QuicConfig;
    use crate::congestion::FindControl;
    use crate::endpoint::over::Over;
    use crate::endpoint::unopened::Unopened;
    use crate::endpoint::{Act, Answer, EndOptions, Endpoint, Input, Payload, ReportedWake, SendPacket, Transport};
    use crate::quic::connection::Connection;
    use crate::quic::library::Settings;
    use crate::quic::{Client, Lifetime};
    use crate::state::SenderSample;
    use crate::tcp::Counters;

    pub(super) fn build(config: QuicConfig) -> Arc<dyn Transport> {
        let packet = config.packet_bytes(0);
        Arc::new(Quic { settings: Arc::new(Settings { config, packet }) })
    }

    /// The connections of the flows of an entry.
    #[derive(Debug)]
    struct Quic {
        settings: Arc<Settings>,
    }

    impl Transport for Quic {
        fn congestion(&self) -> Option<Cow<'static, str>> {
            Some(Cow::Borrowed(self.settings.config.congestion.kind()))
        }

        fn supplied(&self, find: &mut FindControl<'_>) -> Result<Option<Arc<dyn Transport>>, FieldError> {
            let congestion = self.settings.config.congestion.supplied(find)?;
            Ok(Some(build(QuicConfig { congestion, ..self.settings.config.clone() })))
        }

        fn payload_bytes(&self) -> u32 {
            self.settings.payload_bytes()
        }

        fn follows_gateways(&self) -> bool {
            self.settings.config.migration.is_some()
        }

        fn unopened_end(&self) -> Box<dyn Endpoint> {
            Box::new(Unopened)
        }

        fn open(&self, now: Time, [one, other]: [EndOptions; 2]) -> Option<[Box<dyn Endpoint>; 2]> {
            let end = |options, opens| -> Box<dyn Endpoint> { Box::new(QuicEnd::new(self, now, options, opens)) };
            Some([end(one, true), end(other, false)])
        }

        fn opens_at_user(&self) -> bool {
            self.settings.config.client == Client::User
        }

        fn keeps_logs(&self) -> bool {
            true
        }
    }

    /// One end of a connection.
    struct QuicEnd {
        connection: Connection,
        reported: ReportedWake,
    }

    impl QuicEnd {
        fn new(quic: &Quic, now: Time, options: EndOptions, opens: bool) -> QuicEnd {
            let mut connection = Connection::new(Arc::clone(&quic.settings), now, options.entropy, opens);
            if options.logs {
                connection.keep_log(now);
            }
            QuicEnd { connection, reported: ReportedWake::NEVER }
        }
    }

    impl Endpoint for QuicEnd {
        fn act(&mut self, now: Time, act: Act) {
            let connection = &mut self.connection;
            match act {
                Act::Write(bytes) => connection.write(now, Some(bytes.get())),
                Act::WriteForEver => connection.write(now, None),
                Act::WriteStream { stream, bytes } => connection.write_stream(stream, bytes.get()),
                Act::Close => connection.close(),
                Act::Read(_) | Act::Offer { .. } => {}
            }
        }

        fn handle(&mut self, now: Time, input: Input<'_>, blank: &mut Payload, send: &mut SendPacket<'_>) -> Answer {
            let QuicEnd { connection, reported } = self;
            match input {
                Input::Packet(Payload::Quic(packet)) => connection.handle_packet(now, packet),
                Input::Packet(_) => unreachable!("a packet of another transport"),
                Input::Timeout => {
                    reported.expire();
                    connection.handle_timeout(now);
                }
                Input::Acted => {}
            }
            connection.work(now);
            if connection.reopen(now) {
                connection.work(now);
            }
            while let Some((packet, sent_before)) = connection.poll_transmit(now) {
                *blank = Payload::Quic(packet);
                send(blank, sent_before);
            }
            let (window, due) = connection.poll_state();
            Answer {
                delivered: connection.delivered_bytes(),
                window: Some(window),
                over: due == Time::MAX,
                // The library's pacer counts in fractions of a nanosecond: what is due at once is due at the next
                // instant.
                wake: reported.report(due.max(now + Duration::from_nanos(1))),
            }
        }

        fn postpone(&mut self, now: Time) -> Option<Time> {
            self.reported.postpone(now, self.connection.poll_timeout())
        }

        fn has_received(&self, sequence: u64) -> bool {
            self.connection.has_received(sequence)
        }

        fn is_open(&self) -> bool {
            self.connection.is_open()
        }

        fn has_been_closed(&self) -> bool {
            self.connection.has_been_closed()
        }

        fn has_finished(&self) -> bool {
            self.connection.has_finished()
        }

        fn change_address(&mut self, now: Time) -> bool {
            self.connection.change_address(now)
        }

        fn lifetime(&self) -> Option<&Lifetime> {
            Some(self.connection.lifetime())
        }

        fn poll_stream(&mut self) -> Option<(u32, u64)> {
            self.connection.poll_stream()
        }

        fn poll_log(&mut self, records: &mut Vec<u8>) {
            self.connection.poll_log(records);
        }

        fn remains(&self) -> Option<Box<dyn Endpoint>> {
            let QuicEnd { connection, .. } = self;
            let has_all = connection.has_been_closed();
            let is_known = has_all || connection.delivered_bytes() == 0;
            (connection.rests() && is_known).then(|| {
                Box::new(Over {
                    counters: connection.counters(),
                    received: if has_all { u64::MAX } else { 0 },
                    opened: connection.is_open(),
                    closed: has_all,
                    finished: connection.has_finished(),
                    lifetime: Some(Box::new(connection.lifetime().clone())),
                }) as Box<dyn Endpoint>
            })
        }

        fn counters(&self) -> Counters {
            self.connection.counters()
        }

        fn sample(&self) -> Option<SenderSample> {
            Some(self.connection.sample())
        }
    }
}
