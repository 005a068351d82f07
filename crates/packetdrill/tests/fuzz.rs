//! Wrong input ends with an outcome, whatever it is.

use packetdrill::{run, trace};
use proptest::prelude::*;

/// A script of which lines are taken, repeated and changed.
const LINES: [&str; 24] = [
    "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3",
    "+0 bind(3, ..., ...) = 0",
    "+0 listen(3, 1) = 0",
    "+0 < S 0:0(0) win 32792 <mss 1000,nop,nop,sackOK,nop,wscale 7>",
    "* > S. 0:0(0) ack 1 <...>",
    "+.1 < . 1:1(0) ack 1 win 1000",
    "+0 accept(3, ..., ...) = 4",
    "+0 write(4, ..., 5000) = 5000",
    "* > . 1:3001(3000) ack 1",
    "+.1 < . 1:1(0) ack 1 win 10 <nop,nop,sack 1001:2001>",
    "+.1 < . 1:1(0) ack 4001 win 10 <nop,nop,sack 1:1001 5001:99999>",
    "+0 < F. 1:1(0) ack 5001 win 0",
    "+0 < R. 1:1(0) ack 1 win 0",
    "+0 < SEW 0:0(0) win 5 <mss 0,nop,wscale 14>",
    "+0 < - 1:1001(1000) win 5",
    "+0 < [ce] P. 4294967295:4294967295(0) ack 4294967295 win 65535",
    "+0 < . 500:65500(65000) ack 1 win 5",
    "+3 read(4, ..., 100000) = 1000",
    "+0 close(4) = 0",
    "+0 shutdown(4, SHUT_RDWR) = 0",
    "+0...9 connect(3, ..., ...) = 0",
    "+0...0.5 read(4, ..., 5) = 5",
    "+0 setsockopt(3, SOL_SOCKET, SO_SNDBUF, [-5], 4) = 0",
    "+0 %{ assert tcpi_rtt <= tcpi_rto, tcpi_snd_cwnd }%",
];

proptest! {
    #[test]
    fn no_order_of_lines_makes_it_panic(
        order in prop::collection::vec(0..LINES.len(), 1..40),
        open in any::<bool>(),
        strict in any::<bool>(),
    ) {
        let head = if open { &LINES[..7] } else { &[][..] };
        let lines: Vec<&str> = head.iter().copied().chain(order.iter().map(|at| LINES[*at])).collect();
        run::run(&lines.join("\n"), &run::Options { strict, ..run::Options::default() });
    }

    #[test]
    fn no_recording_makes_it_panic(kinds in prop::collection::vec((0..8usize, 0..4000u64, 0..30_000u64), 1..60)) {
        let mut text = String::from(
            "{\"scenario\":\"x\",\"cc\":\"cubic\",\"dur\":3}\n\
             [0.1,\"in\",\"S\",0,0,0,65535,{}]\n[0.2,\"in\",\".\",1,0,1,65535,{}]\n",
        );
        let mut at = 1.0;
        for (kind, a, b) in kinds {
            at += a as f64 / 50.0;
            text += &match kind {
                0 => format!("[{at},\"write\",{b}]\n"),
                1 => format!("[{at},\"read\",{b}]\n"),
                2 => format!("[{at},\"in\",\".\",1,0,{b},65535,{{}}]\n"),
                3 => format!("[{at},\"in\",\".\",1,0,1,{a},{{\"sack\":[[{b},{}]]}}]\n", b + a),
                4 => format!("[{at},\"in\",\"F.\",{a},{},{b},0,{{}}]\n", a % 1460),
                5 => format!("[{at},\"in\",\"R\",{a},0,0,0,{{}}]\n"),
                6 => format!("[{at},\"out\",\".\",{b},1000,1,1050,{{}}]\n"),
                _ => format!("[{at},\"drop\",1,{b},1]\n"),
            };
        }
        let recording = trace::parse(&text).expect("a recording");
        let _ = trace::replay(&recording, trace::Bounds::of("bbr"), true);
    }
}
