//! What `scenario` promises, tested from outside.

mod language;
