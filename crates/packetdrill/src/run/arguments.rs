//! A call in a script: its arguments and its result.

use super::stop::{Stop, fail};
use crate::script::{Call, Expr};

/// The return value of a call, and the name of the error.
pub(super) type Returned = (i64, Option<&'static str>);

/// Compares the return value of a call with the script's.
pub(super) fn returns(call: &Call, (result, error): Returned) -> Result<(), Stop> {
    let words = match error {
        Some(error) => format!("{result} {error}"),
        None => result.to_string(),
    };
    let right = match call.result {
        Expr::Whatever => true,
        Expr::Int(expected) => expected == result && (call.errno.is_none() || call.errno.as_deref() == error),
        _ => return fail(format!("expected a number as the result of {}", call.name)),
    };
    if right {
        return Ok(());
    }
    let expected = match (&call.result, &call.errno) {
        (Expr::Int(number), Some(error)) => format!("{number} {error}"),
        (Expr::Int(number), None) => number.to_string(),
        _ => "a number".into(),
    };
    fail(format!("expected {} to return {expected}, it returned {words}", call.name))
}

/// Whether a message has control data.
pub(super) fn has_control(call: &Call) -> bool {
    let Some(Expr::Struct(members)) = call.args.get(1) else { return false };
    members.iter().any(|(name, _)| name == "msg_control")
}

/// Bytes of all parts of the message of `sendmsg`.
pub(super) fn message_bytes(call: &Call) -> Result<i64, Stop> {
    let Some(Expr::Struct(members)) = call.args.get(1) else { return fail("expected a message in sendmsg") };
    let parts = members.iter().find(|(name, _)| name == "msg_iov");
    let Some((_, Expr::List(parts))) = parts else { return fail("expected a list msg_iov in sendmsg") };
    let bytes = |part: &Expr| match part {
        Expr::Struct(part) => match part.as_slice() {
            [_, (_, Expr::Int(bytes))] => Some(*bytes),
            _ => None,
        },
        _ => None,
    };
    let total = parts.iter().try_fold(0_i64, |total, part| total.checked_add(bytes(part)?));
    total.map_or_else(|| fail("expected parts {data, bytes} in msg_iov"), Ok)
}

pub(super) fn number(call: &Call, at: usize) -> Result<i64, Stop> {
    match call.args.get(at) {
        Some(Expr::Int(number)) => Ok(*number),
        _ => fail(format!("expected a number as argument {} of {}", at + 1, call.name)),
    }
}

/// The number of a member.
pub(super) fn number_in(members: &[(String, Expr)], name: &str) -> Result<i64, Stop> {
    match members.iter().find(|(member, _)| member == name) {
        Some((_, Expr::Int(number))) => Ok(*number),
        _ => fail(format!("expected a number {name}")),
    }
}

pub(super) fn symbol(call: &Call, at: usize) -> Result<&str, Stop> {
    match call.args.get(at) {
        Some(Expr::Symbols(names)) if names.len() == 1 => Ok(&names[0]),
        _ => fail(format!("expected a symbol as argument {} of {}", at + 1, call.name)),
    }
}

/// The number in `[number]`, or the number alone.
pub(super) fn listed(call: &Call, at: usize) -> Result<i64, Stop> {
    let Some(Expr::List(list)) = call.args.get(at) else { return number(call, at) };
    match list.as_slice() {
        [Expr::Int(number)] => Ok(*number),
        _ => fail(format!("expected one number in argument {} of {}", at + 1, call.name)),
    }
}

/// Whether the flags of a call have this one.
pub(super) fn has_flag(flags: Option<&Expr>, flag: &str) -> bool {
    matches!(flags, Some(Expr::Symbols(names)) if names.iter().any(|name| name == flag))
}
