//! Any text as a binary value, an identifier or an algorithm of CHAP: what was read is written, and read as the same, and
//! nothing but its own response meets a challenge.

#![no_main]

use iscsi::chap::{
    Algorithm, Challenge, MAX_BINARY, Secret, decode, encode, encode_base64, identifier, respond,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, &str)| {
    let (id, value) = input;
    let _ = (identifier(value), Algorithm::parse(value));
    let Ok(bytes) = decode(value) else { return };
    assert!((1..=MAX_BINARY).contains(&bytes.len()));
    for written in [encode(&bytes), encode(&bytes).to_uppercase(), encode_base64(&bytes)] {
        assert_eq!(decode(&written).as_ref(), Ok(&bytes));
    }
    let secret = Secret::new(b"a secret of some length").expect("neither empty nor too long");
    let mut challenge = Challenge { id, bytes: [0; 32] };
    let len = bytes.len().min(32);
    challenge.bytes[..len].copy_from_slice(&bytes[..len]);
    for algorithm in Algorithm::ALL {
        let response = respond(algorithm, id, &secret, &challenge.bytes);
        assert!(challenge.is_met(algorithm, &secret, &response));
        assert_eq!(challenge.is_met(algorithm, &secret, &bytes), bytes == response);
    }
});
