//! The network engine's control messages on any bytes, at both ends: nothing panics, and a test that passes the check asks for
//! no more than the bounds.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| net::fuzzing::control(bytes));
