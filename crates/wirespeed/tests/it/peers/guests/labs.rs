//! Emulated labs on the kernel's bonding and VLANs: a distribution's kernel has both, whatever the machine's own has.

use super::*;
use crate::program::support::program;
use serde_json::Value;

const TOOLS: [&str; 4] = ["ip", "tc", "bridge", "nsenter"];
const MODULES: [&str; 5] = ["veth", "bridge", "bonding", "sch_tbf", "sch_netem"];
/// What a lab has for a mode, and what its faults do.
const MODES: [&str; 4] = ["static", "dynamic", "adaptive", "failover"];

#[test]
#[ignore = "takes minutes where guests are emulated: `make guests`"]
fn emulated_labs_have_bonds_and_vlans_where_the_kernel_has() {
    let Some(kernel) = ready(&TOOLS) else { return };
    let program = program();
    let program = program.to_str().expect("a path");
    let contents = with(&[&[program][..], &TOOLS].concat(), &MODULES);
    let mut peer = Peer::boot(&kernel, "lab", contents, 512 * MIB, Network::default());
    peer.set("WIRESPEED", program);
    peer.call("vlans");
    peer.call("bonds");
    for mode in MODES {
        peer.call(&format!("cut_in_turns {mode}; cat said; $WIRESPEED review r.wsr --quiet"));
        let json = peer.call("$WIRESPEED review r.wsr --quiet --format json");
        let review: Value = serde_json::from_str(&json).expect("one document");
        let step = &review["steps"][0];
        assert_eq!(step["total"]["both"]["errors"], 0, "{mode}");
        assert_eq!(review["verification"]["wrong"], 0, "{mode}: {}", review["verification"]);
        let faults = step["faults"].as_array().expect("faults");
        assert_eq!(faults.len(), 2, "{mode}: {faults:?}");
        for fault in faults {
            let during = fault["during"]["bytes_per_s"].as_f64().expect("a rate");
            assert!(fault["carried_out"] == true && during > 0.0, "{mode}: {fault}");
        }
        peer.passed.insert(format!(
            "{mode}: no I/O fails and no block is wrong while each cable is cut in turn"
        ));
    }
    peer.documented();
}
