//! What `score` promises, tested from outside.

mod ledger;
