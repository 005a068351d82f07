//! Scripts that the parser reads, and its errors.

use units::{Duration, Ecn};

use super::super::ast::{IpEcn, OptionList, Packet, PacketFlags, TcpOption};
use super::*;

fn one(text: &str) -> Event {
    let script = parse(text, &[]).unwrap_or_else(|error| panic!("{text:?}: {error}"));
    assert_eq!(script.events.len(), 1, "{text:?}");
    script.events.into_iter().next().expect("an event")
}

fn packet(text: &str) -> Packet {
    match one(text).action {
        Action::Inbound(packet) | Action::Outbound(packet) => packet,
        other => panic!("{text:?} is {other:?}"),
    }
}

fn call(text: &str) -> Call {
    let Action::Call(call) = one(text).action else { panic!("{text:?} is no call") };
    call
}

fn fails(text: &str, line: u32, says: &str) {
    match parse(text, &[]) {
        Err(ScriptError::Syntax(at, message)) => {
            assert!(message.contains(says), "{text:?}: {message:?} does not say {says:?}");
            assert_eq!(at, line, "{text:?}: {message}");
        }
        other => panic!("{text:?} gave {other:?}"),
    }
}

const fn us(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

#[test]
fn times_are_absolute_relative_ranges_or_any() {
    assert_eq!(one("0.310 %{ }%").when, When::At(us(310_000)));
    assert_eq!(one("+.1 %{ }%").when, When::After(us(100_000)));
    assert_eq!(one("1~2.5 > . 1:1(0) ack 1").when, When::AtRange(us(1_000_000), us(2_500_000)));
    assert_eq!(one("+.3~+.303 > . 1:1(0) ack 1").when, When::AfterRange(us(300_000), us(303_000)));
    assert_eq!(one("* > . 1:1(0) ack 1").when, When::Any);
}

#[test]
fn blocking_calls_have_an_end() {
    let event = one("+.09...0.14 write(3, ..., 150000) = 150000");
    assert_eq!(event.when, When::After(us(90_000)));
    let Action::Call(call) = event.action else { panic!() };
    assert_eq!(call.until, Some(us(140_000)));
    assert_eq!(call.args, [Expr::Int(3), Expr::Whatever, Expr::Int(150_000)]);
}

#[test]
fn packets_have_flags_numbers_and_options() {
    let syn = packet("0 < S 0:0(0) win 32792 <mss 1000,sackOK,nop,nop,nop,wscale 7>");
    assert_eq!(syn.flags, PacketFlags { syn: true, ..PacketFlags::default() });
    assert_eq!(syn.window, Some(32_792));
    let OptionList::These(options) = &syn.options else { panic!() };
    assert_eq!(options[0], TcpOption::Mss(1000));
    assert_eq!(options[5], TcpOption::WindowScale(7));

    let data = packet("+0 > [ect0] PEW. 1:1001(1000) ack 5 <nop,nop,TS val 3 ecr 9>");
    assert_eq!(data.ecn, Some(IpEcn::Is(Ecn::Ect0)));
    assert!(data.flags.psh && data.flags.ece && data.flags.cwr && data.flags.ack && !data.flags.syn);
    assert_eq!((data.seq, data.len, data.ack), (1, 1000, Some(5)));
    let OptionList::These(options) = data.options else { panic!() };
    assert_eq!(options[2], TcpOption::Timestamps(3, 9));

    assert_eq!(packet("* > S. 0:0(0) ack 1 <...>").options, OptionList::Any);
    assert_eq!(packet("0 < - 1:1001(1000) win 20").ack, None);
    let sack = packet("0 < . 1:1(0) ack 1 win 1 <nop,nop,sack 3:5 7:9>");
    let OptionList::These(options) = sack.options else { panic!() };
    assert_eq!(options[2], TcpOption::Sack(vec![(3, 5), (7, 9)]));
}

#[test]
fn cookies_keep_their_zeros() {
    for digits in ["", "00112233", "11223344", "3021b9d889017eeb", "abcd1234", "00000000"] {
        let syn = packet(&format!("0 < S 0:0(0) win 5 <mss 1000,FOEXP {digits}>"));
        let OptionList::These(options) = &syn.options else { panic!() };
        assert_eq!(options[1], TcpOption::FastOpenExperimental(digits.into()));
    }
}

#[test]
fn calls_have_arguments_of_all_shapes() {
    let call = call(
        "+0 sendmsg(4, {msg_name(...)=..., msg_iov(2)=[{..., 40}, {..., 2}], msg_flags=0}, MSG_MORE|MSG_EOR) = -1 \
         EAGAIN (Resource temporarily unavailable)",
    );
    assert_eq!(call.errno.as_deref(), Some("EAGAIN"));
    assert_eq!(call.result, Expr::Int(-1));
    let Expr::Struct(members) = &call.args[1] else { panic!() };
    assert_eq!(members[1].0, "msg_iov");
    assert_eq!(call.args[2], Expr::Symbols(vec!["MSG_MORE".into(), "MSG_EOR".into()]));
}

#[test]
fn flags_of_a_result_are_a_remark() {
    assert_eq!(call("+0 fcntl(3, F_GETFL) = 0x2 (flags O_RDWR)").result, Expr::Int(2));
}

#[test]
fn the_head_the_commands_and_the_end_are_told_apart() {
    let text = "--tolerance_usecs=7000\n`setup`\n0 `inline`\n+0 %{ assert 1 == 1 }%\n`cleanup`\n";
    let script = parse(text, &[]).expect("a script");
    assert_eq!(script.options[0].value, "7000");
    assert_eq!(script.setup, [(2, "setup".to_owned())]);
    assert_eq!(script.events.len(), 2);
    assert_eq!(script.events[1].line, 4);
}

#[test]
fn symbols_are_put_in_place_and_the_command_line_goes_first() {
    let text = "--define=SIZE=1000 --define=FLAGS=\"P.\"\n0 > FLAGS 1:1001(SIZE) ack 1";
    assert_eq!(packet(text).len, 1000);
    let Err(error) = parse(text, &[("SIZE".into(), "5".into())]) else { panic!() };
    assert_eq!(error, ScriptError::Syntax(2, "expected 1:6(5), found 1:1001(5)".into()));
}

#[test]
fn wrong_texts_are_told_with_line_and_expectation() {
    fails("", 1, "expected an event");
    fails("0", 1, "expected `<`, `>`, a call");
    fails("\n\nfoo(1) = 2", 3, "expected a time in seconds");
    fails("0 < X 1:1(0) win 5", 1, "expected flags");
    fails("0 > . 1:1(0) win 5", 1, "expected `ack`");
    assert_eq!(packet("0 < . 0:0(0) win 5").ack, Some(0));
    fails("0 < S 1:1(0) ack 1 win 5", 1, "expected no `ack`");
    fails("0 < S 0:0(0)", 1, "expected `win`");
    fails("0 < S 0:0(0) win 70000", 1, "from 0 to 65535");
    fails("0 < S 0:0(0) win 7 <...>", 1, "found `<...>`");
    fails("\n0 < . 1:2(0) ack 1 win 5", 2, "expected 1:1(0)");
    fails("0 > . 1:1(0) ack 1 <mss>", 1, "expected a segment size");
    fails("0 > . 1:1(0) ack 1 <sackOK>", 1, "multiple of 4");
    fails("0 > . 1:1(0) ack 1 <sack 5:5>", 1, "after its start");
    fails("0 > . 1:1(0) ack 1 <sack>", 1, "1 to 4 blocks");
    fails("0 > . 1:1(0) ack 1 <foo>", 1, "found `foo`");
    fails("0 > . 1:1(0) ack 1 <nop", 1, "expected `,`");
    fails("* write(3, ..., 1) = 1", 1, "only before an outbound packet");
    fails("1~2 < S 0:0(0) win 5", 1, "only before an outbound packet");
    fails("2~1 > . 1:1(0) ack 1", 1, "not before the first");
    fails("1~+2 > . 1:1(0) ack 1", 1, "without `+`");
    fails("0...1 %{ }%", 1, "only before a call");
    fails("0 write(3, ..., 1", 1, "expected `,`");
    fails("0 write(3) 5", 1, "expected `=`");
    fails("0 write(3) = ", 1, "expected a value");
    fails("0 write({3) = 1", 1, "expected `,`");
    fails("0 write(3) = -1 EPIPE (Broken", 1, "expected `)`");
    fails("0 `a`\n`b`\n0 `c`", 3, "expected the end of the file");
    fails("9999999999 %{ }%", 1, "at most 1000000 s");
    fails("--define=X\n0 %{ }%", 1, "expected NAME=value");
}

#[test]
fn constructs_that_are_not_covered_are_named() {
    for (text, construct) in [
        ("0 > udp (5)", "udp packet"),
        ("0 < icmp unreachable", "icmp packet"),
        ("0 > S 0:0(0) <md5 1234>", "option md5"),
        ("0 > . 1:1(0) ack 1 urg 5", "urgent data"),
        ("0 > A. 1:1(0) ack 1", "accurate ECN"),
    ] {
        match parse(text, &[]) {
            Err(ScriptError::Unsupported(1, found)) => assert_eq!(found, construct),
            other => panic!("{text:?} gave {other:?}"),
        }
    }
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(
        text in "([-+*~<>.(),:=|`%{}\\[\\]\"/ \n0-9a-zA-Z]|\\.\\.\\.|%\\{|\\}%|sack |TS val |ack 1|win 5){0,60}",
    ) {
        let _ = parse(&text, &[]);
    }

    #[test]
    fn no_change_of_a_script_makes_it_panic(at in 0usize..200, byte in 0x20u8..0x7f) {
        let mut text = b"--mss=5\n`a`\n0 socket(..., A|B, [1]) = 3 E (x)\n\
            +.1~+.2 > [ce] S. 0:1(1) ack 1 win 5 <mss 1,TS val 1 ecr 2,nop,nop>\n\
            * > . 1:1(0) ack 1\n0 < - 1:1(0) win 9\n0 %{ x }%\n"
            .to_vec();
        let at = at % text.len();
        text[at] = byte;
        let _ = parse(&String::from_utf8_lossy(&text), &[]);
    }
}
