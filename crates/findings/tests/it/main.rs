//! What a record shows: records are written by hand, analysed, and compared with what was planted in them.

#[path = "../support/mod.rs"]
mod support;

mod agents;
mod answers;
mod attribution;
mod balance;
mod claims;
mod claims_intervals;
mod claims_shapes;
mod compare;
mod confidence;
mod content;
mod done;
mod drawn;
mod evidence;
mod generator;
mod goals;
mod judged;
mod knee;
mod little;
mod media;
mod network;
mod network_goals;
mod planted;
mod ports;
mod projection;
mod proof;
mod ratio;
mod results;
mod run;
mod schema;
mod search;
mod served;
mod statistics;
mod steady;
mod stops;
mod sweep;
mod verification;
mod warnings;
