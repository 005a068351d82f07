//! The language: text to tokens to a [`Script`].
//!
//! A file is `[--options] [`set-up command`] events [`clean-up command`]`; an event is a time and an action. Constructs
//! that a transport alone cannot express (UDP, ICMP, Fast Open …) are reported as unsupported, not as errors.

mod ast;
mod lexer;
mod packet;
mod parser;

pub use ast::{Action, Call, Event, Expr, IpEcn, OptionList, Packet, PacketFlags, Script, TcpOption, When};
pub use lexer::FileOption;
pub use parser::parse;

/// Why a script cannot be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptError {
    /// A syntax error: the line, counted from 1, and what was expected.
    Syntax(u32, String),
    /// A construct of the language that is not supported.
    Unsupported(u32, String),
}

impl std::fmt::Display for ScriptError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ScriptError::Syntax(line, message) => write!(f, "line {line}: {message}"),
            ScriptError::Unsupported(line, construct) => write!(f, "{construct} (line {line})"),
        }
    }
}
