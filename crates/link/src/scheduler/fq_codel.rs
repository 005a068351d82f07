//! FQ-CoDel: a queue with CoDel for each flow, in turn, new flows first.
//!
//! RFC 8290: flows are hashed to queues (section 4.1.1), a packet that finds the buffer full makes room at the head of
//! the longest queue (section 4.1.3), two lists of queues are served by deficit round robin, that of new ones first
//! (section 4.2), and each queue has a CoDel of its own (RFC 8289). No other queue manager can be configured.
//!
//! The defaults of CoDel's interval and target are 200 ms and 10 ms, where section 5.2 of the RFC has 100 ms and 5 ms:
//! the interval should cover most round-trip times, which are longer over satellites.
//!
//! What is simplified, and who could notice: the hash is of the flow's number and has no random part, so the same flows
//! share a queue in every run. A queue whose first packet is for a user that may not start is skipped.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, FieldError, Time};

use super::quantum::{DEFAULT_QUANTUM, check_quantum};
use super::user_queues::{UserQueuesConfig, check_wait};
use super::users::{ByUser, UserQueues};
use super::{Kind, Parts, Scheduler, View};
use crate::buffer::{Buffer, Limit, LinkFacts};
use crate::packet::{DropReason, PacketRef};
use crate::queue::codel::{Codel, CodelConfig};
use crate::queue::{self, Queue};

/// Queues of flows with a CoDel each, served in turn, new flows first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FqCodelConfig {
    /// Size of all queues together: packets, bytes, time at the rate of the link, or bandwidth-delay products. When it
    /// is exceeded the longest queue loses up to half of its packets.
    pub buffer: Buffer,
    /// The waiting time after which a packet is dropped; by default unlimited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Duration>,
    /// The number of queues to which flows are hashed.
    pub flows: u32,
    /// The bytes that a queue may send in a turn.
    pub quantum: Bytes,
    /// CoDel's acceptable waiting time.
    pub target: Duration,
    /// How long the waiting time may stay above the target before CoDel drops packets: about the longest round-trip
    /// time. Paths over geostationary satellites need more than the default.
    pub interval: Duration,
    /// Whether packets that can be marked are marked instead of dropped.
    pub ecn: bool,
}

impl Default for FqCodelConfig {
    fn default() -> FqCodelConfig {
        FqCodelConfig {
            buffer: Buffer::Packets(10_240),
            limit: None,
            flows: 1024,
            quantum: DEFAULT_QUANTUM,
            target: Duration::from_millis(10),
            interval: Duration::from_millis(200),
            ecn: true,
        }
    }
}

impl FqCodelConfig {
    fn codel(&self) -> CodelConfig {
        CodelConfig { target: self.target, interval: self.interval, ecn: self.ecn, ..CodelConfig::default() }
    }
}

impl Kind for FqCodelConfig {
    fn user_queues(&self) -> Option<UserQueuesConfig> {
        None // each flow has one
    }

    fn check_options(&self, link: &LinkFacts) -> Result<(), FieldError> {
        check_wait(self.limit)?;
        check_quantum(self.quantum)?;
        if !(1..=65_536).contains(&self.flows) {
            return Err(FieldError::new("flows", format!("{} given, 1 to 65536 allowed", self.flows)));
        }
        queue::Kind::check(&self.codel(), link)?;
        self.buffer.resolve(link).map(drop)
    }

    fn build(&self, parts: &mut Parts<'_>) -> Result<Box<dyn Scheduler>, FieldError> {
        self.check(parts.link)?;
        let codel = || Box::new(Codel::new(self.codel()));
        let queue = |_| Queue::new(Limit::Packets(u32::MAX), Some(codel())).with_max_wait(self.limit);
        let queues = (0..self.flows).map(queue).collect();
        Ok(Box::new(FqCodel::new(UserQueues::new(queues), self.buffer.resolve(parts.link)?, self.quantum)))
    }

    fn manages_queues(&self) -> bool {
        true
    }

    fn marks(&self) -> bool {
        self.ecn
    }
}

/// Most packets that the longest queue loses at once (section 4.1.3).
const SHED: usize = 64;

/// See [`FqCodelConfig`].
pub struct FqCodel {
    queues: UserQueues,
    limit: Limit,
    quantum: i64,
    /// Queues of new flows, then those of the other flows, each in the order of their turns.
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    /// For each queue: whether it is in a list.
    listed: Vec<bool>,
    /// For each queue: the bytes that it may send before its turn ends.
    deficits: Vec<i64>,
}

