//! What `review` promises, tested from outside.

mod around;
mod comparison;
mod corpus;
mod map;
mod markdown;
mod network;
mod reader;
mod robust;
mod san;
#[path = "../../../findings/tests/support/mod.rs"]
mod support;
mod terminal;
