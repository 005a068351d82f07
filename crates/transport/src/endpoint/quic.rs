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
    use std::sync::Arc;

    use units::{Duration, FieldError, Time};

    use super::QuicConfig;
    use crate::congestion::FindControl;
    use crate::endpoint::{Act, Answer, Endpoint, Input, Payload, ReportedWake, SendPacket, Transport, Wake};
    use crate::quic::connection::Connection;
    use crate::quic::library::Settings;
    use crate::quic::{Client, Lifetime};
    use crate::tcp::{Counters, Info};

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
        fn congestion(&self) -> Option<&'static str> {
            Some(self.settings.config.congestion.kind())
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

        fn end(&self, entropy: u64, _holds_reads: bool) -> Box<dyn Endpoint> {
            Box::new(QuicEnd {
                settings: Arc::clone(&self.settings),
                entropy,
                reported: ReportedWake::NEVER,
                logs: false,
                connection: None,
            })
        }
    }

    /// One end of a connection, which takes up no room before it is opened or accepted.
    struct QuicEnd {
        settings: Arc<Settings>,
        entropy: u64,
        reported: ReportedWake,
        logs: bool,
        connection: Option<Box<Connection>>,
    }

    impl QuicEnd {
        fn open(&mut self, now: Time, opens: bool) {
            let mut connection = Connection::new(Arc::clone(&self.settings), now, self.entropy, opens);
            if self.logs {
                connection.keep_log(now);
            }
            self.connection = Some(Box::new(connection));
        }
    }

    impl Endpoint for QuicEnd {
        fn act(&mut self, now: Time, act: Act) {
            match act {
                Act::Open => return self.open(now, true),
                Act::Accept => return self.open(now, false),
                _ => {}
            }
            let connection = self.connection.as_deref_mut().expect("an application opens first");
            match act {
                Act::Write(bytes) => connection.write(Some(bytes.get())),
                Act::WriteForEver => connection.write(None),
                Act::WriteStream { stream, bytes } => connection.write_stream(stream, bytes.get()),
                Act::Close => connection.close(),
                Act::Open | Act::Accept | Act::Read(_) | Act::Offer { .. } => {}
            }
        }

        fn handle(
            &mut self,
            now: Time,
            input: Input<'_>,
            blank: &mut Box<Payload>,
            send: &mut SendPacket<'_>,
        ) -> Answer {
            let Some(connection) = self.connection.as_deref_mut() else {
                return Answer { delivered: 0, acknowledged: 0, window: None, wake: Wake::Unchanged };
            };
            match input {
                Input::Packet(Payload::Quic(packet)) => connection.handle_packet(now, packet),
                Input::Packet(_) => unreachable!("a packet of another transport"),
                Input::Timeout => {
                    self.reported.expire();
                    connection.handle_timeout(now);
                }
                Input::Acted => {}
            }
            connection.work(now);
            if connection.reopen(now) {
                connection.work(now);
            }
            while let Some((packet, sent_before)) = connection.poll_transmit(now) {
                **blank = Payload::Quic(packet);
                send(blank, sent_before);
            }
            Answer {
                delivered: connection.delivered_bytes(),
                acknowledged: 0,
                window: Some(connection.window()),
                // The library's pacer counts in fractions of a nanosecond: what is due at once is due at the next
                // instant.
                wake: self.reported.report(connection.poll_timeout().max(now + Duration::from_nanos(1))),
            }
        }

        fn has_received(&self, sequence: u64) -> bool {
            self.connection.as_ref().is_some_and(|connection| connection.has_received(sequence))
        }

        fn is_open(&self) -> bool {
            self.connection.as_ref().is_some_and(|connection| connection.is_open())
        }

        fn has_been_closed(&self) -> bool {
            self.connection.as_ref().is_some_and(|connection| connection.has_been_closed())
        }

        fn has_finished(&self) -> bool {
            self.connection.as_ref().is_some_and(|connection| connection.has_finished())
        }

        fn opens_at_user(&self) -> bool {
            self.settings.config.client == Client::User
        }

        fn change_address(&mut self, now: Time) -> bool {
            self.connection.as_mut().is_some_and(|connection| connection.change_address(now))
        }

        fn lifetime(&self) -> Option<&Lifetime> {
            self.connection.as_ref().map(|connection| connection.lifetime())
        }

        fn poll_stream(&mut self) -> Option<(u32, u64)> {
            self.connection.as_mut()?.poll_stream()
        }

        fn keep_log(&mut self) -> bool {
            self.logs = true;
            true
        }

        fn poll_log(&mut self, records: &mut Vec<u8>) {
            if let Some(connection) = &mut self.connection {
                connection.poll_log(records);
            }
        }

        fn counters(&self) -> Counters {
            self.connection.as_ref().map(|connection| connection.counters()).unwrap_or_default()
        }

        fn info(&self) -> Option<Info> {
            self.connection.as_ref().map(|connection| connection.info())
        }
    }
}