impl FqCodel {
    /// Serves `queues`, of `limit` together, in turns of `quantum` bytes.
    pub fn new(queues: UserQueues, limit: Limit, quantum: Bytes) -> FqCodel {
        let count = queues.users();
        FqCodel {
            queues,
            limit,
            quantum: quantum.get() as i64,
            new: VecDeque::new(),
            old: VecDeque::new(),
            listed: vec![false; count],
            deficits: vec![0; count],
        }
    }

    /// The number of the queue of a flow.
    pub fn queue_of(&self, flow: u32) -> u32 {
        // The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
        let mut hash = u64::from(flow).wrapping_add(0x9e37_79b9_7f4a_7c15);
        hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((hash ^ (hash >> 31)) % self.queues.users() as u64) as u32
    }

    /// Section 4.1.3: the queue with the most bytes loses half of its packets from its head, at most 64.
    #[cold]
    fn make_room(&mut self, now: Time) {
        let numbers = 0..self.queues.users() as u32;
        let Some(fattest) = numbers.rev().max_by_key(|&queue| self.queues.backlog_of(queue).bytes) else { return };
        let lost = self.queues.backlog_of(fattest).packets.div_ceil(2).min(SHED);
        (0..lost).for_each(|_| self.queues.shed(now, fattest));
    }

    fn exceeded(&self) -> bool {
        self.limit.measure(self.queues.backlog()) > self.limit.count()
    }

    /// The next queue in turn whose first packet may be sent, or that is empty: its list, and its index there.
    fn next(&self, view: &View<'_>) -> Option<(bool, usize, u32)> {
        let may_go = |&queue: &u32| self.queues.front(queue).is_none_or(|(first, _)| view.may_start(first.user));
        let find = |list: &VecDeque<u32>| list.iter().position(may_go).map(|at| (at, list[at]));
        let new = find(&self.new).map(|(at, queue)| (true, at, queue));
        new.or_else(|| find(&self.old).map(|(at, queue)| (false, at, queue)))
    }
}

impl ByUser for FqCodel {
    fn queues(&self) -> &UserQueues {
        &self.queues
    }

    fn queues_mut(&mut self) -> &mut UserQueues {
        &mut self.queues
    }

    fn take(&mut self, now: Time, packet: PacketRef) -> Result<(), DropReason> {
        let queue = self.queue_of(packet.flow);
        self.queues.push_to(now, queue, packet)?;
        if !std::mem::replace(&mut self.listed[queue as usize], true) {
            self.deficits[queue as usize] = self.quantum;
            self.new.push_back(queue);
        }
        while self.exceeded() && self.queues.backlog().packets > 1 {
            self.make_room(now);
        }
        Ok(())
    }

    fn choose(&mut self, now: Time, view: &mut View<'_>) -> Option<PacketRef> {
        loop {
            let (is_new, at, queue) = self.next(view)?;
            let list = if is_new { &mut self.new } else { &mut self.old };
            let deficit = &mut self.deficits[queue as usize];
            if *deficit <= 0 {
                *deficit += self.quantum;
                list.remove(at);
                self.old.push_back(queue);
                continue;
            }
            while self.queues.front(queue).is_some_and(|(first, _)| view.may_start(first.user)) {
                if let Some(packet) = self.queues.pop(now, queue) {
                    *deficit -= i64::from(packet.size);
                    return Some(packet);
                }
            }
            if self.queues.front(queue).is_some() {
                continue; // CoDel dropped the packet, and the next may be one that may not start
            }
            list.remove(at);
            // An emptied new queue moves to the old ones once, so that a flow cannot stay new by sending little.
            if is_new {
                self.old.push_back(queue);
            } else {
                self.listed[queue as usize] = false;
            }
        }
    }

    fn reset(&mut self, _now: Time) {
        self.end_turns();
    }

    fn ends_turns(&self) -> bool {
        true
    }

    /// Section 4.2: whoever asks for a packet where none waits empties both lists.
    fn end_turns(&mut self) {
        for queue in self.new.drain(..).chain(self.old.drain(..)) {
            self.listed[queue as usize] = false;
        }
    }

    fn may_drop(&self) -> bool {
        true
    }
}
