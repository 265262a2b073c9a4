//! Interfaces at both ends, as far as loopback shows them: looked at, and left alone where nobody has permitted a change.
//! That changes are made and undone is shown between network namespaces, by tests of the program.

use crate::prelude::*;
use crate::support::{
    Bench, Told, listener, missing_guardian, only, receiver_config, refused, short, step_of,
    try_run,
};
use net::interface::Interface;
use net::{Adjust, Carriage, Receiver, ReceiverConfig};

fn prepare(bench: &Bench, adjust: Option<&str>, frames: NetFrames) -> Result<Told, String> {
    let mut step = step_of(bench.place(), &short(Carriage::Tcp));
    only(&mut step).receiver.adjust = adjust.map(str::to_owned);
    only(&mut step).frames = frames;
    try_run(&step)
}

#[test]
fn both_ends_tell_of_their_interface() {
    let told = prepare(&Bench::new(), None, NetFrames::default()).expect("nothing is changed");
    told.finished();
    let lo = Interface::named("lo").expect("it is there");
    let both = ["sender-interface", "receiver-interface"].map(|key| told.fact(key));
    assert_eq!(both, [Some(&*lo.to_string()); 2]);
    let NetSources { sender, receiver, .. } = told.net().sources;
    let mtus = [sender, receiver].map(|machine| told.sum(machine, "interface-mtu"));
    assert_eq!(mtus, [u64::from(lo.mtu); 2]);
}

#[test]
fn nothing_is_changed_without_permission_at_both_ends() {
    let bench = Bench::new();
    let before = Interface::named("lo").expect("it is there");
    let frames = NetFrames { mtu: Some(1400), offload: None };
    refused(prepare(&bench, None, frames), "say `adjust = \"lo\"` at the receiver");
    refused(prepare(&bench, Some("eth77"), frames), "uses lo, and only eth77 may be changed");
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
    let adjust = Adjust { interface: "no-such-one".to_owned(), guardian: missing_guardian() };
    let config = receiver_config("127.0.0.1:0", listener().0);
    let config = ReceiverConfig { adjust: Some(adjust), ..config };
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
    let mut lease =
        net::interface::InterfaceLease::new("lo", missing_guardian()).expect("root may");
    let frames = NetFrames { mtu: Some(before.mtu - 1), offload: None };
    let error = lease.apply(frames).expect_err("nobody stands by").to_string();
    assert!(error.contains("not changed, since") && error.contains("/no/such/program"), "{error}");
    assert_eq!(Interface::named("lo").expect("it is there"), before);
}
