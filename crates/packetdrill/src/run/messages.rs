//! `recvmsg`: data with control messages, and completions of buffers that were sent without a copy.

use super::Runner;
use super::arguments::{Returned, has_flag, message_bytes, number_in};
use super::sockets::Wait;
use super::stop::{Stop, fail, skip};
use crate::host::Host;
use crate::script::{Call, Expr};

impl Runner {
    /// Waits for data, or returns at once the buffers that can be used again.
    pub(super) fn receive(&mut self, call: &Call) -> Result<Result<Wait, Returned>, Stop> {
        let fd = self.sockets.descriptor(call)?;
        let control = control(call)?;
        if has_flag(call.args.get(2), "MSG_ERRQUEUE") {
            return self.freed(fd, control).map(Err);
        }
        let most = message_bytes(call)?.max(0) as u64;
        let after = match control {
            None => None,
            Some(members) => match (text(members, "cmsg_type"), value(members, "cmsg_data")) {
                (Some("TCP_CM_INQ"), Some(Expr::Int(bytes))) => Some(*bytes),
                _ => return skip("msg_control"),
            },
        };
        if after.is_some() && !self.sockets.at(fd)?.tells_left {
            return fail("expected no TCP_CM_INQ of a socket without TCP_INQ");
        }
        Ok(Ok(Wait::Receive { fd, most, after }))
    }

    /// The next run of sends without a copy whose data are acknowledged (`MSG_ZEROCOPY`).
    fn freed(&mut self, fd: i64, control: Option<&[(String, Expr)]>) -> Result<Returned, Stop> {
        let acknowledged = self.host.as_ref().map_or(0, Host::acknowledged);
        let socket = self.sockets.at(fd)?;
        let now_copied = socket.uncopied.iter().take_while(|end| **end <= acknowledged).count() as i64;
        if now_copied == 0 {
            return Ok((-1, Some("EAGAIN")));
        }
        let first = socket.freed;
        socket.uncopied.drain(..now_copied as usize);
        socket.freed += now_copied;
        let data = control.and_then(|members| value(members, "cmsg_data"));
        let Some(Expr::Struct(told)) = data else { return fail("expected cmsg_data in a message of MSG_ERRQUEUE") };
        for (name, found) in [("ee_errno", 0), ("ee_info", first), ("ee_data", first + now_copied - 1)] {
            let expected = number_in(told, name)?;
            if expected != found {
                return fail(format!("expected {name} {expected}, found {found}"));
            }
        }
        Ok((0, None))
    }
}

/// The members of the only element of `msg_control`.
fn control(call: &Call) -> Result<Option<&[(String, Expr)]>, Stop> {
    let Some(Expr::Struct(members)) = call.args.get(1) else { return fail("expected a message in recvmsg") };
    match value(members, "msg_control") {
        None => Ok(None),
        Some(Expr::List(list)) => match list.as_slice() {
            [] => Ok(None),
            [Expr::Struct(members)] => Ok(Some(members)),
            _ => skip("several elements of msg_control"),
        },
        Some(_) => fail("expected a list msg_control"),
    }
}

fn value<'a>(members: &'a [(String, Expr)], name: &str) -> Option<&'a Expr> {
    members.iter().find(|(member, _)| member == name).map(|(_, value)| value)
}

fn text<'a>(members: &'a [(String, Expr)], name: &str) -> Option<&'a str> {
    match value(members, name)? {
        Expr::Symbols(names) => names.first().map(String::as_str),
        _ => None,
    }
}
