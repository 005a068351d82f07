//! Runs scripts against a connection in virtual time.
//!
//! Time moves only from one event to the next. Timers fire at their instants between, and at the instant of an event
//! before it. The endpoints have a clock tick of 1 ms, for which the published scripts are written.

mod arguments;
mod calls;
mod clock;
mod cookies;
mod failure;
mod messages;
mod names;
mod opening;
mod options;
mod packets;
mod sockets;
mod stamps;
mod stop;
mod sysctl;
mod waiting;

use clock::Clock;
use cookies::Cookies;
use failure::Failure;
use sockets::{Blocked, Sockets};
use stamps::Stamps;
use stop::{Stop, skip};
pub use sysctl::Stack;
use transport::PeerMemory;
use units::{Duration, Time};

use crate::assertions::Statements;
use crate::host::Host;
use crate::outcome::Outcome;
use crate::script::{Action, Event, Script, ScriptError, ScriptOption, parse};

/// The options of the runner.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Compare PSH too, and fail if an unexpected segment was sent when a packet arrives.
    pub strict: bool,
    /// Symbols and their values, with precedence over those of a file.
    pub defines: Vec<(String, String)>,
    /// Options, with precedence over those of a file.
    pub overrides: Vec<(String, String)>,
}

/// Names of the options that a file, or the command line, may have.
pub const OPTIONS: [&str; 19] = [
    "tcp_ts_ecr_scaled",
    "tolerance_usecs",
    "tolerance_percent",
    "mss",
    "tcp_ts_tick_usecs",
    "strict_segments",
    "define",
    "ip_version",
    "local_ip",
    "remote_ip",
    "gateway_ip",
    "netmask_ip",
    "bind_port",
    "connect_port",
    "init_scripts",
    "speed",
    "mtu",
    "verbose",
    "dry_run",
];

/// Runs the script in `text`.
pub fn run(text: &str, options: &Options) -> Outcome {
    let script = match parse(text, &options.defines) {
        Ok(script) => script,
        Err(error @ ScriptError::Syntax(..)) => return Outcome::Fail(error.to_string()),
        Err(error @ ScriptError::Unsupported(..)) => return Outcome::Skip(error.to_string()),
    };
    let mut runner = Runner::new(options.strict);
    match runner.play(&script, &options.overrides) {
        Ok(()) => Outcome::Pass,
        Err((line, Stop::Fail(reason))) => Outcome::Fail(format!("line {line}: {reason}")),
        Err((line, Stop::Skip(construct))) => Outcome::Skip(format!("{construct} (line {line})")),
    }
}

/// The options of a file.
struct ScriptRules {
    strict: bool,
    strict_segments: bool,
    /// Payload of the segments into which a longer inbound packet is cut.
    mss: Option<u32>,
    /// Length of a tick of the script's timestamps; with `None` their values are not compared.
    stamp_tick: Option<Duration>,
}

/// A running script.
struct Runner {
    rules: ScriptRules,
    clock: Clock,
    stack: Stack,
    host: Option<Host>,
    sockets: Sockets,
    blocked: Option<Blocked>,
    stamps: Stamps,
    statements: Statements,
    /// When data last arrived.
    data_received: Time,
    /// Whether the application has accepted the connection.
    accepted: bool,
    failure: Failure,
    /// The memory of the peer from earlier connections.
    memory: PeerMemory,
    cookies: Cookies,
    /// The initial sequence number that the script gives the peer.
    peers_start: Option<u64>,
}

impl Runner {
    fn new(strict: bool) -> Runner {
        Runner {
            rules: ScriptRules { strict, strict_segments: false, mss: None, stamp_tick: None },
            clock: Clock::default(),
            stack: Stack::linux(),
            host: None,
            sockets: Sockets::default(),
            blocked: None,
            stamps: Stamps::default(),
            statements: Statements::default(),
            data_received: Time::ZERO,
            accepted: false,
            failure: Failure::default(),
            memory: PeerMemory::default(),
            cookies: Cookies::default(),
            peers_start: None,
        }
    }

