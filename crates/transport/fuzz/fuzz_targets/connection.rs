//! Both state machines under a peer that may send anything.
#![no_main]

#[path = "../../tests/it/util/hostile.rs"]
mod hostile;

libfuzzer_sys::fuzz_target!(|script: &[u8]| {
    hostile::drive(script);
    hostile::answer_both_ways(script);
});
