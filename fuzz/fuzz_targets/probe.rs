//! Any bytes as what a probe reads from outside: netlink, HTTP, pages of exporters, `/proc`, credentials. No panic; what is
//! counted is a number.

#![no_main]

use libfuzzer_sys::fuzz_target;
use probe::{credentials, host, http, interface, scrape, tcp};

fuzz_target!(|input: &[u8]| {
    let Some((first, bytes)) = input.split_first() else { return };
    let text = String::from_utf8_lossy(bytes);
    match first % 7 {
        0 => assert!(interface::links(bytes).iter().all(|link| link.addresses.len() <= 2)),
        1 => assert!(interface::queues(bytes).len() <= bytes.len() / 16),
        2 => assert!(tcp::sessions(bytes).len() <= bytes.len() / 16),
        3 => {
            // What is whole stays what it is, whatever follows.
            if let Ok(Some(page)) = http::answer(bytes, false) {
                assert_eq!(http::answer(bytes, true), Ok(Some(page)));
            }
        }
        4 => {
            let _ = scrape::page(&text);
        }
        5 => {
            let _ = (host::proc_stat(&text), host::pressure(&text), probe::block::parse(&text));
        }
        _ => {
            if let Ok(of) = credentials::Credentials::parse(&text) {
                let _ = (of.get("community"), probe::snmp::Snmp::new("127.0.0.1", &of));
            }
        }
    }
});
