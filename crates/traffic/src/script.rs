//! A source that calls a user's code: a script, or code outside of this crate.
//!
//! A [`Program`] is handed the time and the bytes that have arrived, and acts by [`Acts`], which refuses what an
//! application cannot do: to write before it opens, or after it closes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::plugin::{self, Supplied};
use units::{Bytes, Duration, FieldError, IPV4_UDP_HEADER_BYTES, Time};

use crate::{
    Act, Acts, End, FindProgram, Kind, MOST_CONNECTIONS, MakeProgram, MakeRng, Needs, Program, ProgramStart, Service,
    Source, UserSource, of_each_user,
};

/// Traffic of a script: a class that it has registered acts for each user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Script {
    /// The name under which the script has registered its source.
    pub name: String,
    /// When it is asked first, from the start of the run.
    pub start: Duration,
    /// The transport that it needs: `"stream"`, bytes from the server to the user; `"exchange"`, bytes both ways, whose
    /// arrivals it sees; `"datagrams"`, packets of UDP from the server to the user.
    pub service: Service,
    /// The most connections that it opens, each a flow; 1 to 64.
    #[schemars(range(min = 1, max = 64))]
    pub connections: u32,
    /// The largest datagram that it writes, with IP and UDP headers.
    pub packet: Bytes,
    /// The maker of the program; [`Kind::supply`] puts it here.
    #[serde(skip)]
    #[schemars(skip)]
    maker: Supplied<MakeProgram>,
}

impl Default for Script {
    fn default() -> Script {
        Script {
            name: String::new(),
            start: Duration::ZERO,
            service: Service::ByteStream,
            connections: 1,
            packet: Bytes::new(1_000),
            maker: Supplied::default(),
        }
    }
}

impl Script {
    /// The source of this name, with the defaults.
    pub fn named(name: &str) -> Script {
        Script { name: name.to_owned(), ..Script::default() }
    }

    fn largest_datagram(&self) -> u64 {
        self.packet.get().saturating_sub(u64::from(IPV4_UDP_HEADER_BYTES))
    }
}

impl Kind for Script {
    fn check(&self) -> Result<(), FieldError> {
        plugin::check_given("source", &self.name)?;
        if !(1..=MOST_CONNECTIONS).contains(&self.connections) {
            let reason = format!("{} is not from 1 to {MOST_CONNECTIONS}", self.connections);
            return Err(FieldError::new("connections", reason));
        }
        let least = u64::from(IPV4_UDP_HEADER_BYTES) + 1;
        if !(least..=65_535).contains(&self.packet.get()) {
            return Err(FieldError::new("packet", format!("{} is not from {least} to 65535 B", self.packet)));
        }
        Ok(())
    }

    fn build(&self, offsets: &[Duration], duration: Duration, streams: &mut MakeRng) -> Vec<UserSource> {
        let make = self.maker.get();
        let mut user = 0;
        of_each_user(offsets, streams, |offset, own| {
            let start = Time::ZERO + self.start + offset;
            let entropy = own("traffic.script").next_u64();
            let given = ProgramStart { user, start, duration, entropy };
            user += 1;
            let acts = Acts::new(self.service, self.connections, self.largest_datagram());
            [ScriptSource { program: make(&given), acts, due: Some(start), last_delivery: Time::ZERO }]
        })
    }

    fn needs(&self) -> Needs {
        match self.service {
            Service::ByteStream => Needs::ByteStream,
            Service::Exchange => Needs::Exchange,
            Service::Datagrams => Needs::Datagrams { packet: self.packet.get() as u32 },
        }
    }

    fn expected_flows(&self, users: u32, _duration: Duration) -> f64 {
        f64::from(users) * f64::from(self.connections)
    }

    fn check_registered(&self, registered: &[String]) -> Result<(), FieldError> {
        plugin::check_registered("source", &self.name, registered)
    }

    fn supply(&mut self, find: &mut FindProgram<'_>) -> Result<(), FieldError> {
        self.maker.supply("source", &self.name, find)
    }
}

struct ScriptSource {
    program: Box<dyn Program>,
    acts: Acts,
    due: Option<Time>,
    /// When the last data arrived: acts in response are due then.
    last_delivery: Time,
}

impl ScriptSource {
    /// Returns `due`, moved to after `now`: a program cannot hold the time.
    fn after(now: Time, due: Option<Time>) -> Option<Time> {
        due.map(|due| due.max(now + Duration::from_nanos(1)))
    }
}

impl Source for ScriptSource {
    fn connections(&self) -> u32 {
        self.acts.connections()
    }

    fn poll_action(&mut self, now: Time) -> Option<Act> {
        if self.acts.is_empty() && self.due.is_some_and(|due| due <= now) {
            let next = self.program.on_timeout(now, &mut self.acts);
            self.due = ScriptSource::after(now, next);
        }
        self.acts.pop()
    }

    fn poll_timeout(&self) -> Option<Time> {
        if self.acts.is_empty() { self.due } else { Some(self.last_delivery) }
    }

    fn handle_delivered(&mut self, now: Time, connection: u32, end: End, bytes: u64) {
        self.last_delivery = now;
        let next = self.program.on_delivered(now, connection, end, bytes, &mut self.acts);
        self.due = ScriptSource::after(now, next).or(self.due);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Action;
    use crate::program::MOST_BYTES;
    use crate::tests::{entry_streams, run, scripted};

    #[test]
    fn it_acts_when_it_asked_to() {
        let offsets = [Duration::from_secs(2)];
        let mut built = scripted().entry().build(&offsets, Duration::from_secs(9), &mut entry_streams(1));
        let done = run(&mut *built[0].source, Duration::from_millis(1));
        let seconds: Vec<f64> = done.iter().map(|(at, _)| at.as_secs_f64()).collect();
        assert_eq!(seconds, [2.0, 2.0, 3.0, 4.0, 4.0]);
    }

    #[test]
    fn what_an_application_cannot_do_is_refused() {
        let refused = |service, acts: &[(End, Action)]| {
            let mut all = Acts::new(service, 1, 972);
            let told = acts.iter().map(|&(end, action)| all.push(Act::on_first(end, action)));
            told.last().unwrap().unwrap_err()
        };
        use Action::{Close, Open, Write, WriteForEver};
        let write = |bytes| (End::Server, Write(Bytes::new(bytes)));
        let open = (End::Server, Open);
        assert_eq!(refused(Service::ByteStream, &[write(1)]), "connection 0 is not open yet");
        assert_eq!(refused(Service::ByteStream, &[open, open]), "connection 0 is open");
        let closed = refused(Service::ByteStream, &[open, (End::Server, Close), write(1)]);
        assert_eq!(closed, "connection 0 is closed at this end");
        assert_eq!(refused(Service::Datagrams, &[open, write(973)]), "973 B are not from 1 to 972 B");
        assert_eq!(refused(Service::ByteStream, &[open, write(0)]), format!("0 B are not from 1 to {MOST_BYTES} B"));
        assert!(refused(Service::ByteStream, &[open, (End::User, Close)]).contains("exchange"));
        assert!(refused(Service::Datagrams, &[open, (End::Server, WriteForEver)]).contains("have an end"));
        let after = refused(Service::ByteStream, &[open, (End::Server, WriteForEver), write(1)]);
        assert!(after.contains("for ever"), "{after}");
        let act = Act { connection: 1, ..Act::on_first(End::Server, Open) };
        assert!(Acts::new(Service::ByteStream, 1, 1).push(act).unwrap_err().starts_with("connection 1 of 1"));
    }
}
