//! What `clock` promises, tested from outside.

mod chance;
