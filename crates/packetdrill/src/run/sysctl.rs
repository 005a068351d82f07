//! Shell commands of a script as options of a connection.
//!
//! The options are kept as a scenario's table and read by the scenario's own types, so that `sysctl -q
//! transorbit.NAME=VALUE` sets any of them. Scripts of this project choose other profiles in this way.

use std::sync::Arc;

use toml::Value;
use transport::{Settings, TcpConfig};

/// The clock tick of the systems for which published scripts are written: 1 ms (HZ = 1000).
const TICK: &str = "1 ms";
/// Bytes of a packet on the scripts' device.
const PACKET: u32 = 1500;
/// Bytes of the headers of IPv4 and TCP.
const HEADERS: i64 = 40;
/// Bytes of the timestamps option with its padding.
const TIMESTAMPS: i64 = 12;
/// The kernel's default for the largest receive buffer.
const RECEIVE_BUFFER: i64 = 6_291_456;
/// The preset's default for the largest receive buffer.
const PRESET_RECEIVE_BUFFER: i64 = 15 << 20;

/// Settings without effect here: their object is not modelled, or every script has the default.
const WITHOUT_EFFECT: [&str; 28] = [
    "tcp_wmem",
    "tcp_syn_retries",
    "tcp_synack_retries",
    "tcp_retries1",
    "tcp_retries2",
    "tcp_min_tso_segs",
    "tcp_tso_rtt_log",
    "tcp_fastopen_blackhole_timeout_sec",
    "tcp_syncookies",
    "tcp_no_metrics_save",
    "tcp_pacing_ss_ratio",
    "tcp_pacing_ca_ratio",
    "tcp_limit_output_bytes",
    "tcp_moderate_rcvbuf",
    "tcp_adv_win_scale",
    "tcp_app_win",
    "tcp_autocorking",
    "tcp_ecn_option",
    "tcp_ecn_fallback",
    "tcp_base_mss",
    "tcp_comp_sack_nr",
    "tcp_comp_sack_delay_ns",
    "tcp_comp_sack_slack_ns",
    "tcp_min_rtt_wlen",
    "tcp_fin_timeout",
    "tcp_tw_reuse",
    "tcp_invalid_ratelimit",
    "tcp_challenge_ack_limit",
];
/// Settings of which only one value is supported.
const FIXED: [(&str, &str); 9] = [
    ("tcp_window_scaling", "1"),
    ("tcp_fack", "0"),
    ("tcp_mtu_probing", "0"),
    ("tcp_reordering", "3"),
    ("tcp_max_reordering", "300"),
    ("tcp_thin_linear_timeouts", "0"),
    ("tcp_notsent_lowat", "4294967295"),
    ("tcp_shrink_window", "0"),
    ("tcp_syn_linear_timeouts", "4"),
];
/// Settings that switch an option on or off.
const SWITCHES: [(&str, &str); 3] = [("tcp_sack", "sack"), ("tcp_dsack", "dsack"), ("tcp_timestamps", "timestamps")];

/// The options of an endpoint, as commands change them.
#[derive(Clone, Debug, PartialEq)]
pub struct Stack {
    table: toml::Table,
    /// `tcp_ecn`: 0 never, 1 request and accept, 2 accept only.
    ecn: u8,
    /// `tcp_fastopen` and `tcp_fastopen_key`
    pub fast_open: FastOpenRules,
}

/// The host's permissions for TCP Fast Open (`tcp_fastopen`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FastOpenRules {
    bits: i64,
    /// The key of cookies as two numbers.
    pub key: (u64, u64),
}

impl FastOpenRules {
    /// Whether clients may send data in a SYN.
    pub fn for_clients(self) -> bool {
        self.bits & 1 != 0
    }

    /// Whether a listening socket accepts data in a SYN: servers may, and this one was asked to (`asked`) or all are.
    pub fn for_server(self, asked: bool) -> bool {
        self.bits & 2 != 0 && (asked || self.bits & 0x400 != 0)
    }

    fn mode(self, active: bool) -> &'static str {
        if self.bits & if active { 4 } else { 0x200 } != 0 { "no-cookie" } else { "" }
    }
}

/// A command that options cannot express.
pub type Unsupported = String;

impl Stack {
    /// The defaults of Linux.
    pub fn linux() -> Stack {
        let mut table = toml::Table::new();
        table.insert("profile".into(), Value::String("linux".into()));
        table.insert("timer_tick".into(), Value::String(TICK.into()));
        table.insert("receive_buffer".into(), bytes(RECEIVE_BUFFER));
        // Scripts show groups of segments as one, however large.
        table.insert("offload_divisor".into(), Value::Integer(0));
        Stack { table, ecn: 2, fast_open: FastOpenRules { bits: 1, key: (0, 0) } }
    }

