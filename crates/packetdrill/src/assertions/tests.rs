//! Statements of the shapes that scripts use.

use super::*;

struct Info;

impl Names for Info {
    fn value(&self, name: &str) -> Result<Option<Value>, Problem> {
        match name {
            "tcpi_snd_cwnd" => Ok(Some(Value::Int(10))),
            "tcpi_rtt" => Ok(Some(Value::Int(101_250))),
            "TCP_CA_Open" => Ok(Some(Value::Int(0))),
            "tcpi_other" => Err(Problem::Unsupported("tcpi_other".into())),
            _ => Ok(None),
        }
    }
}

fn run(code: &str) -> Result<(), Problem> {
    Statements::default().run(code, &Info)
}

fn wrong(code: &str) -> String {
    match run(code) {
        Err(Problem::Wrong(message)) => message,
        other => panic!("{code:?} gave {other:?}"),
    }
}

#[test]
fn assertions_hold_or_not() {
    for code in [
        "assert tcpi_snd_cwnd == 10",
        " assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd ",
        "assert 98000 <= tcpi_rtt <= 110000, tcpi_rtt",
        "assert tcpi_rtt >= 95*1000 and tcpi_rtt <= 105 * 1000",
        "assert not tcpi_snd_cwnd == 11; assert (1, 2) == (1, 2)",
        "assert TCP_CA_Open == 0 # a remark\nassert 7 // 2 == 3 and 7 % 4 == 3 and 7 / 2 == 3.5",
        "assert tcpi_snd_cwnd == 10, 'cwnd %d' % tcpi_snd_cwnd; \\\n  assert 0x7fffffff == 2147483647",
        "assert -7 // 2 == -4 and -7 % 2 == 1 and 7 // -2 == -4 and 7 % -2 == -1",
        "assert abs(-3) == 3 and max(1, 5, 2) == 5 and min(4, 2) == 2 and int(2.9) == 2",
        "assert True or tcpi_snd_cwnd",
        "",
        "\n ; \n",
    ] {
        assert_eq!(run(code), Ok(()), "{code:?}");
    }
}

#[test]
fn a_failed_assertion_tells_the_values() {
    let message = wrong("assert 11 <= tcpi_snd_cwnd < 20, 'cwnd %d of %s' % (tcpi_snd_cwnd, 'x')");
    assert_eq!(message, "assertion `11 <= tcpi_snd_cwnd < 20` does not hold: cwnd 10 of x (tcpi_snd_cwnd = 10)");
    assert!(wrong("assert tcpi_snd_cwnd == 9").ends_with("does not hold (tcpi_snd_cwnd = 10)"));
}

#[test]
fn variables_live_from_block_to_block() {
    let mut statements = Statements::default();
    statements.run("cwnd = 10; print(cwnd, 'a')", &Info).expect("an assignment");
    statements.run("cwnd += 2\ncwnd *= 2; cwnd -= 4", &Info).expect("sums");
    statements.run("assert cwnd == 20 and tcpi_snd_cwnd == 10", &Info).expect("the value");
    assert_eq!(statements.printed(), ["(10, a)"]);
}

#[test]
fn what_is_not_covered_is_named() {
    assert_eq!(run("assert tcpi_other == 1"), Err(Problem::Unsupported("tcpi_other".into())));
    assert_eq!(run("import sys"), Err(Problem::Unsupported("statement `import`".into())));
    assert_eq!(run("assert len('x') == 1"), Err(Problem::Unsupported("function len()".into())));
}

#[test]
fn mistakes_are_explained() {
    for (code, says) in [
        ("assert foo == 1", "`foo` is not known"),
        ("assert", "expected a value"),
        ("assert 1 == ", "expected a value"),
        ("assert (1", "expected `)`"),
        ("assert 1 2", "expected the end of the statement, found `2`"),
        ("assert 'a", "not closed"),
        ("x = 1 / 0", "1 / 0"),
        ("x = 9223372036854775807 + 1", "too large"),
        ("x = 'a' - 1", "expected a number"),
        ("x = '%d %d' % 1", "more places"),
        ("x = 12ab", "not a number"),
        ("\\ x", "end of the line"),
        ("x = ?", "unexpected character"),
    ] {
        let message = wrong(code);
        assert!(message.contains(says), "{code:?}: {message:?} does not say {says:?}");
    }
    assert!(wrong(&format!("x = {}1", "(".repeat(1000))).contains("parentheses"));
}

proptest::proptest! {
    #[test]
    fn no_code_makes_it_panic(
        code in "(assert |print|x|tcpi_rtt|[-+*/%<>=!&|(),;.'\"\\\\ \n0-9]|0x|and |or |not |9223372036854775807){0,40}",
    ) {
        let _ = run(&code);
    }
}
