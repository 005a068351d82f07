//! Socket options.

use transport::State;
use units::Duration;

use super::Runner;
use super::arguments::{listed, returns, symbol};
use super::sockets::Role;
use super::stop::{Stop, fail, skip};
use crate::host::Host;
use crate::script::{Call, Expr};

/// The range of `TCP_MAXSEG`; its end is the default.
const SEGMENTS: std::ops::RangeInclusive<i64> = 88..=32_767;
const DEFAULT_SEGMENT: i64 = 536;
/// The errors of a connection, with the numbers of `SO_ERROR`.
const FAILURES: [(&str, i64); 3] = [("ECONNRESET", 104), ("ETIMEDOUT", 110), ("ECONNREFUSED", 111)];
/// Socket options without effect here.
const WITHOUT_EFFECT: [&str; 8] =
    ["SO_MARK", "SO_REUSEADDR", "SO_REUSEPORT", "SO_PRIORITY", "IP_TOS", "IPV6_TCLASS", "IP_MTU_DISCOVER", "IP_TTL"];

impl Runner {
    pub(super) fn set_option(&mut self, call: &Call) -> Result<(), Stop> {
        let fd = self.sockets.descriptor(call)?;
        let now = self.clock.now;
        let option = symbol(call, 2)?;
        match option {
            _ if WITHOUT_EFFECT.contains(&option) => {}
            "SO_SNDBUF" => {
                let bytes = listed(call, 3)?;
                self.sockets.at(fd)?.send_buffer = Some(2 * bytes.clamp(0, i64::from(u32::MAX)) as u64);
            }
            "TCP_NODELAY" => {
                let on = listed(call, 3)? != 0;
                self.sockets.at(fd)?.nodelay = Some(on);
                self.on_connection(fd, |host| host.set_nagle(now, !on))?;
            }
            "TCP_CORK" => {
                let on = listed(call, 3)? != 0;
                self.sockets.at(fd)?.cork = on;
                self.on_connection(fd, |host| host.set_cork(now, on))?;
            }
            "TCP_USER_TIMEOUT" => {
                let Ok(ms) = u32::try_from(listed(call, 3)?) else { return returns(call, (-1, Some("EINVAL"))) };
                let timeout = (ms > 0).then(|| Duration::from_millis(ms.into()));
                self.sockets.at(fd)?.user_timeout = timeout;
                self.on_connection(fd, |host| host.set_user_timeout(timeout))?;
            }
            "TCP_FASTOPEN" | "TCP_FASTOPEN_CONNECT" => {
                let on = listed(call, 3)? > 0;
                if option == "TCP_FASTOPEN_CONNECT" && !self.stack.fast_open.for_clients() {
                    return returns(call, (-1, Some("EOPNOTSUPP")));
                }
                self.set_fast(fd, on)?;
            }
            "TCP_FASTOPEN_KEY" => {
                let returned = self.set_fast_key(call, fd)?;
                return returns(call, returned);
            }
            "SO_ZEROCOPY" => self.sockets.at(fd)?.zero_copy = listed(call, 3)? != 0,
            "TCP_INQ" => self.sockets.at(fd)?.tells_left = listed(call, 3)? != 0,
            "SO_LINGER" => self.sockets.at(fd)?.resets = resets_on_close(call)?,
            "TCP_CONGESTION" if self.host.is_none() => {
                let Some(Expr::Text(name)) = call.args.get(3) else {
                    return fail("expected a text for TCP_CONGESTION");
                };
                let mut table = toml::Table::new();
                table.insert("kind".into(), toml::Value::String(name.clone()));
                self.stack.set("congestion", toml::Value::Table(table));
            }
            "TCP_MAXSEG" => {
                let bytes = listed(call, 3)?;
                if bytes != 0 && !SEGMENTS.contains(&bytes) {
                    return returns(call, (-1, Some("EINVAL")));
                }
                self.limit_segments(fd, Some(bytes).filter(|&bytes| bytes > 0))?;
            }
            "SO_RCVBUF" if self.host.is_none() => {
                let bytes = listed(call, 3)?.clamp(0, 1 << 40);
                self.stack.set("receive_buffer", toml::Value::String(format!("{} B", 2 * bytes)));
            }
            other => return skip(format!("option {other}")),
        }
        returns(call, (0, None))
    }