    /// Sets an option of the scenario's table.
    pub fn set(&mut self, name: &str, value: Value) {
        self.table.insert(name.into(), value);
    }

    /// Returns these options with segments of at most so many bytes, timestamps included.
    pub fn with_segments(&self, bytes: i64) -> Stack {
        let mut stack = self.clone();
        let stamps = if self.table.get("timestamps") == Some(&Value::Boolean(false)) { 0 } else { TIMESTAMPS };
        stack.set("mss", self::bytes(bytes.min(i64::from(PACKET) - HEADERS) - stamps));
        stack
    }

    /// The options of a connection that opens (`active`) or listens, with TCP Fast Open if it is `fast`.
    ///
    /// # Errors
    /// The option that is wrong, and why.
    pub fn settings(&self, active: bool, fast: bool) -> Result<Arc<Settings>, String> {
        let mut table = self.table.clone();
        if fast {
            let mode = match self.fast_open.mode(active) {
                "" => Value::Boolean(true),
                word => Value::String(word.into()),
            };
            table.insert("fast_open".into(), mode);
        }
        let ecn = if active { self.ecn == 1 } else { self.ecn > 0 };
        table.entry("ecn").or_insert(Value::Boolean(ecn));
        // A kernel accepts them without SACK and ignores them; a scenario refuses them.
        if table.get("sack") == Some(&Value::Boolean(false)) {
            for name in ["rack", "tlp", "dsack"] {
                table.remove(name);
            }
        }
        let config: TcpConfig = Value::Table(table).try_into().map_err(|error: toml::de::Error| {
            let message = error.to_string();
            message.lines().last().unwrap_or_default().to_owned()
        })?;
        config.check().map_err(|error| error.to_string())?;
        Ok(Arc::new(config.resolve(PACKET)))
    }

    /// Runs the commands of a back-quoted text.
    ///
    /// # Errors
    /// The first command that is not supported.
    pub fn run(&mut self, text: &str) -> Result<(), Unsupported> {
        for command in commands(text) {
            self.command(&command)?;
        }
        Ok(())
    }

    fn command(&mut self, words: &[String]) -> Result<(), Unsupported> {
        let name = words[0].rsplit('/').next().unwrap_or_default();
        match name {
            "defaults.sh" => {
                self.preset();
                Ok(())
            }
            "sysctl" => words[1..].iter().filter(|word| !word.starts_with('-')).try_for_each(|word| {
                let (key, value) = word.split_once('=').ok_or_else(|| format!("command sysctl {word}"))?;
                self.assign(&key.replace('/', "."), value)
            }),
            "set_sysctls.py" => words[1..].iter().try_for_each(|word| {
                let (path, value) = word.split_once('=').ok_or_else(|| format!("command set_sysctls.py {word}"))?;
                self.assign(&path.trim_start_matches("/proc/sys/").replace('/', "."), value)
            }),
            "echo" => self.echo(&words[1..]),
            "tc" => self.queue(&words[1..]),
            _ if name.starts_with("sysctl_restore_") => Ok(()),
            "ethtool" | "true" | ":" | "sync" => Ok(()),
            "ip" if words.get(1).is_some_and(|word| word == "tcp_metrics") => Ok(()),
            _ => Err(format!("command {name}")),
        }
    }

    /// The published preset for tests.
    fn preset(&mut self) {
        *self = Stack::linux();
        self.set("congestion", kind("cubic"));
        for on in ["timestamps", "sack", "dsack", "frto", "rack", "tlp"] {
            self.set(on, Value::Boolean(true));
        }
        self.set("slow_start_after_idle", Value::Boolean(false));
        self.set("cwnd_validation", Value::Boolean(false));
        self.set("receive_buffer", bytes(PRESET_RECEIVE_BUFFER));
        self.ecn = 0;
        self.fast_open =
            FastOpenRules { bits: 0x70403, key: cookie_key("a1a1a1a1-b2b2b2b2-c3c3c3c3-d4d4d4d4").unwrap_or((0, 0)) };
    }

    /// Whether the settings of two stacks differ only in options that new connections take.
    pub fn differs_for_new_only(&self, other: &Stack) -> bool {
        let live = |stack: &Stack| {
            let mut table = stack.table.clone();
            for name in ["timestamps", "sack"] {
                table.remove(name);
            }
            table
        };
        live(self) == live(other)
    }

