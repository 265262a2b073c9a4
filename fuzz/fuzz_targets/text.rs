//! Any bytes as iSCSI text, as a list of targets, and as the names and addresses in one: what was read is written, and read
//! as the same.

#![no_main]

use iscsi::discovery::{DiscoveredPortal, SendTargetsScope, read, write};
use iscsi::login::{IscsiName, MAX_NAME};
use iscsi::text::{Assembly, boolean, list, number, parse, plain, push};
use libfuzzer_sys::fuzz_target;

/// Fewer than an input can have, so that the bound is met.
const PAIRS: usize = 100;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(pairs) = parse(bytes, PAIRS) {
        assert!(pairs.len() <= PAIRS);
        let mut written = Vec::new();
        for (key, value) in &pairs {
            push(&mut written, key, value);
            inspect(key, value);
        }
        assert_eq!(parse(&written, PAIRS).as_ref(), Ok(&pairs));
    }
    if let Ok(targets) = read(bytes, PAIRS) {
        assert_eq!(read(&write(&targets), PAIRS), Ok(targets));
    }
    in_pieces(bytes);
});

/// One value in every reading that a value can have.
fn inspect(key: &str, value: &str) {
    let _ = (plain(key, value), boolean(value), number(value), list(value).count());
    let _ = SendTargetsScope::parse(value);
    if let Ok(portal) = value.parse::<DiscoveredPortal>() {
        assert_eq!(portal.to_string().parse(), Ok(portal));
    }
    if let Ok(name) = value.parse::<IscsiName>() {
        assert!(name.as_str().len() <= MAX_NAME);
        assert_eq!(name.as_str().parse(), Ok(name));
    }
}

/// Text that comes in pieces is whole again, or longer than allowed.
fn in_pieces(bytes: &[u8]) {
    let limit = bytes.first().map_or(0, |&first| usize::from(first) * 16);
    let mut assembly = Assembly::new(limit);
    match bytes.chunks(7).try_for_each(|piece| assembly.add(piece)) {
        Ok(()) => assert_eq!(assembly.take(), bytes),
        Err(_) => assert!(bytes.len() > limit && assembly.take().len() <= limit),
    }
}
