//! What `probe` promises, tested from outside.

mod block;
