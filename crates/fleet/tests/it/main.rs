//! What `fleet` promises, tested from outside.

mod agent;
mod arrays;
mod assign;
mod common;
mod greet;
mod hops;
mod message;
mod nets;
mod run;
mod search;
mod steady;