    /// `sysctl KEY=VALUE`.
    ///
    /// # Errors
    /// The setting, if it is not supported.
    pub fn assign(&mut self, key: &str, value: &str) -> Result<(), Unsupported> {
        if let Some(option) = key.strip_prefix("transorbit.") {
            // A value that is not TOML is a text without quotes.
            let parsed = format!("v = {value}").parse::<toml::Table>().ok().and_then(|mut table| table.remove("v"));
            self.set(option, parsed.unwrap_or_else(|| Value::String(value.to_owned())));
            return Ok(());
        }
        let unsupported = || format!("sysctl {key}={value}");
        let name = key.strip_prefix("net.ipv4.").ok_or_else(unsupported)?;
        let number = || value.parse::<i64>().map_err(|_| unsupported());
        if let Some((_, option)) = SWITCHES.iter().find(|(sysctl, _)| *sysctl == name) {
            self.set(option, Value::Boolean(number()? != 0));
            return Ok(());
        }
        if let Some((_, only)) = FIXED.iter().find(|(sysctl, _)| *sysctl == name) {
            return if *only == value { Ok(()) } else { Err(unsupported()) };
        }
        match name {
            "tcp_congestion_control" => self.set("congestion", kind(value)),
            // The kernel's congestion window validation has the same switch.
            "tcp_slow_start_after_idle" => {
                let on = Value::Boolean(number()? != 0);
                self.set("slow_start_after_idle", on.clone());
                self.set("cwnd_validation", on);
            }
            "tcp_tso_win_divisor" => self.set("offload_divisor", Value::Integer(number()?)),
            "tcp_frto" => self.set("frto", Value::Boolean(number()? != 0)),
            "tcp_recovery" => self.set("rack", Value::Boolean(number()? & 1 != 0)),
            "tcp_early_retrans" => self.set("tlp", Value::Boolean(number()? >= 3)),
            "tcp_rto_min_us" => self.set("min_rto", Value::String(format!("{} us", number()?))),
            "tcp_rto_max_ms" => self.set("max_rto", Value::String(format!("{} ms", number()?))),
            "tcp_rmem" => {
                let most =
                    value.split_whitespace().nth(2).and_then(|most| most.parse().ok()).ok_or_else(unsupported)?;
                self.set("receive_buffer", bytes(most));
            }
            "tcp_fastopen" => {
                let bits = value.strip_prefix("0x").and_then(|digits| i64::from_str_radix(digits, 16).ok());
                self.fast_open.bits = bits.map_or_else(number, Ok)?;
            }
            "tcp_fastopen_key" => self.fast_open.key = cookie_key(value).ok_or_else(unsupported)?,
            "tcp_ecn" => match number()? {
                ecn @ 0..=2 => self.ecn = ecn as u8,
                _ => return Err(unsupported()),
            },
            _ if WITHOUT_EFFECT.contains(&name) => {}
            _ => return Err(unsupported()),
        }
        Ok(())
    }

    /// `echo VALUE > FILE`.
    fn echo(&mut self, words: &[String]) -> Result<(), Unsupported> {
        let text = words.join(" ");
        let Some((value, path)) = text.split_once('>') else { return Ok(()) };
        let (value, path) = (value.trim(), path.trim());
        if let Some(key) = path.strip_prefix("/proc/sys/") {
            return self.assign(&key.replace('/', "."), value);
        }
        match (path, value) {
            // HyStart by acknowledgment trains and by delay: the default.
            ("/sys/module/tcp_cubic/parameters/hystart_detect", "3") => Ok(()),
            _ => Err(format!("command echo {value} > {path}")),
        }
    }

    /// `tc qdisc …`: the discipline fq paces; a queue without room drops packets, which a connection cannot see.
    fn queue(&mut self, words: &[String]) -> Result<(), Unsupported> {
        let text = words.join(" ");
        if text.ends_with("limit 0") {
            return Err(format!("command tc {text}"));
        }
        let discipline =
            words.iter().rev().find(|word| *word == "fq" || *word == "pfifo" || *word == "delete" || *word == "del");
        match discipline.map(String::as_str) {
            Some("fq") => self.set("pacing", Value::Boolean(true)),
            Some(_) => self.set("pacing", Value::Boolean(false)),
            None => return Err(format!("command tc {text}")),
        }
        Ok(())
    }
}