    fn play(&mut self, script: &Script, overrides: &[(String, String)]) -> Result<(), (u32, Stop)> {
        for option in &script.options {
            if !overrides.iter().any(|(name, _)| *name == option.name) {
                self.option(option).map_err(|stop| (option.line, stop))?;
            }
        }
        for (name, value) in overrides {
            let option = ScriptOption { line: 0, name: name.clone(), value: value.clone() };
            self.option(&option).map_err(|stop| (0, stop))?;
        }
        for (line, text) in &script.setup {
            self.stack.run(text).map_err(|construct| (*line, Stop::Skip(construct)))?;
        }
        for (at, event) in script.events.iter().enumerate() {
            let last = at + 1 == script.events.len();
            self.event(event, last).map_err(|stop| (event.line, stop))?;
        }
        let line = self.blocked.as_ref().map_or(0, |blocked| blocked.line);
        self.unblock().map_err(|stop| (line, stop))
    }

    fn option(&mut self, option: &ScriptOption) -> Result<(), Stop> {
        let wrong = |what: &str| Stop::Fail(format!("--{}: expected {what}, found {:?}", option.name, option.value));
        let number = |what: &str| option.value.parse::<u64>().map_err(|_| wrong(what));
        match option.name.as_str() {
            "tolerance_usecs" => {
                self.clock.tolerance = Duration::from_micros(number("microseconds")?.min(1_000_000_000))
            }
            "tolerance_percent" => {
                let percent = option.value.parse().ok().filter(|percent| (0.0..=100.0).contains(percent));
                self.clock.percent = percent.ok_or_else(|| wrong("a percentage"))?;
            }
            "mss" => self.rules.mss = Some(number("bytes")?.clamp(1, 65_535) as u32),
            "tcp_ts_tick_usecs" => {
                let tick = number("microseconds")?.min(1_000_000);
                self.rules.stamp_tick = (tick > 0).then_some(Duration::from_micros(tick));
            }
            "local_ip" => self.cookies.local = option.value.parse().ok(),
            "remote_ip" => self.cookies.remote = option.value.parse().ok(),
            "strict_segments" => self.rules.strict_segments = true,
            "define" => {}
            "ip_version" if option.value.starts_with("ipv4") || option.value == "ipv6" => {}
            "ip_version" | "mtu" => return skip(format!("option --{}={}", option.name, option.value)),
            name if OPTIONS.contains(&name) => {} // addresses and the like, which a connection does not have
            name => return skip(format!("option --{name}")),
        }
        Ok(())
    }

    fn event(&mut self, event: &Event, last: bool) -> Result<(), Stop> {
        let inbound = matches!(event.action, Action::Inbound(_));
        let range = self.clock.range(event.when, inbound)?;
        if let Action::Outbound(packet) = &event.action {
            let sent = self.expect(packet, &range)?;
            self.clock.done(range.start.unwrap_or(sent), false);
            return Ok(());
        }
        let start = range.start.unwrap_or(self.clock.now);
        self.advance(start)?;
        match &event.action {
            Action::Inbound(packet) => self.inject(packet)?,
            Action::Call(call) => self.call(call, event)?,
            Action::Code(code) => {
                let names = self.names();
                self.statements.run(code, &names)?;
            }
            Action::Command(text) => self.command(text, last)?,
            Action::Outbound(_) => {}
        }
        self.clock.done(start, inbound);
        Ok(())
    }

    /// Runs a shell command. Options are read when a connection opens; an open connection cannot change them.
    fn command(&mut self, text: &str, last: bool) -> Result<(), Stop> {
        let mut stack = self.stack.clone();
        let result = stack.run(text);
        if last {
            return Ok(()); // a command that cleans up
        }
        result.map_err(Stop::Skip)?;
        if text.contains("tcp_metrics flush") {
            self.memory = PeerMemory::default();
            if let Some(host) = &mut self.host {
                host.forget();
            }
        }
        if self.host.is_some() && !stack.differs_for_new_only(&self.stack) {
            return skip(format!("command while a connection is open: {}", text.trim()));
        }
        self.stack = stack;
        Ok(())
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
