//! `tcp_info` for the statements of a script.

use transport::{CongestionState, Info, State};
use units::{Duration, Time};

use super::Runner;
use crate::assertions::{Names, Problem, Value};
use crate::kernel::{NO_THRESHOLD, ca_state};

/// The connection at the instant of the statements.
pub(super) struct Snapshot {
    info: Option<Info>,
    advertised_mss: u32,
    since_data: Duration,
}

impl Runner {
    pub(super) fn names(&self) -> Snapshot {
        Snapshot {
            info: self.host.as_ref().map(|host| host.info()),
            advertised_mss: self.host.as_ref().and_then(|host| host.ours()).map_or(0, |syn| u32::from(syn.mss)),
            since_data: self.clock.now.since(self.data_received.max(Time::ZERO)),
        }
    }
}

/// The bit of `tcpi_options` for data of a SYN that were taken.
const SYN_DATA: i64 = 32;

/// Constants that scripts compare with.
const CONSTANTS: [(&str, i64); 17] = [
    ("TCPI_OPT_SYN_DATA", SYN_DATA),
    ("TCP_CA_Open", ca_state(CongestionState::Open) as i64),
    ("TCP_CA_Disorder", ca_state(CongestionState::Disorder) as i64),
    ("TCP_CA_CWR", ca_state(CongestionState::Cwr) as i64),
    ("TCP_CA_Recovery", ca_state(CongestionState::Recovery) as i64),
    ("TCP_CA_Loss", ca_state(CongestionState::Loss) as i64),
    ("TCP_ESTABLISHED", 1),
    ("TCP_SYN_SENT", 2),
    ("TCP_SYN_RECV", 3),
    ("TCP_FIN_WAIT1", 4),
    ("TCP_FIN_WAIT2", 5),
    ("TCP_TIME_WAIT", 6),
    ("TCP_CLOSE", 7),
    ("TCP_CLOSE_WAIT", 8),
    ("TCP_LAST_ACK", 9),
    ("TCP_LISTEN", 10),
    ("TCP_CLOSING", 11),
];

impl Names for Snapshot {
    fn value(&self, name: &str) -> Result<Option<Value>, Problem> {
        if let Some((_, value)) = CONSTANTS.iter().find(|(constant, _)| *constant == name) {
            return Ok(Some(Value::Int(*value)));
        }
        let Some(field) = name.strip_prefix("tcpi_") else {
            return if ["bbr_", "vegas_", "dctcp_", "sk_mem", "TCPI_OPT_"].iter().any(|prefix| name.starts_with(prefix))
            {
                Err(Problem::Unsupported(name.to_owned()))
            } else {
                Ok(None)
            };
        };
        let Some(info) = &self.info else {
            return Err(Problem::Wrong(format!("{name} without a connection")));
        };
        match self.field(field, info) {
            Some(value) => Ok(Some(Value::Int(value))),
            None => Err(Problem::Unsupported(name.to_owned())),
        }
    }
}

impl Snapshot {
    fn field(&self, field: &str, info: &Info) -> Option<i64> {
        let count = |number: u64| number.min(i64::MAX as u64) as i64;
        let micros = |time: Duration| (time.as_nanos() / 1000) as i64;
        Some(match field {
            "state" => state(info.state),
            "ca_state" => ca_state(info.congestion_state).into(),
            "snd_cwnd" => info.window.into(),
            "snd_ssthresh" => info.slow_start_threshold.unwrap_or(NO_THRESHOLD).into(),
            "unacked" => info.unacked.into(),
            "sacked" => info.sacked.into(),
            "lost" => info.lost.into(),
            "retrans" => info.retransmitted.into(),
            "reordering" => info.reordering.into(),
            "reord_seen" => info.reordering_seen.into(),
            "total_retrans" => count(info.total_retransmitted),
            "delivered" => count(info.delivered),
            "backoff" => info.backoff.into(),
            "retransmits" => info.consecutive_timeouts.into(),
            "probes" => info.probes.into(),
            "rtt" => info.srtt.map_or(0, micros),
            "rttvar" => info.rttvar.map_or(0, micros),
            "rto" => micros(info.rto),
            // Before the first measurement the kernel has 32 bits of ones.
            "min_rtt" => info.min_rtt.map_or(i64::from(u32::MAX), micros),
            "snd_mss" => info.mss.into(),
            "advmss" => self.advertised_mss.into(),
            "notsent_bytes" => count(info.unsent_bytes),
            // The kernel's other bits (timestamps, SACK, window scale, ECN) are not modelled.
            "options" => {
                if info.syn_data {
                    SYN_DATA
                } else {
                    0
                }
            }
            "last_data_recv" => (self.since_data.as_nanos() / 1_000_000) as i64,
            _ => return None,
        })
    }
}

fn state(state: State) -> i64 {
    match state {
        State::Established => 1,
        State::SynSent => 2,
        State::SynReceived => 3,
        State::FinWait1 => 4,
        State::FinWait2 => 5,
        State::Closed => 7,
        State::CloseWait => 8,
        State::LastAck => 9,
        State::Listen => 10,
        State::Closing => 11,
    }
}
