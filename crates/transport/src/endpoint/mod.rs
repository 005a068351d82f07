//! One end of a flow, whatever its transport: the seam between this crate and whoever wires ends together.
//!
//! ```text
//! application ── act(Write, Close, Read) ─► ┌──────────┐ ── send(payload, sent_before) ──► the path
//!             ◄── Answer::delivered ─────── │ Endpoint │ ◄── Input::Packet(&Payload) ────── the path
//! agenda      ── postpone, Input::Timeout ► └──────────┘ ── Answer::wake ─────────────────► the agenda
//! ```
//!
//! - An application acts by [`Endpoint::act`], as often as it likes at one instant: acts are only noted. One `handle`
//!   with [`Input::Acted`] follows, so that a write and the close after it share a segment.
//! - Each packet that arrives and each timer that expires is one [`Endpoint::handle`]. It hands every packet that is to
//!   be sent now to `send`, in order, and its [`Answer`] holds all that is asked after a packet.
//! - What most packets are answered by is one packet or none: [`Endpoint::answer`] writes it where the packet was.
//!   Where its [`Reply`] says so, [`Endpoint::poll_state`] is asked.
//! - A timer that moves to a later time is not told. At the instant that was told, [`Endpoint::postpone`] tells whether
//!   it is due.
//! - Both ends of a connection are made when it is opened ([`Transport::open`]). They replace those of
//!   [`Transport::unopened_end`]. Where nothing is opened, as with datagrams, these stay and send. What
//!   [`Endpoint::remains`] of them replaces both when the connection is over.
//! - A proxy is an application between two endpoints: it writes what [`Answer::delivered`] says has arrived at the one
//!   into the other, and reads by [`Act::Read`] what [`Endpoint::acknowledged_bytes`] says has left the other.
//! - A transport is a file here, with its ends and their [`Kind`], and a line in the registry. What its packets look
//!   like, if neither segments nor datagrams, is a variant of [`Payload`].

mod over;
mod unopened;
mod wake;

use std::borrow::Cow;
use std::fmt::Debug;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use units::{Bytes, Duration, Ecn, FieldError, Time};

use self::wake::ReportedWake;
pub use self::wake::Wake;
use crate::congestion::FindControl;
use crate::external::ExternalPacket;
use crate::quic::{Lifetime, QuicPacket};
use crate::state::SenderSample;
use crate::tcp::{Counters, PeerMemory, Segment};
use crate::udp::Datagram;

units::registry! {
    /// The transport of a flow.
    pub enum TransportConfig: dyn Kind {
        "tcp" => Tcp(TcpConfig) in tcp,
        "udp" => Udp(UdpConfig) in udp,
        "quic" => Quic(QuicConfig) in quic,
        "external" => External(ExternalConfig) in external,
    }
}

/// The options of a transport, from which the ends of flows are made. `default_packet`: bytes of the path's default
/// packet.
pub trait Kind {
    /// Whether the options make sense.
    ///
    /// # Errors
    /// The first option that does not, and why.
    fn check(&self) -> Result<(), FieldError> {
        Ok(())
    }

    /// Returns what it offers to applications.
    fn services(&self) -> &'static [Service];

    /// Returns another value of one of its options, with the services that its flows would then offer: the option, the
    /// value and the services.
    fn other_services(&self) -> Option<(&'static str, &'static str, &'static [Service])> {
        None
    }

    /// Bytes of the smallest full packet that it can work with.
    fn least_packet(&self) -> u32 {
        0
    }

    /// Bytes of its full packet, with all headers, and the option that limits them; `None` where each datagram of the
    /// application is a packet.
    fn full_packet(&self, _default_packet: u32) -> Option<(u32, &'static str)> {
        None
    }

    /// Bytes that the largest datagram of an application would have as one of UDP, if it goes within full packets.
    fn largest_datagram(&self, _default_packet: u32) -> Option<u32> {
        None
    }

    /// Whether it sends packets that routers may mark (RFC 3168).
    fn sends_ect(&self) -> bool {
        false
    }

    /// Fills in what is not given.
    fn resolve(&mut self, _default_packet: u32) {}

