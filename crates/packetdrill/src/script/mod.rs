//! The language: characters to tokens to a syntax tree, the [`Script`].
//!
//! A file is `[--options] [`set-up command`] events [`clean-up command`]`; an event is a time and an action. Constructs
//! that a transport alone cannot express (UDP, ICMP, Fast Open …) are reported as unsupported, not as errors.

mod ast;
mod cursor;
mod error;
mod lexer;
mod packet;
mod parser;

pub use ast::{Action, Call, Event, Expr, IpEcn, OptionList, Packet, PacketFlags, Script, TcpOption, When};
pub use error::ScriptError;
pub use lexer::ScriptOption;
pub use parser::parse;
