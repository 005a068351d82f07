//! Transports that carry datagrams, all of the registry: a datagram tells when it was written, however long it waits at
//! the sender.

use std::collections::VecDeque;

use crate::util::{at, ms};
use serde_json::json;
use transport::{
    Act, Answer, Datagram, EndOptions, Endpoint, Input, Payload, Service, Transport, TransportConfig, Wake,
};
use units::{Bytes, Time};

/// Bytes of the path's default packet.
const PACKET: u32 = 1500;
/// More than an end sends at once that has a window or a rate.
const BURST: u64 = 200;

/// The kinds that carry datagrams, by their defaults or by the option with which they do.
fn carriers() -> Vec<TransportConfig> {
    let kind_with = |options: serde_json::Value| serde_json::from_value::<TransportConfig>(options).unwrap();
    let carries = |services: &[Service]| services.contains(&Service::Datagrams);
    let carrier = |name: &&str| {
        let plain = kind_with(json!({ "kind": name }));
        match plain.entry().other_services() {
            _ if carries(plain.entry().services()) => Some(plain),
            Some((option, value, services)) if carries(services) => {
                let value: serde_json::Value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
                Some(kind_with(json!({ "kind": name, option: value })))
            }
            _ => None,
        }
    };
    TransportConfig::ALL.iter().filter_map(carrier).collect()
}

/// Two ends 20 ms apart.
struct Pair {
    ends: [Box<dyn Endpoint>; 2],
    timers: [Time; 2],
    in_flight: VecDeque<(Time, usize, Payload)>,
    /// The datagrams that were sent: their numbers, and the instants at which the payload says they were written.
    sent: Vec<(u64, Time)>,
}

impl Pair {
    fn new(transport: &dyn Transport) -> Pair {
        let unopened = || [transport.unopened_end(), transport.unopened_end()];
        let ends = transport.open(Time::ZERO, [EndOptions::default(); 2]).unwrap_or_else(unopened);
        Pair { ends, timers: [Time::MAX; 2], in_flight: VecDeque::new(), sent: Vec::new() }
    }

    fn handle(&mut self, now: Time, end: usize, input: Input<'_>) -> Answer {
        let mut blank = Payload::Udp(Datagram { number: 0, len: 0 });
        let answer = self.ends[end].handle(now, input, &mut blank, &mut |payload, _| {
            self.sent.extend(payload.datagrams().map(|number| (number, payload.written(number, now))));
            self.in_flight.push_back((now + ms(20), 1 - end, payload.clone()));
        });
        if let Wake::At(wake) = answer.wake {
            self.timers[end] = wake;
        }
        answer
    }

    /// Runs until nothing happens before `until`.
    fn advance(&mut self, until: Time) {
        loop {
            let arrival = self.in_flight.front().map_or(Time::MAX, |packet| packet.0);
            let now = arrival.min(self.timers[0]).min(self.timers[1]);
            if now >= until {
                return;
            }
            if now == arrival {
                let (_, end, payload) = self.in_flight.pop_front().expect("it arrives");
                self.handle(now, end, Input::Packet(&payload));
            } else {
                let end = usize::from(self.timers[0] != now);
                let postponed = self.ends[end].postpone(now);
                self.timers[end] = postponed.unwrap_or(Time::MAX);
                if postponed.is_none() {
                    self.handle(now, end, Input::Timeout);
                }
            }
        }
    }
}

#[test]
fn a_datagram_tells_when_it_was_written() {
    for config in carriers() {
        let mut pair = Pair::new(&*config.entry().build(PACKET));
        for burst in 0..3 {
            let now = at(burst * 250);
            pair.advance(now);
            (0..BURST).for_each(|_| pair.ends[0].act(now, Act::Write(Bytes::new(1000))));
            pair.handle(now, 0, Input::Acted);
        }
        pair.advance(at(60_000));
        assert!(pair.sent.len() as u64 > BURST, "{}: {} were sent", config.kind(), pair.sent.len());
        for (number, written) in pair.sent {
            assert_eq!(written, at(number / BURST * 250), "{}: datagram {number}", config.kind());
        }
    }
}
