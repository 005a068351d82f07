//! Packets that were sent, and the delivery rates measured with them (draft-cheng-iccrg-delivery-rate-estimation).

use std::collections::VecDeque;

use units::{Duration, Time};

use super::frames::{Packet, PacketKind};
use super::usage::Usage;
use crate::congestion::{LostSegment, RateSample};

/// A packet that was sent and whose fate is not known.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentPacket {
    number: u64,
    pub at: Time,
    delivered_at: Time,
    first_sent_at: Time,
    delivered: u64,
    lost: u64,
    tx_in_flight: u32,
    bytes: u16,
    kind: PacketKind,
    app_limited: bool,
    settled: bool,
}

/// The packets that ask for an acknowledgment: those in flight, and counts of the others.
#[derive(Debug)]
pub(super) struct SentPackets {
    sent: VecDeque<SentPacket>,
    pub in_flight: u32,
    pub bytes_in_flight: u64,
    pub delivered: u64,
    pub lost: u64,
    pub last_sent: Option<Time>,
    pub usage: Usage,
    arrived_to: u64,
    next: u64,
    delivered_at: Time,
    first_sent_at: Time,
    app_limited_until: Option<u64>,
}

impl SentPackets {
    pub fn new() -> SentPackets {
        SentPackets {
            sent: VecDeque::new(),
            in_flight: 0,
            bytes_in_flight: 0,
            delivered: 0,
            lost: 0,
            last_sent: None,
            usage: Usage::new(),
            arrived_to: 0,
            next: 0,
            delivered_at: Time::ZERO,
            first_sent_at: Time::ZERO,
            app_limited_until: Some(0),
        }
    }

    /// A QUIC packet of so many bytes goes out.
    pub fn send(&mut self, now: Time, number: u64, bytes: u16) {
        if self.in_flight == 0 {
            self.delivered_at = now;
            self.first_sent_at = now;
        }
        self.in_flight += 1;
        self.bytes_in_flight += u64::from(bytes);
        self.last_sent = Some(now);
        self.next = self.next.max(number + 1);
        self.usage.follow(self.in_flight, self.arrived_to, self.next);
        self.sent.push_back(SentPacket {
            number,
            at: now,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            delivered: self.delivered,
            lost: self.lost,
            tx_in_flight: self.in_flight,
            bytes,
            kind: PacketKind::OneRtt,
            app_limited: self.is_app_limited(),
            settled: false,
        });
    }

    /// A datagram went out with these packets, which are in flight since, unless they hold acknowledgments alone. What
    /// nobody tells is one of 1-RTT.
    pub fn tell_kinds(&mut self, now: Time, packets: &[Option<Packet>; 3]) {
        for packet in packets.iter().flatten().filter(|packet| packet.kind != PacketKind::OneRtt) {
            let is_it = |sent: &&mut SentPacket| {
                let is_open = sent.at == now && sent.kind == PacketKind::OneRtt;
                is_open && usize::from(sent.bytes) == packet.bytes && packet.full_number(sent.number) == sent.number
            };
            // Of two that look alike the one of the handshake stands first.
            if let Some(sent) = self.sent.iter_mut().rev().take(packets.len()).filter(is_it).last() {
                sent.kind = packet.kind;
            }
        }
    }

    /// Data wait, and the window has no room for them.
    pub fn fill_window(&mut self) {
        self.usage.fill(self.in_flight, self.next);
    }

    /// A QUIC packet of so many bytes that was in flight has arrived.
    pub fn deliver(&mut self, number: u64, bytes: u16, at: Time) -> Option<SentPacket> {
        self.delivered += 1;
        self.arrived_to = self.arrived_to.max(number + 1);
        self.settle(number, bytes, Some(at))
    }

    /// A QUIC packet of so many bytes is taken for lost: what kind it is of, if it was in flight.
    pub fn lose(&mut self, number: u64, bytes: u16) -> Option<(PacketKind, LostSegment)> {
        let SentPacket { tx_in_flight, lost, app_limited, kind, .. } = self.settle(number, bytes, None)?;
        self.lost += 1;
        Some((kind, LostSegment { tx_in_flight, lost_since: (self.lost - lost) as u32, app_limited }))
    }

    /// Takes out packet `number`. The handshake's packets have numbers of their own: size and `at` distinguish them.
    fn settle(&mut self, number: u64, bytes: u16, at: Option<Time>) -> Option<SentPacket> {
        let is_it = |sent: &SentPacket| {
            (sent.number, sent.bytes) == (number, bytes) && at.is_none_or(|at| sent.at == at) && !sent.settled
        };
        let guess = self.sent.partition_point(|sent| sent.number < number);
        let index = match self.sent.get(guess) {
            Some(sent) if is_it(sent) => guess,
            _ => self.sent.iter().position(is_it)?,
        };
        let sent = self.sent[index];
        self.take(index);
        Some(sent)
    }

    /// Packet `index` of the queue is no longer in flight.
    fn take(&mut self, index: usize) {
        let sent = &mut self.sent[index];
        sent.settled = true;
        self.in_flight -= 1;
        self.bytes_in_flight -= u64::from(sent.bytes);
        while self.sent.front().is_some_and(|front| front.settled) {
            self.sent.pop_front();
        }
    }

    /// Takes out packets until no more than `bytes` are in flight: those of the handshake whose keys are discarded (RFC
    /// 9002 section 6.4), Initial packets before the others and each in the order of sending. Where there is none, the
    /// oldest.
    pub fn forget_to(&mut self, bytes: u64) {
        while self.bytes_in_flight > bytes {
            let of_handshake = |(_, sent): &(usize, &SentPacket)| !sent.settled && sent.kind.space() < 2;
            let first = self.sent.iter().enumerate().filter(of_handshake).min_by_key(|(_, sent)| sent.kind.space());
            self.take(first.map_or(0, |(index, _)| index));
        }
    }

    /// The rate measured by the newest packet of an acknowledgment.
    pub fn sample(&mut self, now: Time, newest: &SentPacket, min_rtt: Duration) -> RateSample {
        if self.app_limited_until.is_some_and(|until| self.delivered > until) {
            self.app_limited_until = None;
        }
        self.delivered_at = now;
        self.first_sent_at = newest.at;
        let send_phase = newest.at.since(newest.first_sent_at);
        let interval = send_phase.max(now.since(newest.delivered_at));
        RateSample {
            delivered: (self.delivered - newest.delivered) as u32,
            lost: (self.lost - newest.lost) as u32,
            prior_delivered: newest.delivered,
            tx_in_flight: newest.tx_in_flight,
            interval: (interval >= min_rtt && !interval.is_zero()).then_some(interval),
            app_limited: newest.app_limited,
            retransmitted: false,
        }
    }

    /// Whether the application limits what is sent, or nothing has arrived yet.
    pub fn is_app_limited(&self) -> bool {
        self.app_limited_until.is_some()
    }

    /// The application has nothing more to send while the path has room.
    pub fn on_app_limited(&mut self) {
        self.app_limited_until = Some((self.delivered + u64::from(self.in_flight)).max(1));
    }

    /// One past the newest packet known to have arrived, and the number of the next packet: a round trip is over when
    /// the first passes what the second was at its begin.
    pub fn span(&self) -> (u64, u64) {
        (self.arrived_to, self.next)
    }
}
