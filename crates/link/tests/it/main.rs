//! Integration tests in one program, which is built once.

mod common;
mod config;
mod conformance;
mod dualpi2;
mod emptied_queues;
mod handover;
mod handover_conformance;
mod harq_codeword;
mod harq_config;
mod harq_conformance;
mod harq_last_hop;
mod harq_sizes;
mod last_hop;
mod late;
mod outcomes;
mod queue;
mod reordering;
mod reordering_flow_blind;
mod scheduler_choice;
mod scheduler_turns;
mod schedulers;
