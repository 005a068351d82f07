//! A controller of somebody else: what is held whatever it says, and that one with NewReno's rule is NewReno.

use std::sync::Arc;

use super::super::external::{External, ExternalConfig};
use super::super::{Answer, Control, MakeControl, View};
use super::*;

/// Says always the same.
struct Says(Answer, Needs);

impl Control for Says {
    fn needs(&self) -> Needs {
        self.1
    }

    fn on_ack(&mut self, _sample: &AckSample, _view: View) -> Answer {
        self.0
    }

    fn on_event(&mut self, _now: Time, _event: &Event, _view: View) -> Answer {
        self.0
    }
}

fn says(answer: Answer, needs: Needs) -> Drive {
    let control = move |_: &Start| Box::new(Says(answer, needs)) as Box<dyn Control>;
    let mut config = ExternalConfig::named("says");
    let make: MakeControl = Arc::new(control);
    config.supply(&mut |_| Some(Arc::clone(&make))).unwrap();
    Drive::new(&config, 10, RTT)
}

#[test]
fn fractions_of_a_segment_add_up() {
    let mut drive = Drive::of_kind("external", 10);
    drive.lose();
    assert_eq!(drive.window().size, 5);
    (0..4).for_each(|_| drive.ack(1));
    assert_eq!(drive.window().size, 5);
    (0..2).for_each(|_| drive.ack(1));
    assert_eq!(drive.window().size, 6, "one more after a window's segments");
}

#[test]
fn what_it_may_not_do_is_not_done() {
    let window = |window| Answer { window: Some(window), ..Answer::default() };
    for (given, is) in [(0.0, 1), (-5.0, 1), (f64::NAN, 10), (f64::INFINITY, 1_000_000_000), (7.9, 7)] {
        let mut drive = says(window(given), Needs { drives: true, ..Needs::default() });
        drive.ack(1);
        assert_eq!(drive.window().size, is, "{given}");
    }
    let mut drive = says(window(99.0), Needs::default());
    drive.window_mut().size = 20;
    let sample = AckSample { may_grow: false, ..drive.sample(1) };
    drive.handle(&sample);
    assert_eq!(drive.window().size, 20, "no acknowledgment moves it in recovery");
    let mut drive = says(Answer { threshold: Some(1e9), ..Answer::default() }, Needs::default());
    drive.reduce();
    assert_eq!(drive.window().threshold, 10, "a reduction is none from what it reduces");
    let mut drive = says(Answer { threshold: Some(-3.0), ..Answer::default() }, Needs::default());
    drive.reduce();
    assert_eq!(drive.window().threshold, 2);
}

#[test]
fn its_name_is_asked_for_and_looked_up() {
    let named = ExternalConfig::named("tset");
    let error = |config: &ExternalConfig, known: &[&str]| {
        let known: Vec<String> = known.iter().map(|name| (*name).to_owned()).collect();
        config.check().and_then(|()| config.check_registered(&known)).unwrap_err().to_string()
    };
    assert_eq!(
        error(&ExternalConfig::default(), &[]),
        "name: is missing (the name under which the script has registered its controller)"
    );
    let message = "name: \"tset\" given, and no script has registered a controller of that name";
    assert_eq!(error(&named, &[]), message);
    assert_eq!(error(&named, &["a", "test"]), format!("{message}, but a, test"));
    assert!(named.clone().supply(&mut find).is_err());
    assert_eq!(ExternalConfig::named("test").supply(&mut find), Ok(()));
}

#[test]
fn it_has_no_probes_and_keeps_its_rate_and_time() {
    let rate = units::BitRate::from_bps(1_000_000);
    let at = Time::ZERO + Duration::from_secs(9);
    let answer = Answer { pacing_rate: Some(rate), timeout: Some(at), ..Answer::default() };
    let needs = Needs { probes: true, rates: true, timer: true, ..Needs::default() };
    let mut controller = External::new(Box::new(Says(answer, needs)), start(10));
    assert!(!controller.needs().probes);
    controller.on_ack(&sample(Time::ZERO, 1, RTT));
    assert_eq!((controller.pacing_rate(), controller.poll_timeout()), (Some(rate), Some(at)));
}
