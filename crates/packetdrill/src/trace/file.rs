//! A recording: gzipped JSON Lines, the parameters in the first line, then one line for each event.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use units::Time;

/// A recorded conversation.
#[derive(Debug)]
pub struct Recording {
    /// The parameters of the scenario: the first line.
    pub header: Header,
    /// The events, in order.
    pub lines: Vec<Line>,
}

/// Parameters of the scenario that a replay needs.
#[derive(Debug, Deserialize)]
pub struct Header {
    /// Name of the scenario.
    pub scenario: String,
    /// Congestion control.
    pub cc: String,
    /// Settings of the kernel.
    #[serde(default)]
    pub sysctl: BTreeMap<String, Value>,
    /// Segment size that the peer offers.
    #[serde(default = "default_mss")]
    pub mss: u16,
    /// The peer offers SACK (not 0).
    #[serde(default = "one")]
    pub sack: u8,
    /// The peer offers timestamps (not 0).
    #[serde(default)]
    pub ts: u8,
    /// Seconds after the handshake until the recording ends.
    #[serde(default)]
    pub dur: f64,
    /// The nominal round-trip time, in milliseconds.
    #[serde(default = "default_rtt")]
    pub rtt: f64,
    /// The peer acknowledges every so many segments.
    #[serde(default = "one")]
    pub delack: u8,
    /// The path keeps the order (not 0).
    #[serde(default)]
    pub fifo: u8,
    /// The peer follows a script of its own (not 0).
    #[serde(default)]
    pub open: u8,
    /// The peer never ends the handshake (not 0).
    #[serde(default)]
    pub noack: u8,
}

/// The end of the handshake.
#[derive(Clone, Copy, Debug)]
pub struct Handshake {
    /// When it arrived, in milliseconds.
    pub at: f64,
    /// The round-trip time that the kernel measured.
    pub rtt: units::Duration,
}

impl Recording {
    /// The end of the handshake, if it is recorded.
    pub fn handshake(&self) -> Option<Handshake> {
        let rtt = self.lines.iter().find_map(|line| match &line.what {
            What::Info(info) => Some(units::Duration::from_micros(info.rtt)),
            _ => None,
        });
        let end = self.lines.iter().filter(|line| matches!(line.what, What::In(_))).nth(1);
        Some(Handshake { at: end?.at, rtt: rtt? })
    }
}

fn default_mss() -> u16 {
    1000
}

fn default_rtt() -> f64 {
    100.0
}

fn one() -> u8 {
    1
}

/// An event, in milliseconds on the recording's clock.
#[derive(Debug)]
pub struct Line {
    /// Number in the file, from 1.
    pub number: usize,
    /// The time, in milliseconds.
    pub at: f64,
    /// The event.
    pub what: What,
}

/// An event of a recording.
#[derive(Debug)]
pub enum What {
    /// A segment arrived at the kernel.
    In(Packet),
    /// The kernel sent a segment.
    Out(Packet),
    /// The application wrote so many bytes.
    Write(u64),
    /// The application read so many bytes.
    Read(u64),
    /// The kernel's `tcp_info`.
    Info(Info),
    /// The path lost the data segment with this number, from 0 in the order of sending.
    Dropped(usize),
    /// Another event of the path.
    Path,
}

/// A recorded segment.
#[derive(Clone, Debug, PartialEq)]
pub struct Packet {
    /// Letters of the flags.
    pub flags: String,
    /// First sequence number, relative.
    pub seq: u64,
    /// Bytes of payload.
    pub len: u32,
    /// Acknowledgment number, relative.
    pub ack: u64,
    /// Raw window.
    pub window: u32,
    /// Options.
    pub options: Options,
}

/// Options of a recorded segment.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// SACK blocks.
    #[serde(default)]
    pub sack: Vec<(u64, u64)>,
    /// TSval and TSecr.
    pub ts: Option<(u32, u32)>,
    /// Window scale.
    pub ws: Option<u8>,
    /// The ECN field of the IP header.
    #[serde(default)]
    pub ecn: u8,
}

/// The part of `tcp_info` that is compared; times in microseconds.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Info {
    /// Congestion state, 0 to 4.
    pub ca: u8,
    /// Retransmission time-out.
    pub rto: u64,
    /// Smoothed round-trip time.
    pub rtt: u64,
    /// Variation of the round-trip time.
    pub rttvar: u64,
    /// Expiries of the persist timer or of the retransmission timer.
    pub backoff: u32,
    /// Zero window probes since the last segment arrived.
    pub probes: u32,
    /// Consecutive expiries of the retransmission timer.
    pub rexmits: u32,
    /// Segments that are not acknowledged.
    pub unacked: u32,
    /// Segments of these that are selectively acknowledged.
    pub sacked: u32,
    /// Segments marked lost.
    pub lost: u32,
    /// Retransmitted and not yet acknowledged.
    pub retrans: u32,
    /// Slow start threshold.
    pub snd_ssthresh: u32,
    /// Congestion window.
    pub snd_cwnd: u32,
    /// Reordering degree.
    pub reordering: u32,
}

