//! Logins: text, negotiation, CHAP and discovery separately, and both ends against each other in memory.

mod both_ends;
mod chap_values;
mod discovery;
mod initiator_end;
mod negotiation;
mod round_trip;
mod stages;
mod support;
mod target_chap;
mod target_end;
mod texts;
