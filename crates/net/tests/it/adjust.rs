//! Interfaces at both ends, as far as loopback shows them: looked at, and left alone where nobody has permitted a change.
//! That changes are made and undone is shown between network namespaces, by tests of the program.

use crate::support::{Bench, listener};
use net::interface::{Ends, Guardian, Interface, Permission};
use net::{Adjust, NetError, Receiver, ReceiverConfig};
use workload::Frames;

/// A guardian that does not exist: whoever tried to change something would find out.
fn nobody() -> Guardian {
    Guardian { program: "/no/such/program".into(), args: Vec::new() }
}

fn prepare(bench: &Bench, adjust: Option<&str>, frames: Frames) -> Result<Ends, NetError> {
    let guardian = nobody();
    let permission = Permission { adjust, guardian: Some(&guardian) };
    Ends::prepare(&bench.config(), permission, frames)
}

#[test]
fn both_ends_tell_of_their_interface() {
    let bench = Bench::new();
    let ends = prepare(&bench, None, Frames::default()).expect("nothing is changed");
    let lo = Interface::named("lo").expect("it is there");
    assert_eq!((&ends.near.interface, &ends.far.interface), (&lo, &lo));
    assert!(ends.near.changed.is_empty() && ends.far.changed.is_empty());
    assert!(ends.put_back().is_none(), "there is nothing to be done");
}

#[track_caller]
fn refused(result: Result<Ends, NetError>, hint: &str) {
    let error = result.expect_err("nobody permitted it").to_string();
    assert!(error.contains(hint), "{hint:?} is not in {error:?}");
}

#[test]
fn nothing_is_changed_without_permission_at_both_ends() {
    let bench = Bench::new();
    let before = Interface::named("lo").expect("it is there");
    let frames = Frames { mtu: Some(1400), offload: None };
    refused(prepare(&bench, None, frames), "say `adjust = \"lo\"` at the receiver");
    refused(prepare(&bench, Some("eth77"), frames), "goes by lo, and only eth77 may be changed");
    if rustix::process::geteuid().is_root() {
        let hint = "this receiver changes no interface; start it with `--adjust lo`";
        refused(prepare(&bench, Some("lo"), frames), hint);
    } else {
        refused(prepare(&bench, Some("lo"), frames), "no permission to change it");
    }
    assert_eq!(Interface::named("lo").expect("it is there"), before);
}

#[test]
fn a_receiver_must_have_the_interface_that_it_lets_change() {
    let adjust = Adjust { interface: "no-such-one".to_owned(), guardian: nobody() };
    let config = ReceiverConfig {
        listen: vec!["127.0.0.1:0".parse().expect("an address")],
        token: None,
        cpus: Vec::new(),
        adjust: Some(adjust),
        listener: listener().0,
    };
    let error = Receiver::start(config).expect_err("there is none").to_string();
    assert!(error.contains("no-such-one: there is no such interface here"), "{error}");
}

/// Where the process that would undo a change does not start, none is made.
#[test]
fn nothing_is_changed_without_a_guardian() {
    if !rustix::process::geteuid().is_root() {
        return println!("skipped: changing an interface needs root");
    }
    let before = Interface::named("lo").expect("it is there");
    let mut keeper = net::interface::Keeper::new("lo", nobody()).expect("root may");
    let frames = Frames { mtu: Some(before.mtu - 1), offload: None };
    let error = keeper.apply(frames).expect_err("nobody stands by").to_string();
    assert!(error.contains("it stays as it is") && error.contains("/no/such/program"), "{error}");
    assert_eq!(Interface::named("lo").expect("it is there"), before);
}
