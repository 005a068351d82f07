//! The syntax tree of a script.

use units::{Duration, Ecn};

use super::lexer::ScriptOption;

/// A parsed file.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// `--name=value` lines at the head.
    pub options: Vec<ScriptOption>,
    /// Commands before the first event.
    pub setup: Vec<(u32, String)>,
    /// The events, in order.
    pub events: Vec<Event>,
}

/// A line of a script: an event that happens, or is expected, at a time.
#[derive(Clone, Debug)]
pub struct Event {
    /// Line in the file, from 1.
    pub line: u32,
    /// When.
    pub when: When,
    /// What happens or is expected.
    pub action: Action,
}

/// The time of an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum When {
    /// Since the start of the script.
    At(Duration),
    /// Since the event before.
    After(Duration),
    /// Between two times since the start; outbound packets only.
    AtRange(Duration, Duration),
    /// Between two times since the event before; outbound packets only.
    AfterRange(Duration, Duration),
    /// At any time; outbound packets only.
    Any,
}

/// The kind of an event.
#[derive(Clone, Debug)]
pub enum Action {
    /// A packet that arrives.
    Inbound(Packet),
    /// A packet that must be sent.
    Outbound(Packet),
    /// A system call of the application.
    Call(Call),
    /// Statements about the connection.
    Code(String),
    /// A shell command.
    Command(String),
}

/// A TCP packet.
#[derive(Clone, Debug, PartialEq)]
pub struct Packet {
    /// The mark in the IP header, if written.
    pub ecn: Option<IpEcn>,
    /// Control bits.
    pub flags: PacketFlags,
    /// First sequence number, relative to its sender's initial one.
    pub seq: u64,
    /// Bytes of payload.
    pub len: u32,
    /// Acknowledgment number, relative to the other side's initial sequence number.
    pub ack: Option<u64>,
    /// The raw window field.
    pub window: Option<u32>,
    /// Options.
    pub options: OptionList,
}

/// `[ect0]`, `[ce]` …
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpEcn {
    /// This codepoint.
    Is(Ecn),
    /// Either of the ECN-capable ones.
    Capable,
}

/// Control bits as written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketFlags {
    /// S
    pub syn: bool,
    /// F
    pub fin: bool,
    /// R
    pub rst: bool,
    /// P
    pub psh: bool,
    /// . or A
    pub ack: bool,
    /// E
    pub ece: bool,
    /// W
    pub cwr: bool,
}

/// The options of a packet.
#[derive(Clone, Debug, PartialEq)]
pub enum OptionList {
    /// `<...>`: not compared.
    Any,
    /// These, in this order; empty if no options are written.
    These(Vec<TcpOption>),
}

/// A TCP option.
#[derive(Clone, Debug, PartialEq)]
pub enum TcpOption {
    /// `mss N`
    Mss(u16),
    /// `wscale N`
    WindowScale(u8),
    /// `sackOK`
    SackPermitted,
    /// `nop`
    Nop,
    /// `eol`
    Eol,
    /// `sack a:b c:d`
    Sack(Vec<(u64, u64)>),
    /// `TS val V ecr E`
    Timestamps(u32, u32),
    /// `FO cookie`, in hexadecimal digits; without any it is a request.
    FastOpen(String),
    /// `FOEXP cookie`: the same in the shared experimental option.
    FastOpenExperimental(String),
}

impl TcpOption {
    /// Bytes in the header.
    pub fn bytes(&self) -> usize {
        match self {
            TcpOption::Mss(_) => 4,
            TcpOption::WindowScale(_) => 3,
            TcpOption::SackPermitted => 2,
            TcpOption::Nop | TcpOption::Eol => 1,
            TcpOption::Sack(blocks) => 2 + 8 * blocks.len(),
            TcpOption::Timestamps(..) => 10,
            TcpOption::FastOpen(cookie) => 2 + cookie.len() / 2,
            TcpOption::FastOpenExperimental(cookie) => 4 + cookie.len() / 2,
        }
    }
}

/// `name(arguments) = result ERRNO`.
#[derive(Clone, Debug)]
pub struct Call {
    /// When a blocking call must return, relative to the same instant as its beginning.
    pub until: Option<Duration>,
    /// Function.
    pub name: String,
    /// Arguments.
    pub args: Vec<Expr>,
    /// The expected return value.
    pub result: Expr,
    /// The expected error, with a return value of -1.
    pub errno: Option<String>,
}

/// An argument or result.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// `...`: any value.
    Whatever,
    /// A number.
    Int(i64),
    /// `"text"`
    Text(String),
    /// `SOL_TCP`, also several joined by `|`.
    Symbols(Vec<String>),
    /// `[a, b]`
    List(Vec<Expr>),
    /// `{name=a, …}`; a member without a name has an empty one.
    Struct(Vec<(String, Expr)>),
    /// `htons(8080)`
    Function(String, Vec<Expr>),
}