/// The key of cookies, written as four words of eight hexadecimal digits, as the two halves of the hash's key. Of
/// several keys only the first counts.
fn cookie_key(text: &str) -> Option<(u64, u64)> {
    let first = text.split(',').next()?;
    let words = first.split('-').map(|word| u64::from_str_radix(word, 16).ok()).collect::<Option<Vec<_>>>()?;
    let [a, b, c, d] = words.try_into().ok()?;
    Some(((b << 32) | a, (d << 32) | c))
}

fn bytes(number: i64) -> Value {
    Value::String(format!("{number} B"))
}

/// A congestion controller by its name in the kernel.
fn kind(name: &str) -> Value {
    let mut table = toml::Table::new();
    table.insert("kind".into(), Value::String(name.to_owned()));
    Value::Table(table)
}

/// The simple commands of a shell text as words, without redirections of errors.
fn commands(text: &str) -> Vec<Vec<String>> {
    let mut commands = Vec::new();
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            _ if quote == Some(letter) => quote = None,
            _ if quote.is_some() => word.get_or_insert_default().push(letter),
            '"' | '\'' => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            '\\' => match letters.next() {
                Some('\n') | None => words.extend(word.take()),
                Some(escaped) => word.get_or_insert_default().push(escaped),
            },
            '#' if word.is_none() => while letters.next_if(|letter| *letter != '\n').is_some() {},
            '&' if word.as_deref().is_some_and(|word| word.ends_with('>')) => word.get_or_insert_default().push(letter),
            '\n' | ';' | '&' | '|' => {
                words.extend(word.take());
                if !words.is_empty() {
                    commands.push(std::mem::take(&mut words));
                }
            }
            _ if letter.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    commands.extend((!words.is_empty()).then_some(words));
    for command in &mut commands {
        command.retain(|word| !word.starts_with("2>") && !word.starts_with(">/dev/null"));
    }
    commands.retain(|command| !command.is_empty());
    commands
}

#[cfg(test)]
mod tests {
    use transport::EcnMode;

    use super::*;

    #[test]
    fn commands_are_told_apart_as_a_shell_does() {
        let text = "a -q b=\"1 2\" # no\nc 'd;e' \\\n  f 2>/dev/null ; g && h\n\n";
        let expected = vec![vec!["a", "-q", "b=1 2"], vec!["c", "d;e", "f"], vec!["g"], vec!["h"]];
        assert_eq!(commands(text), expected);
    }

    #[test]
    fn the_kernels_names_set_our_options() {
        let mut stack = Stack::linux();
        stack.run("../common/defaults.sh\nsysctl -q net.ipv4.tcp_sack=0 net/ipv4/tcp_timestamps=0").expect("known");
        stack
            .run("x/set_sysctls.py /proc/sys/net/ipv4/tcp_slow_start_after_idle=1 /proc/sys/net/ipv4/tcp_ecn=2")
            .expect("known");
        stack
            .run("sysctl -q net.ipv4.tcp_rmem=\"4096 10000 2097152\" net.ipv4.tcp_congestion_control=reno")
            .expect("known");
        let settings = stack.settings(false, false).expect("options");
        assert!(!settings.sack && !settings.timestamps && settings.slow_start_after_idle);
        assert_eq!(settings.ecn, EcnMode::Classic);
        assert_eq!(settings.receive_buffer.get(), 2_097_152);
        assert_eq!(settings.congestion.kind(), "reno");
        assert_eq!(settings.mss, 1460);
        assert_eq!(stack.settings(true, false).expect("options").ecn, EcnMode::Off);
    }

    #[test]
    fn any_option_of_a_scenario_can_be_set() {
        let mut stack = Stack::linux();
        stack
            .run("sysctl -q transorbit.profile=classic transorbit.initial_window=3 'transorbit.delayed_ack=\"100 ms\"'")
            .expect("known");
        assert_eq!(stack.settings(true, false).expect("options").initial_window, 3);
        stack.run("sysctl -q transorbit.no_such=1").expect("is read later");
        assert!(stack.settings(true, false).expect_err("no such option").contains("no_such"));
    }

    #[test]
    fn what_is_not_covered_is_named() {
        for (text, named) in [
            ("ip route change x", "command ip"),
            ("sysctl -q net.ipv4.tcp_reordering=5", "sysctl net.ipv4.tcp_reordering=5"),
            ("sysctl -q net.ipv4.tcp_sack=x", "sysctl net.ipv4.tcp_sack=x"),
            ("sysctl -q net.core.foo=1", "sysctl net.core.foo=1"),
            ("tc qdisc add dev tun0 root pfifo limit 0", "command tc qdisc add dev tun0 root pfifo limit 0"),
        ] {
            assert_eq!(Stack::linux().run(text), Err(named.to_owned()));
        }
    }
}
