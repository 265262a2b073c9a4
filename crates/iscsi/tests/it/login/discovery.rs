//! Lists of targets and addresses.

use crate::login::support::{name, pairs, words};
use iscsi::discovery::{
    DiscoveredPortal, DiscoveredTarget, DiscoveryError, SendTargetsScope, read, write,
};
use iscsi::text::TextError;
use std::net::SocketAddr;

fn portal(host: &str, port: u16, group: Option<u16>) -> DiscoveredPortal {
    DiscoveredPortal { host: host.to_owned(), port, group }
}

#[test]
fn addresses() {
    for (written, expected) in [
        ("10.0.0.1:3260,1", Some(portal("10.0.0.1", 3260, Some(1)))),
        ("10.0.0.1", Some(portal("10.0.0.1", 3260, None))),
        ("host.example.com,65535", Some(portal("host.example.com", 3260, Some(65535)))),
        ("[2001:db8::1]:860,2", Some(portal("2001:db8::1", 860, Some(2)))),
        ("[::1]", Some(portal("::1", 3260, None))),
        ("[fe80::1%eth0]:3260", Some(portal("fe80::1%eth0", 3260, None))),
        ("", None),
        (":3260", None),
        ("[]:3260", None),
        ("[::1", None),
        ("[::1]3260", None),
        ("[10.0.0.1]", None),
        ("[host]", None),
        ("::1", None),
        ("host:", None),
        ("host:0", None),
        ("host:65536", None),
        ("host:1,", None),
        ("host:1,65536", None),
        ("ho st:1", None),
        ("ho[st", None),
        ("höst", None),
    ] {
        let read: Result<DiscoveredPortal, _> = written.parse();
        match expected {
            Some(portal) => assert_eq!(read, Ok(portal), "{written:?}"),
            None => assert_eq!(read, Err(DiscoveryError::Address(written.to_owned()))),
        }
    }
    // A value has at most 255 bytes, including the port that it may have omitted.
    for (host, fits) in [(250, true), (251, false)] {
        let read: Result<DiscoveredPortal, _> = "h".repeat(host).parse();
        assert_eq!(read.is_ok(), fits, "{host}");
    }
    let v6: SocketAddr = "[::1]:3261".parse().expect("an address");
    assert_eq!(DiscoveredPortal::from(v6).to_string(), "[::1]:3261");
    assert_eq!(portal("10.0.0.1", 860, Some(7)).to_string(), "10.0.0.1:860,7");
}

#[test]
fn lists_round_trip() {
    let list = [
        DiscoveredTarget {
            name: name("iqn.2001-04.com.example:a"),
            portals: vec![portal("10.0.0.1", 3260, Some(1)), portal("::1", 3261, Some(2))],
        },
        DiscoveredTarget { name: name("iqn.2001-04.com.example:b"), portals: vec![] },
    ];
    let text = write(&list);
    assert_eq!(
        words(&text),
        "TargetName=iqn.2001-04.com.example:a TargetAddress=10.0.0.1:3260,1 \
         TargetAddress=[::1]:3261,2 TargetName=iqn.2001-04.com.example:b"
    );
    assert_eq!(read(&text, 4), Ok(list.to_vec()));
    assert_eq!(read(&text, 3), Err(DiscoveryError::Text(TextError::TooMany(3))));
    assert_eq!(write([]), []);
    assert_eq!(read(&[], 4), Ok(vec![]));
}

#[test]
fn invalid_lists() {
    assert_eq!(read(&pairs("TargetAddress=10.0.0.1"), 9), Err(DiscoveryError::Stray));
    assert!(matches!(read(&pairs("TargetName=disk"), 9), Err(DiscoveryError::Name(_))));
    let list = pairs("TargetName=iqn.a TargetAddress=[x");
    assert_eq!(read(&list, 9), Err(DiscoveryError::Address("[x".to_owned())));
    assert_eq!(read(b"TargetName=iqn.a", 9), Err(DiscoveryError::Text(TextError::CutOff)));
    let list = read(&pairs("X-new=1 TargetName=iqn.a X-new=2"), 9).expect("unknown keys pass");
    assert_eq!(list.len(), 1);
}

#[test]
fn scopes_of_send_targets() {
    assert_eq!(SendTargetsScope::parse("All"), Ok(SendTargetsScope::All));
    assert_eq!(SendTargetsScope::parse(""), Ok(SendTargetsScope::This));
    assert_eq!(SendTargetsScope::parse("iqn.A"), Ok(SendTargetsScope::One(name("iqn.a"))));
    assert!(SendTargetsScope::parse("all").is_err());
}

#[test]
fn names() {
    for (written, expected) in [
        ("iqn.2001-04.com.example:disk", Some("iqn.2001-04.com.example:disk")),
        ("IQN.2001-04.com.Example:Disk", Some("iqn.2001-04.com.example:disk")),
        ("eui.02004567A425678D", Some("eui.02004567a425678d")),
        ("naa.52004567BA64678D", Some("naa.52004567ba64678d")),
        ("iqn.2001-04.com.example:Größe", Some("iqn.2001-04.com.example:größe")),
        ("", None),
        ("disk", None),
        ("iqn", None),
        ("iqn.a b", None),
        ("iqn.a,i,0x1", None),
        ("iqn.a\nb", None),
        ("iqn.a/../b", None),
    ] {
        let name = written.parse::<iscsi::login::IscsiName>();
        assert_eq!(name.as_ref().ok().map(|name| name.as_str()), expected, "{name:?}");
    }
    let long =
        |len: usize| format!("iqn.{}", "a".repeat(len - 4)).parse::<iscsi::login::IscsiName>();
    assert!(long(223).is_ok() && long(224).is_err());
    // A lower-case letter can be longer than its capital.
    let grows = format!("iqn.{}a", "İ".repeat(109)).parse::<iscsi::login::IscsiName>();
    assert!(grows.is_err(), "{grows:?}");
}
