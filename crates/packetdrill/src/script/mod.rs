//! The language: text to tokens to a [`Script`].
//!
//! A file is `[--options] [`set-up command`] events [`clean-up command`]`, an event a time and an action. What the language has
//! and a transport alone cannot express (UDP, ICMP, Fast Open …) is reported as unsupported, not as a mistake.

mod ast;
mod lexer;
mod packet;
mod parser;

pub use ast::{Action, Call, Event, Expr, IpEcn, OptionList, Packet, PacketFlags, Script, TcpOption, When};
pub use lexer::FileOption;
pub use parser::parse;

/// Why a text is no script that can be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptError {
    /// It is not in the language: the line, counted from 1, and what was expected.
    Syntax(u32, String),
    /// It is in the language, and this construct is not covered.
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
