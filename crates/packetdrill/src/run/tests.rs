//! Scripts that pass, fail, or cannot be run.

use super::*;

const OPEN: &str = "\
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 32792 <mss 1000,nop,nop,sackOK,nop,wscale 7>
+0 > S. 0:0(0) ack 1 <...>
+.1 < . 1:1(0) ack 1 win 1000
+0 accept(3, ..., ...) = 4
";

fn play(rest: &str, strict: bool) -> Outcome {
    run(&format!("{OPEN}{rest}"), &Options { strict, ..Options::default() })
}

fn fails(rest: &str, line: u32, says: &str) {
    let outcome = play(rest, false);
    let Outcome::Fail(reason) = &outcome else { panic!("{rest:?} gave {outcome}") };
    assert!(reason.starts_with(&format!("line {line}: ")) && reason.contains(says), "{reason:?} for {says:?}");
}

fn skips(rest: &str, construct: &str) {
    assert_eq!(play(rest, false), Outcome::Skip(construct.into()), "{rest:?}");
}

fn holds(rest: &str) {
    assert_eq!(play(rest, false), Outcome::Pass, "{rest:?}");
}

#[test]
fn segments_are_merged_up_to_the_length_that_is_expected() {
    holds("+0 write(4, ..., 10000) = 10000\n+0 > . 1:4001(4000) ack 1\n+0 > P. 4001:10001(6000) ack 1");
    fails("+0 write(4, ..., 10000) = 10000\n+0 > . 1:3501(3500) ack 1", 9, "lengths differ");
    let text = format!("--strict_segments\n{OPEN}+0 write(4, ..., 2000) = 2000\n+0 > P. 1:2001(2000) ack 1");
    assert!(matches!(run(&text, &Options::default()), Outcome::Fail(reason) if reason.contains("lengths differ")));
}

#[test]
fn what_differs_is_named_with_both_sides() {
    let write = "+0 write(4, ..., 1000) = 1000\n";
    for (expected, says) in [
        ("> F. 1:1001(1000) ack 1", "flags differ: expected F. 1:1001(1000) ack 1, sent was P. 1:1001(1000) ack 1"),
        ("> . 2:1002(1000) ack 1", "sequence numbers differ"),
        ("> . 1:1000(999) ack 1", "lengths differ"),
        ("> . 1:1001(1000) ack 2", "acknowledgment numbers differ"),
        ("> . 1:1001(1000) ack 1 win 5", "windows differ"),
        ("> [ect0] . 1:1001(1000) ack 1", "marks of the IP header differ"),
        ("> . 1:1001(1000) ack 1 <nop,nop,sackOK>", "options differ"),
    ] {
        fails(&format!("{write}+0 {expected}"), 9, says);
    }
}

#[test]
fn times_are_held_to_the_tolerance() {
    holds("+0 write(4, ..., 2000) = 2000\n+.004 > P. 1:2001(2000) ack 1");
    fails(
        "+0 write(4, ..., 2000) = 2000\n+.005 > P. 1:2001(2000) ack 1",
        9,
        "it came at 0.100000 s (tolerance 0.004000 s)",
    );
    fails("+0 > . 1:1(0) ack 1", 8, "nothing was sent");
    fails("0.05 write(4, ..., 1000) = 1000", 8, "expected a time not before");
}

#[test]
fn strict_runs_compare_the_push_flag_and_let_nothing_be_overlooked() {
    let pushed = "+0 write(4, ..., 1000) = 1000\n+0 > . 1:1001(1000) ack 1";
    assert_eq!(play(pushed, false), Outcome::Pass);
    assert!(matches!(play(pushed, true), Outcome::Fail(reason) if reason.contains("flags differ")));
    let overlooked = "+0 write(4, ..., 1000) = 1000\n+.1 < . 1:1(0) ack 1001 win 1000";
    assert_eq!(play(overlooked, false), Outcome::Pass);
    assert!(
        matches!(play(overlooked, true), Outcome::Fail(reason) if reason.contains("is not expected: P. 1:1001(1000)"))
    );
}

#[test]
fn blocking_calls_return_when_they_can() {
    holds("+0...0.2 read(4, ..., 1000) = 500\n+.2 < P. 1:501(500) ack 1 win 1000");
    fails(
        "+0...0.2 read(4, ..., 1000) = 400\n+.2 < P. 1:501(500) ack 1 win 1000",
        9,
        "expected read to return 400, it returned 500",
    );
    fails(
        "+0...0.5 read(4, ..., 1000) = 500\n+.2 < P. 1:501(500) ack 1 win 1000",
        9,
        "expected the return of read (line 8)",
    );
    fails("+0...0.3 read(4, ..., 1000) = 500", 8, "does not return");
    fails("+0 read(4, ..., 1000) = 500", 8, "blocks, which the script does not expect");
    holds(
        "+0 setsockopt(4, SOL_SOCKET, SO_SNDBUF, [5000], 4) = 0\n+0...0.1 write(4, ..., 12000) = 12000\n\
         +0 > P. 1:10001(10000) ack 1\n+.1 < . 1:1(0) ack 5001 win 1000\n+0 > P. 10001:12001(2000) ack 1",
    );
    holds("+0 fcntl(4, F_SETFL, O_RDWR|O_NONBLOCK) = 0\n+0 read(4, ..., 10) = -1 EAGAIN (Try again)");
}

