//! Integration tests of `units`.

mod quantities;
