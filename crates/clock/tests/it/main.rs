//! Integration tests of `clock`.

mod chance;