#[test]
fn messages_are_written_with_all_their_parts() {
    let message =
        |parts: &str| format!("+0 sendmsg(4, {{msg_name(...)=..., msg_iov(2)=[{parts}], msg_flags=0}}, 0) = 900");
    holds(&format!("{}\n+0 > P. 1:901(900) ack 1", message("{..., 400}, {..., 500}")));
    fails(&message("{..., 400}"), 8, "expected sendmsg to return 900, it returned 400");
    fails(&message("{..., x}"), 8, "expected parts {data, bytes} in msg_iov");
    fails("+0 sendmsg(4, ..., 0) = 1", 8, "expected a message in sendmsg");
}

#[test]
fn options_of_a_listener_are_those_of_its_connection() {
    let text = OPEN.replace("+0 listen", "+0 setsockopt(3, SOL_TCP, TCP_CORK, [1], 4) = 0\n+0 listen");
    let rest = "+0 getsockopt(4, SOL_TCP, TCP_CORK, [1], [4]) = 0\n+0 write(4, ..., 10) = 10\n\
        +.1 setsockopt(4, SOL_TCP, TCP_CORK, [0], 4) = 0\n+0 > P. 1:11(10) ack 1";
    assert_eq!(run(&format!("{text}{rest}"), &Options::default()), Outcome::Pass);
}

#[test]
fn an_application_is_told_of_a_reset_once() {
    holds(
        "+0 < R 1:1(0) win 0\n+0 read(4, ..., 10) = -1 ECONNRESET (Connection reset by peer)\n\
         +0 read(4, ..., 10) = 0\n+0 write(4, ..., 10) = -1 EPIPE (Broken pipe)",
    );
}

#[test]
fn poll_tells_what_is_ready() {
    holds("+0 poll([{fd=4, events=POLLIN|POLLOUT, revents=POLLOUT}], 1, 0) = 1");
    holds("+0 poll([{fd=4, events=POLLIN, revents=0}], 1, 0) = 0");
    holds("+0...0.2 poll([{fd=4, events=POLLIN, revents=POLLIN}], 1, 1000) = 1\n+.2 < P. 1:501(500) ack 1 win 1000");
    holds("+0...0.1 poll([{fd=4, events=POLLIN, revents=0}], 1, 100) = 0");
    fails(
        "+0 poll([{fd=4, events=POLLOUT, revents=POLLIN}], 1, 0) = 1",
        8,
        "expected the events POLLIN, found POLLOUT",
    );
}

#[test]
fn statements_see_the_connection() {
    holds("+0 %{ assert tcpi_state == TCP_ESTABLISHED and tcpi_snd_mss == 1000 and 99000 <= tcpi_rtt <= 101000 }%");
    fails("+0 %{ assert tcpi_snd_cwnd == 11, 'w' }%", 8, "does not hold: w (tcpi_snd_cwnd = 10)");
    skips("+0 %{ assert tcpi_busy_time == 0 }%", "tcpi_busy_time (line 8)");
}

#[test]
fn timestamps_are_translated_in_both_directions() {
    let text = "--tcp_ts_tick_usecs=1000\n\
        0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 bind(3, ..., ...) = 0\n+0 listen(3, 1) = 0\n\
        +.5 < S 0:0(0) win 32792 <mss 1000,sackOK,TS val 7 ecr 0,nop,wscale 7>\n\
        +0 > S. 0:0(0) ack 1 <mss 1460,sackOK,TS val 100 ecr 7,nop,wscale 7>\n\
        +.1 < . 1:1(0) ack 1 win 1000 <nop,nop,TS val 107 ecr ECHO>\n\
        +.2 accept(3, ..., ...) = 4\n+0 write(4, ..., 100) = 100\n\
        +0 > P. 1:101(100) ack 1 <nop,nop,TS val LATER ecr 107>\n";
    let with = |echo: &str, later: &str| run(&text.replace("ECHO", echo).replace("LATER", later), &Options::default());
    assert_eq!(with("100", "400"), Outcome::Pass);
    assert!(
        matches!(with("99", "400"), Outcome::Fail(reason) if reason.contains("the echoed timestamp 99 was never sent"))
    );
    assert!(matches!(with("100", "700"), Outcome::Fail(reason) if reason.contains("expected the timestamp 700")));
}