/// Reads a file.
///
/// # Errors
/// The line, and what was expected there.
pub fn read(path: &Path) -> Result<Recording, String> {
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    let mut text = String::new();
    let read = if bytes.starts_with(&[0x1f, 0x8b]) {
        flate2::read::GzDecoder::new(bytes.as_slice()).read_to_string(&mut text)
    } else {
        bytes.as_slice().read_to_string(&mut text)
    };
    read.map_err(|error| format!("expected gzip or text: {error}"))?;
    parse(&text)
}

/// Reads a recording's text.
///
/// # Errors
/// The line, and what was expected there.
pub fn parse(text: &str) -> Result<Recording, String> {
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let (_, first) = lines.next().ok_or("line 1: expected the parameters, found the end of the file")?;
    let header: Header =
        serde_json::from_str(first).map_err(|error| format!("line 1: expected the parameters: {error}"))?;
    let mut recording = Recording { header, lines: Vec::new() };
    for (index, text) in lines {
        let line = line(index + 1, text).map_err(|message| format!("line {}: {message}", index + 1))?;
        recording.lines.push(line);
    }
    Ok(recording)
}

fn line(number: usize, text: &str) -> Result<Line, String> {
    let values: Vec<Value> = serde_json::from_str(text).map_err(|error| format!("expected a list: {error}"))?;
    let at = values.first().and_then(Value::as_f64).filter(|at| (0.0..1e9).contains(at));
    let at = at.ok_or("expected a time in milliseconds")?;
    let count = || values.get(2).and_then(Value::as_u64).ok_or("expected a number of bytes");
    let what = match values.get(1).and_then(Value::as_str).ok_or("expected what happened")? {
        "in" => What::In(packet(&values)?),
        "out" => What::Out(packet(&values)?),
        "write" => What::Write(count()?),
        "read" => What::Read(count()?),
        "info" => {
            let info = values.get(2).cloned().unwrap_or_default();
            What::Info(serde_json::from_value(info).map_err(|error| format!("expected tcp_info: {error}"))?)
        }
        "drop" => What::Dropped(values.get(2).and_then(Value::as_u64).ok_or("expected a segment's number")? as usize),
        "delay" | "ce" | "mark" => What::Path,
        other => return Err(format!("expected in, out, write, read, info or drop, found {other:?}")),
    };
    Ok(Line { number, at, what })
}

fn packet(values: &[Value]) -> Result<Packet, String> {
    let number = |at: usize, what: &str, most: u64| {
        let number = values.get(at).and_then(Value::as_u64).filter(|number| *number <= most);
        number.ok_or_else(|| format!("expected {what} from 0 to {most}"))
    };
    let options = values.get(7).cloned().ok_or("expected options")?;
    Ok(Packet {
        flags: values.get(2).and_then(Value::as_str).ok_or("expected flags")?.to_owned(),
        seq: number(3, "a sequence number", u64::from(u32::MAX))?,
        len: number(4, "a length", 65_535)? as u32,
        ack: number(5, "an acknowledgment number", u64::from(u32::MAX))?,
        window: number(6, "a window", 65_535)? as u32,
        options: serde_json::from_value(options).map_err(|error| format!("expected options: {error}"))?,
    })
}

/// The instant of a recorded time, with `origin` for the recording's zero.
pub fn instant(origin: Time, at: f64) -> Time {
    origin + units::Duration::from_secs_f64(at * 1e-3)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = r#"{"scenario": "x", "cc": "reno", "steps": [], "mss": 500}"#;

    #[test]
    fn lines_are_read() {
        let text = format!("{HEADER}\n[1.5,\"in\",\"S\",0,0,0,65535,{{}}]\n[2,\"write\",7]\n[3,\"drop\",1,2,3]\n");
        let recording = parse(&text).expect("a recording");
        assert_eq!((recording.header.mss, recording.header.sack), (500, 1));
        assert_eq!(recording.lines.len(), 3);
        assert!(matches!(&recording.lines[0].what, What::In(packet) if packet.flags == "S"));
    }

    #[test]
    fn wrong_lines_are_told_with_their_number() {
        for (line, says) in [
            ("[", "expected a list"),
            ("[-1,\"in\"]", "expected a time"),
            ("[1]", "expected what happened"),
            ("[1,\"foo\"]", "found \"foo\""),
            ("[1,\"write\"]", "expected a number of bytes"),
            ("[1,\"in\",\"S\",0,0]", "expected options"),
            ("[1,\"in\",\"S\",-5,0,0,0,{}]", "expected a sequence number"),
            ("[1,\"in\",\"S\",5,0,0,0,{\"x\":1}]", "unknown field"),
            ("[1,\"info\",{}]", "expected tcp_info"),
        ] {
            let error = parse(&format!("{HEADER}\n{line}")).expect_err(line);
            assert!(error.starts_with("line 2: ") && error.contains(says), "{line}: {error}");
        }
        assert!(parse("").is_err());
        assert!(parse("{}").expect_err("no scenario").starts_with("line 1"));
    }
}