    /// Acts on the connection of a descriptor, if the descriptor has one.
    fn on_connection(&mut self, fd: i64, act: impl FnOnce(&mut Host)) -> Result<(), Stop> {
        let stands = match self.sockets.at(fd)?.role {
            Role::Connected => true,
            Role::Listening => !self.accepted,
            Role::Fresh | Role::Deferred | Role::Closed => false,
        };
        if let Some(host) = self.host.as_mut().filter(|_| stands) {
            act(host);
        }
        Ok(())
    }

    /// The segment size is fixed when a connection opens.
    fn limit_segments(&mut self, fd: i64, bytes: Option<i64>) -> Result<(), Stop> {
        let socket = self.sockets.at(fd)?;
        socket.max_segment = bytes;
        let role = socket.role;
        let waits = self.host.as_ref().is_some_and(|host| host.info().state == State::Listen);
        match role {
            Role::Listening if waits => self.open_passively(),
            Role::Connected => skip("TCP_MAXSEG of an open connection"),
            _ => Ok(()),
        }
    }

    pub(super) fn option_value(&mut self, call: &Call) -> Result<(), Stop> {
        let fd = self.sockets.descriptor(call)?;
        let option = symbol(call, 2)?.to_owned();
        let expected = match call.args.get(3) {
            Some(Expr::List(list)) if matches!(list.as_slice(), [Expr::Symbols(_)]) => failure_number(list)?,
            _ => listed(call, 3)?,
        };
        let socket = self.sockets.at(fd)?.clone();
        let value = match option.as_str() {
            "SO_ERROR" => {
                let failure = self.failure.take(self.host.as_ref());
                FAILURES.iter().find(|(name, _)| failure == Some(name)).map_or(0, |(_, number)| *number)
            }
            "SO_SNDBUF" => socket.send_buffer.map_or(expected, |bytes| bytes as i64),
            "TCP_NODELAY" => i64::from(socket.nodelay == Some(true)),
            "TCP_CORK" => i64::from(socket.cork),
            "TCP_USER_TIMEOUT" => socket.user_timeout.map_or(0, |timeout| (timeout.as_nanos() / 1_000_000) as i64),
            "TCP_MAXSEG" => match &self.host {
                Some(host) if socket.role == Role::Connected => i64::from(host.info().mss),
                _ => socket.max_segment.unwrap_or(DEFAULT_SEGMENT),
            },
            other => return skip(format!("option {other}")),
        };
        if value != expected {
            return fail(format!("expected {option} {expected}, found {value}"));
        }
        returns(call, (0, None))
    }
}

/// Whether `SO_LINGER` has a timeout of 0: closing resets the connection then.
fn resets_on_close(call: &Call) -> Result<bool, Stop> {
    let Some(Expr::Struct(members)) = call.args.get(3) else { return fail("expected a structure for SO_LINGER") };
    let member = |name: &str| members.iter().find(|(member, _)| member == name).map(|(_, value)| value);
    match (member("onoff"), member("linger")) {
        (Some(Expr::Int(0)), _) => Ok(false),
        (Some(Expr::Int(_)), Some(Expr::Int(0))) => Ok(true),
        _ => skip("SO_LINGER for a time"),
    }
}

/// The number of the error that is named in a list.
fn failure_number(list: &[Expr]) -> Result<i64, Stop> {
    let [Expr::Symbols(names)] = list else { return fail("expected one failure") };
    match FAILURES.iter().find(|(name, _)| *names == [*name]) {
        Some((_, number)) => Ok(*number),
        None => skip(format!("failure {}", names.join("|"))),
    }
}