    /// Whether the code that it names, if any, is among what scripts have registered as congestion controllers.
    ///
    /// # Errors
    /// Nobody has registered it.
    fn check_registered(&self, _controllers: &[String]) -> Result<(), FieldError> {
        Ok(())
    }

    /// The transport, from which ends are made.
    fn build(&self, default_packet: u32) -> Arc<dyn Transport>;
}

/// A service of a transport for applications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// A byte stream in each direction.
    ByteStream,
    /// Many of them side by side: what one loses holds no other up.
    Streams,
    /// Datagrams: each arrives whole and on its own, or not at all, and tells when it was written
    /// ([`Payload::written`]).
    Datagrams,
    /// The packets of applications that are not part of the run.
    Outside,
}

/// A transport with nothing left open, for the flows of an entry of a scenario.
pub trait Transport: Debug + Send + Sync {
    /// The name of its congestion controller; `None` if it has none.
    fn congestion(&self) -> Option<Cow<'static, str>> {
        None
    }

    /// Returns the transport with the congestion controllers that a script has registered, before ends are made; `None`
    /// if it needs none.
    ///
    /// # Errors
    /// `find` knows no controller of that name.
    fn supplied(&self, _find: &mut FindControl<'_>) -> Result<Option<Arc<dyn Transport>>, FieldError> {
        Ok(None)
    }

    /// Bytes of data in a full packet; 1 where packets are counted and not bytes.
    fn payload_bytes(&self) -> u32 {
        1
    }

    /// Whether an end sends packets by itself, because others arrive or time passes.
    fn answers(&self) -> bool {
        true
    }

    /// The shortest time after a packet for which an end sets a timer whose application only takes what arrives: for a
    /// delayed acknowledgment, in the handshake, or for its controller. `None` if none is promised.
    fn shortest_timer(&self) -> Option<Duration> {
        None
    }

    /// Whether its ends take notice of another address of the user ([`Endpoint::change_address`]).
    fn follows_gateways(&self) -> bool {
        false
    }

    /// Returns one of the two ends before a connection is opened.
    fn unopened_end(&self) -> Box<dyn Endpoint>;

    /// Opens a connection. Returns the end that opens it and the other, made by the options of each: they replace those
    /// of [`Transport::unopened_end`]. `None` where nothing is opened: these stay.
    fn open(&self, now: Time, options: [EndOptions; 2]) -> Option<[Box<dyn Endpoint>; 2]>;

    /// Whether it is the user's end that opens connections, whichever end's application does.
    fn opens_at_user(&self) -> bool {
        false
    }

    /// Whether its ends keep logs ([`EndOptions::logs`]).
    fn keeps_logs(&self) -> bool {
        false
    }

    /// The windows in bytes that an end can advertise for data that wait to be read; `None` if it advertises none, so
    /// that no proxy can hold the other end back.
    fn windows(&self) -> Option<RangeInclusive<u64>> {
        None
    }
}

/// The options of one end of a connection that is opened.
#[derive(Clone, Copy, Debug, Default)]
pub struct EndOptions {
    /// Differs between the ends of a run, for controllers with a random phase.
    pub entropy: u64,
    /// A proxy's end: it keeps what arrives until [`Act::Read`] says that it is gone, so much at most, which is one of
    /// [`Transport::windows`].
    pub holds: Option<Bytes>,
    /// It keeps a log of the connection, which is asked only of a transport that [`Transport::keeps_logs`].
    pub logs: bool,
}

impl TransportConfig {
    /// The names of the kinds, by their defaults, for which `holds` is true: to say what is allowed.
    pub fn names(holds: impl Fn(&dyn Kind) -> bool) -> String {
        let default = |name: &&str| serde_json::from_value(serde_json::json!({ "kind": name })).ok();
        let holds = |name: &&&str| default(name).is_some_and(|kind: TransportConfig| holds(kind.entry()));
        TransportConfig::ALL.iter().filter(holds).copied().collect::<Vec<_>>().join(" or ")
    }
}

/// The content of an IP packet, by the transport that made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// A TCP segment.
    Tcp(Segment),
    /// A UDP datagram.
    Udp(Datagram),
    /// A UDP datagram of QUIC.
    Quic(QuicPacket),
    /// A packet whose bytes are kept outside.
    External(ExternalPacket),
}

