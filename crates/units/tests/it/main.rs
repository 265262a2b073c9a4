//! What `units` promises, tested from outside.

mod quantities;
