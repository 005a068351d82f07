//! Packets of a script: `[ip] flags seq:end(len) [ack N] [win N] [urg N] [<options>]`.

use units::Ecn;

use super::ast::{IpEcn, OptionList, Packet, PacketFlags, TcpOption};
use super::cursor::Parser;
use super::error::ScriptError;
use super::lexer::TokenKind;

/// Other protocols with which a packet's line can begin.
const OTHER_PROTOCOLS: [&str; 10] =
    ["udp", "udplite", "icmp", "icmpv4", "icmpv6", "sctp", "gre", "mpls", "ipv4", "ipv6"];
/// The most bytes of options in a header.
const OPTION_BYTES: usize = 40;
/// Options of extensions that the transport does not have.
const OTHER_OPTIONS: [&str; 6] = ["md5", "ECN", "fast_open", "mp_capable", "mp_join", "dss"];

/// A packet that arrives: window and options are required.
pub(super) fn inbound(parser: &mut Parser) -> Result<Packet, ScriptError> {
    let mut packet = packet(parser)?;
    if packet.flags.ack {
        packet.ack.get_or_insert(0); // a field that is not written is 0
    }
    if packet.window.is_none() {
        return parser.expected("`win` and the window, which an inbound packet must have");
    }
    if packet.options == OptionList::Any {
        return parser.error("expected the options of an inbound packet, found `<...>`");
    }
    if packet.ecn == Some(IpEcn::Capable) {
        return parser.error("expected one codepoint for an inbound packet, found `ect01`");
    }
    Ok(packet)
}

/// A packet that must be sent.
pub(super) fn outbound(parser: &mut Parser) -> Result<Packet, ScriptError> {
    let packet = packet(parser)?;
    if packet.flags.ack && packet.ack.is_none() {
        return parser.error("expected `ack` and a number in an outbound packet with the flag `.`");
    }
    Ok(packet)
}

fn packet(parser: &mut Parser) -> Result<Packet, ScriptError> {
    let ecn = ip_fields(parser)?;
    if let TokenKind::Word(word) = parser.peek()
        && OTHER_PROTOCOLS.contains(&word.to_lowercase().as_str())
    {
        return parser.unsupported(format!("{word} packet"));
    }
    let flags = flags(parser)?;
    let (seq, len) = sequence(parser)?;
    let ack = if parser.accept_word("ack") { Some(parser.number("a number", u64::from(u32::MAX))?) } else { None };
    if ack.is_some() && !flags.ack {
        return parser.error("expected no `ack` without the flag `.`");
    }
    let window = if parser.accept_word("win") { Some(parser.number("a window", 65_535)? as u32) } else { None };
    if parser.accept_word("urg") {
        return parser.unsupported("urgent data");
    }
    let options = if parser.accept('<') { options(parser)? } else { OptionList::These(Vec::new()) };
    Ok(Packet { ecn, flags, seq, len, ack, window, options })
}

/// `[ect0]`, `(ce)`, `[tos 0x1]`: only the ECN field is kept, because the transport has no other field of the IP
/// header.
fn ip_fields(parser: &mut Parser) -> Result<Option<IpEcn>, ScriptError> {
    let close = match parser.peek() {
        TokenKind::Sign('[') => ']',
        TokenKind::Sign('(') => ')',
        _ => return Ok(None),
    };
    parser.advance();
    let mut ecn = None;
    while !parser.accept(close) {
        let _ = parser.accept(',');
        let field = parser.word("a field of the IP header")?;
        match field.as_str() {
            "ect0" => ecn = Some(IpEcn::Is(Ecn::Ect0)),
            "ect1" => ecn = Some(IpEcn::Is(Ecn::Ect1)),
            "ect01" => ecn = Some(IpEcn::Capable),
            "ce" => ecn = Some(IpEcn::Is(Ecn::Ce)),
            "noecn" => ecn = Some(IpEcn::Is(Ecn::NotEct)),
            "tos" | "ttl" | "flowlabel" => {
                parser.number("a number", u64::from(u32::MAX))?;
            }
            other => {
                return parser
                    .error(format!("expected ect0, ect1, ect01, ce, noecn, tos, ttl or flowlabel, found `{other}`"));
            }
        }
    }
    Ok(ecn)
}