/// The properties of a payload that a network asks for, all at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outline {
    /// Bytes of the whole IP packet.
    pub bytes: u32,
    /// [`Payload::ecn`].
    pub ecn: Ecn,
    /// Whether it carries data of the application.
    pub has_data: bool,
    /// The offset of its data in the byte stream, or the number of the packet among those that its end sent.
    pub number: u64,
    /// The offset that it acknowledges, of a segment.
    pub acknowledges: Option<u64>,
}

impl Payload {
    /// See [`Outline`]. Most payloads are segments, and are asked for first.
    #[inline(always)]
    pub fn outline(&self) -> Outline {
        match self {
            Payload::Tcp(segment) => Outline {
                bytes: segment.wire_bytes(),
                ecn: segment.ecn,
                has_data: segment.has_data(),
                number: segment.seq,
                acknowledges: Some(segment.ack),
            },
            _ => self.other_outline(),
        }
    }

    /// The same of other payloads; in place, because a call would return it through memory.
    #[inline(always)]
    fn other_outline(&self) -> Outline {
        let plain = |bytes, ecn, number| Outline { bytes, ecn, has_data: true, number, acknowledges: None };
        match self {
            Payload::Tcp(_) => unreachable!("a segment"),
            Payload::Udp(datagram) => plain(datagram.wire_bytes(), Ecn::NotEct, datagram.number),
            Payload::Quic(packet) => {
                Outline { has_data: packet.has_data(), ..plain(packet.wire_bytes(), packet.ecn, packet.number) }
            }
            Payload::External(packet) => plain(packet.bytes, packet.ecn, packet.number),
        }
    }

    /// The number of the user's address in its IP header: how often that has changed before. Without a transport that
    /// takes notice it never does.
    pub fn address(&self) -> u32 {
        match self {
            Payload::Quic(packet) => packet.address,
            Payload::Tcp(_) | Payload::Udp(_) | Payload::External(_) => 0,
        }
    }

    /// Whether the application may get data by it: it has some, or is a SYN, which data that came earlier wait for.
    #[inline]
    pub fn brings_data(&self) -> bool {
        match self {
            Payload::Tcp(segment) => segment.has_data() || segment.flags.has(crate::Flags::SYN),
            Payload::Quic(packet) => packet.has_data(),
            Payload::Udp(_) | Payload::External(_) => true,
        }
    }

    /// The numbers of the datagrams of the application that it carries.
    #[inline]
    pub fn datagrams(&self) -> Range<u64> {
        match self {
            Payload::Udp(datagram) => datagram.number..datagram.number + 1,
            Payload::Quic(packet) => packet.datagrams(),
            Payload::Tcp(_) | Payload::External(_) => 0..0,
        }
    }

    /// When the application wrote datagram `number`, which it carries: with UDP it leaves at once, at `sent`. What is
    /// held back before it is sent is a payload that keeps the instant, or delays and scores are of the network alone.
    #[inline]
    pub fn written(&self, number: u64, sent: Time) -> Time {
        match self {
            Payload::Quic(packet) => packet.written(number).unwrap_or(sent),
            Payload::Tcp(_) | Payload::Udp(_) | Payload::External(_) => sent,
        }
    }

    /// The offset of its data in the byte stream, or the number of the datagram or external packet.
    #[inline]
    pub fn sequence(&self) -> u64 {
        match self {
            Payload::Tcp(segment) => segment.seq,
            Payload::Udp(datagram) => datagram.number,
            Payload::Quic(packet) => packet.sequence(),
            Payload::External(packet) => packet.number,
        }
    }

    /// Returns the offsets of a segment's bytes, or of another packet its number alone.
    #[inline]
    pub fn span(&self) -> Range<u64> {
        match self {
            Payload::Tcp(segment) => segment.seq..segment.end(),
            Payload::Udp(Datagram { number, .. }) => *number..number + 1,
            Payload::Quic(packet) => packet.number..packet.number + 1,
            Payload::External(packet) => packet.number..packet.number + 1,
        }
    }