#[test]
fn what_is_not_covered_is_skipped_by_name() {
    skips("+0 epoll_create(1) = 5", "call epoll_create (line 8)");
    skips("+0 setsockopt(4, SOL_TCP, TCP_MD5SIG, [1], 4) = 0", "option TCP_MD5SIG (line 8)");
    skips("+0 setsockopt(4, SOL_TCP, TCP_MAXSEG, [900], 4) = 0", "TCP_MAXSEG of an open connection (line 8)");
    skips("+0 setsockopt(4, SOL_SOCKET, SO_LINGER, {onoff=1, linger=5}, 8) = 0", "SO_LINGER for a time (line 8)");
    skips("+0 getsockopt(4, SOL_SOCKET, SO_ERROR, [EPROTO], [4]) = 0", "failure EPROTO (line 8)");
    skips("+0 send(4, ..., 10, MSG_OOB) = 10", "flag MSG_OOB (line 8)");
    skips(
        "+0 sendmsg(4, {msg_name(...)=..., msg_iov(1)=[{..., 4}], msg_flags=0, msg_control=[]}, 0) = 4",
        "msg_control (line 8)",
    );
    skips("+0 ioctl(4, SIOCATMARK, [0]) = 0", "ioctl SIOCATMARK (line 8)");
    skips(
        "+0 `sysctl -q net.ipv4.tcp_frto=0`\n+0 %{ }%",
        "command while a connection is open: sysctl -q net.ipv4.tcp_frto=0 (line 8)",
    );
    let text = format!("--ip_version=ipv4_mapped\n{OPEN}");
    assert_eq!(run(&text, &Options::default()), Outcome::Pass);
    let text = format!("--foo=1\n{OPEN}");
    assert_eq!(run(&text, &Options::default()), Outcome::Skip("option --foo (line 1)".into()));
}

const SEND: &str = "+0 setsockopt(4, SOL_SOCKET, SO_ZEROCOPY, [1], 4) = 0\n+0 send(4, ..., 1000, MSG_ZEROCOPY) = 1000\n\
    +0 send(4, ..., 1000, MSG_ZEROCOPY) = 1000\n+.1 < . 1:1(0) ack ACKED win 1000\n";
const NEWS: &str = "+0 recvmsg(4, {msg_name(...)=..., msg_iov(1)=[{...,0}], msg_flags=MSG_ERRQUEUE, \
    msg_control=[{cmsg_level=SOL_IP, cmsg_data={ee_errno=0, ee_info=0, ee_data=LAST}}]}, MSG_ERRQUEUE) = RESULT";

#[test]
fn sends_without_a_copy_are_told_of_when_they_are_acknowledged() {
    let text = |acked: &str, last: &str, result: &str| {
        format!("{SEND}{NEWS}").replace("ACKED", acked).replace("LAST", last).replace("RESULT", result)
    };
    holds(&text("1001", "0", "0"));
    holds(&text("2001", "1", "0"));
    holds(&text("1000", "0", "-1 EAGAIN (none)"));
    fails(&text("2001", "0", "0"), 12, "expected ee_data 0, found 1");
}

#[test]
fn what_is_left_to_read_is_told_with_what_is_read() {
    let read = |left: u32| {
        format!(
            "+0 setsockopt(4, SOL_TCP, TCP_INQ, [1], 4) = 0\n+0 < . 1:901(900) ack 1 win 1000\n\
             +0 recvmsg(4, {{msg_name(...)=..., msg_iov(1)=[{{..., 200}}], msg_flags=0, \
             msg_control=[{{cmsg_type=TCP_CM_INQ, cmsg_data={left}}}]}}, 0) = 200"
        )
    };
    holds(&read(700));
    fails(&read(701), 10, "expected TCP_CM_INQ 701, found 700");
}

#[test]
fn options_of_a_file_are_checked() {
    for (option, says) in [
        ("--tolerance_usecs=x", "expected microseconds, found \"x\""),
        ("--tolerance_percent=101", "expected a percentage"),
        ("--mss=-1", "expected bytes"),
    ] {
        let outcome = run(&format!("{option}\n{OPEN}"), &Options::default());
        assert!(
            matches!(&outcome, Outcome::Fail(reason) if reason.starts_with("line 1: ") && reason.contains(says)),
            "{outcome}"
        );
    }
}

#[test]
fn long_packets_arrive_in_segments() {
    let text = format!(
        "--mss=1000\n{OPEN}+0 < P. 1:2501(2500) ack 1 win 1000\n+0 > . 1:1(0) ack 1001\n+0 > . 1:1(0) ack 2001\n\
         * > . 1:1(0) ack 2501\n+0 read(4, ..., 9999) = 2500"
    );
    assert_eq!(run(&text, &Options::default()), Outcome::Pass);
}

#[test]
fn one_connection_after_the_other() {
    let one = "+0 < S 0:0(0) win 32792 <mss 1000>\n* > S. 0:0(0) ack 1 <...>\n+.1 < . 1:1(0) ack 1 win 1000\n\
        +0 accept(3, ..., ...) = 4\n+0 close(4) = 0\n* > F. 1:1(0) ack 1\n+.1 < F. 1:1(0) ack 2 win 1000\n\
        * > . 2:2(0) ack 2\n";
    let two = one.replace("= 4", "= 5").replace("(4)", "(5)");
    let text = format!(
        "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 bind(3, ..., ...) = 0\n+0 listen(3, 1) = 0\n{one}{two}"
    );
    assert_eq!(run(&text, &Options::default()), Outcome::Pass);
}