fn flags(parser: &mut Parser) -> Result<PacketFlags, ScriptError> {
    let mut flags = PacketFlags::default();
    if parser.accept('-') {
        return Ok(flags);
    }
    let mut any = false;
    if let TokenKind::Word(word) = parser.peek().clone() {
        for letter in word.chars() {
            let bit = match letter {
                'S' => &mut flags.syn,
                'F' => &mut flags.fin,
                'R' => &mut flags.rst,
                'P' => &mut flags.psh,
                'A' | 'E' | 'W' if letter != 'A' => {
                    if letter == 'E' {
                        &mut flags.ece
                    } else {
                        &mut flags.cwr
                    }
                }
                'A' => return parser.unsupported("accurate ECN"),
                'U' => return parser.unsupported("urgent data"),
                _ => return parser.expected("flags (S F R P E W and `.`)"),
            };
            *bit = true;
        }
        any = true;
        parser.advance();
    }
    if parser.accept('.') {
        flags.ack = true;
        any = true;
    }
    if any { Ok(flags) } else { parser.expected("flags (S F R P E W and `.`, or `-`)") }
}

/// `seq:end(len)`.
fn sequence(parser: &mut Parser) -> Result<(u64, u32), ScriptError> {
    let seq = parser.number("a sequence number", u64::from(u32::MAX))?;
    parser.expect(':')?;
    let end = parser.number("the end of the sequence range", u64::from(u32::MAX) + 1_000_000)?;
    parser.expect('(')?;
    let len = parser.number("a length", 65_535 * 64)?;
    if end != seq + len {
        return parser.error(format!("expected {seq}:{}({len}), found {seq}:{end}({len})", seq + len));
    }
    parser.expect(')')?;
    Ok((seq, len as u32))
}

fn options(parser: &mut Parser) -> Result<OptionList, ScriptError> {
    if *parser.peek() == TokenKind::Ellipsis {
        parser.advance();
        parser.expect('>')?;
        return Ok(OptionList::Any);
    }
    let mut list = Vec::new();
    while !parser.accept('>') {
        if !list.is_empty() {
            parser.expect(',')?;
        }
        list.push(option(parser)?);
    }
    let bytes: usize = list.iter().map(TcpOption::bytes).sum();
    if !bytes.is_multiple_of(4) {
        return parser
            .error(format!("expected options that fill a multiple of 4 bytes, found {bytes} bytes: pad with nop"));
    }
    if bytes > OPTION_BYTES {
        return parser.error(format!("expected at most {OPTION_BYTES} bytes of options, found {bytes}"));
    }
    Ok(OptionList::These(list))
}

fn option(parser: &mut Parser) -> Result<TcpOption, ScriptError> {
    let name = parser.word("an option (mss, wscale, sackOK, nop, eol, sack, TS)")?;
    let number = u64::from(u32::MAX);
    Ok(match name.as_str() {
        "mss" => TcpOption::Mss(parser.number("a segment size", 65_535)? as u16),
        "wscale" => TcpOption::WindowScale(parser.number("a shift", 14)? as u8),
        "sackOK" => TcpOption::SackPermitted,
        "nop" => TcpOption::Nop,
        "eol" => TcpOption::Eol,
        "sack" => {
            let mut blocks = Vec::new();
            while let TokenKind::Int(_) = parser.peek() {
                let start = parser.number("the start of a block", number)?;
                parser.expect(':')?;
                let end = parser.number("the end of a block", number)?;
                if end <= start {
                    return parser.error(format!("expected a block whose end is after its start, found {start}:{end}"));
                }
                blocks.push((start, end));
            }
            if blocks.is_empty() || blocks.len() > 4 {
                return parser.error(format!("expected 1 to 4 blocks after `sack`, found {}", blocks.len()));
            }
            TcpOption::Sack(blocks)
        }
        "TS" => {
            if !parser.accept_word("val") {
                return parser.expected("`val`");
            }
            let value = parser.number("a timestamp", number)? as u32;
            if !parser.accept_word("ecr") {
                return parser.expected("`ecr`");
            }
            TcpOption::Timestamps(value, parser.number("a timestamp", number)? as u32)
        }
        "FO" => TcpOption::FastOpen(cookie(parser)?),
        "FOEXP" => TcpOption::FastOpenExperimental(cookie(parser)?),
        other if OTHER_OPTIONS.contains(&other) => return parser.unsupported(format!("option {other}")),
        other => return parser.error(format!("expected mss, wscale, sackOK, nop, eol, sack or TS, found `{other}`")),
    })
}

/// The hexadecimal digits of a cookie, if any follow.
fn cookie(parser: &mut Parser) -> Result<String, ScriptError> {
    let digits = match parser.peek() {
        TokenKind::Int(number) => number.to_string(),
        TokenKind::Word(digits) => digits.clone(),
        _ => return Ok(String::new()),
    };
    if digits.len() % 2 != 0 || digits.len() > 36 || !digits.chars().all(|digit| digit.is_ascii_hexdigit()) {
        return parser.expected("a cookie of hexadecimal digits, two for each byte");
    }
    parser.advance();
    Ok(digits)
}