    /// Returns the offset of its data in the byte stream, by which copies of lost data are known; `None` without a
    /// stream.
    #[inline]
    pub fn stream_offset(&self) -> Option<u64> {
        match self {
            Payload::Tcp(segment) => Some(segment.seq),
            Payload::Quic(packet) => packet.stream_offset(),
            Payload::Udp(_) | Payload::External(_) => None,
        }
    }

    /// The congestion mark of its IP header.
    #[inline]
    pub fn ecn(&self) -> Ecn {
        if let Payload::Tcp(segment) = self {
            return segment.ecn; // most are
        }
        match self {
            Payload::Tcp(segment) => segment.ecn,
            Payload::Udp(_) => Ecn::NotEct,
            Payload::Quic(packet) => packet.ecn,
            Payload::External(packet) => packet.ecn,
        }
    }

    /// Sets the congestion mark of its IP header.
    ///
    /// # Panics
    /// If its transport does not understand marks.
    #[inline]
    pub fn set_ecn(&mut self, ecn: Ecn) {
        match self {
            Payload::Tcp(segment) => segment.ecn = ecn,
            Payload::Quic(packet) => packet.ecn = ecn,
            Payload::External(packet) => packet.ecn = ecn,
            Payload::Udp(_) => unreachable!("a datagram cannot be marked"),
        }
    }
}

/// An action of an application at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Has this much more to send; a datagram has this many bytes of payload.
    Write(Bytes),
    /// Has this to send on a stream of many, and nothing more there. The end that opens the connection numbers them
    /// from 0, each with the first write on it.
    WriteStream {
        /// The stream.
        stream: u32,
        /// How much.
        bytes: Bytes,
    },
    /// Never runs out of data.
    WriteForEver,
    /// Has written all.
    Close,
    /// Reads this many of the bytes that have arrived, if the end keeps them until they are read.
    Read(Bytes),
    /// Sends an IP packet whose bytes are kept outside, at an end that is external.
    Offer {
        /// Bytes of the whole IP packet.
        bytes: u32,
        /// The number by which its owner knows it.
        ticket: u32,
        /// The congestion mark of its IP header.
        ecn: Ecn,
    },
}

/// Why an endpoint is entered.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// A packet from the other end arrives.
    Packet(&'a Payload),
    /// The instant of [`Answer::wake`] is reached, and [`Endpoint::postpone`] has told of no later one.
    Timeout,
    /// The application acted.
    Acted,
}

/// An input that an endpoint is asked to answer in place: see [`Endpoint::answer`].
#[derive(Clone, Copy, Debug)]
pub enum Prompt {
    /// The packet there arrives from the other end.
    Packet,
    /// The application writes this much ([`Act::Write`]), and that is all. What is there is no packet.
    Write(Bytes),
    /// The last reply was [`Reply::First`]: what else is to be sent. What is there is no packet.
    More,
}

/// The reply of an endpoint to a [`Prompt`]: a kind and a number, which are returned in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The endpoint has done nothing: the caller uses [`Endpoint::handle`].
    Refused,
    /// The input was handled, and nothing is to be sent. Of [`Endpoint::poll_state`] only this has changed.
    Quiet {
        /// [`Answer::delivered`].
        delivered: u64,
    },
    /// As [`Reply::Quiet`], and the packet that is written there is to be sent; its data were not sent before.
    Sent {
        /// [`Answer::delivered`].
        delivered: u64,
    },
    /// As [`Reply::Quiet`], and [`Endpoint::poll_state`] is to be asked.
    QuietChanged,
    /// As [`Reply::Sent`], and [`Endpoint::poll_state`] is to be asked.
    SentChanged {
        /// How often the packet's data were sent before.
        before: u64,
    },
    /// The packet that is written there is to be sent, and others may follow: [`Prompt::More`] is to be handed in,
    /// which is not refused.
    First {
        /// How often its data were sent before.
        before: u64,
    },
}

/// The state of an endpoint after an input, as far as its caller uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Payload bytes that have arrived for the application since the flow began: in order, or by datagrams.
    pub delivered: u64,
    /// The congestion window in packets, if there is one.
    pub window: Option<u32>,
    /// Whether this end may have nothing left to do: [`Endpoint::remains`] tells.
    pub over: bool,
    /// When to ask [`Endpoint::postpone`], and then perhaps to hand in [`Input::Timeout`].
    pub wake: Wake,
}

/// Takes a packet that an end sends: see [`Endpoint::handle`].
pub type SendPacket<'a> = dyn FnMut(&mut Payload, u32) + 'a;

/// One end of a flow. The defaults are those of an end without a connection.
pub trait Endpoint: Send {
    /// The application does something. It takes effect with the next [`Endpoint::handle`].
    fn act(&mut self, now: Time, act: Act);

    /// Hands in the host's memory of the peer from earlier connections, between opening and the first packet.
    fn recall(&mut self, _memory: PeerMemory) {}

    /// Returns what the host is to remember of the peer for later connections, if anything.
    fn memory(&self) -> Option<PeerMemory> {
        None
    }

    /// Something happens. Every packet to be sent now is written into `blank` and handed to `send`, with the number of
    /// times that its data were sent before. `send` may leave any other content there.
    fn handle(&mut self, now: Time, input: Input<'_>, blank: &mut Payload, send: &mut SendPacket<'_>) -> Answer;

    /// As [`Endpoint::handle`] with a packet that has arrived in `payload`, or with an act of the application: the
    /// packet that is to be sent then is written into `payload`. An endpoint may refuse any prompt but
    /// [`Prompt::More`] after a [`Reply::First`].
    fn answer(&mut self, _now: Time, _prompt: Prompt, _payload: &mut Payload) -> Reply {
        Reply::Refused
    }

    /// The state after a reply that asks for it, as of [`Endpoint::handle`]: the caller knows it from now on.
    fn poll_state(&mut self) -> Answer {
        unreachable!("no reply has asked for it")
    }

    /// At the instant of [`Answer::wake`]: if no timer is due yet, returns when one is, [`Time::MAX`] for never. The
    /// endpoint is to be woken then. Otherwise [`Input::Timeout`] is to be handed in. The default is that of an end
    /// that tells of no timer, or of each change.
    fn postpone(&mut self, _now: Time) -> Option<Time> {
        None
    }

    /// Payload bytes that the other end is known to have received in order; 0 where the transport does not report it.
    fn acknowledged_bytes(&self) -> u64 {
        0
    }

    /// Whether the data at `sequence` ([`Payload::sequence`]) have arrived here.
    fn has_received(&self, _sequence: u64) -> bool {
        false
    }

    /// Whether a connection exists that both ends know of.
    fn is_open(&self) -> bool {
        false
    }

    /// Whether the other end said that nothing more comes, and all of it has arrived here.
    fn has_been_closed(&self) -> bool {
        false
    }

    /// Whether this end is done sending: the other end has confirmed that all has arrived, or no more datagrams follow.
    fn has_finished(&self) -> bool {
        false
    }

    /// The user at this end gets another address; whether this transport takes notice. If so it is entered then.
    fn change_address(&mut self, _now: Time) -> bool {
        false
    }

    /// Returns how the connections ended and were reopened, of a transport that may end them by itself.
    fn lifetime(&self) -> Option<&Lifetime> {
        None
    }

    /// The next stream of many on which more has arrived in order since it was asked last, and all bytes that have
    /// arrived there.
    fn poll_stream(&mut self) -> Option<(u32, u64)> {
        None
    }

    /// Appends to `records` what was logged since it was asked last ([`EndOptions::logs`]).
    fn poll_log(&mut self, _records: &mut Vec<u8>) {}

    /// Returns what is to be kept of this end if it does nothing more by itself: it replaces this end where also no
    /// packet comes and the application does nothing. `None` if it has a timer, or more is asked of it.
    fn remains(&self) -> Option<Box<dyn Endpoint>> {
        None
    }

    /// Returns the counters of this end.
    fn counters(&self) -> Counters {
        Counters::default()
    }

    /// Returns the state of the sender at this moment, if a congestion controller sends.
    fn sample(&self) -> Option<SenderSample> {
        None
    }
}
