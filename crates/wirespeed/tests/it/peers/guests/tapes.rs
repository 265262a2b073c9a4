//! Our tape library under the kernel's `st` and `ch` drivers, and the programs that people use with them.

use super::*;
use crate::peers::served::Served;

const TOOLS: [&str; 9] =
    ["mt-st", "mtx", "tar", "dd", "cmp", "sg_inq", "sg_logs", "sg_modes", "sg_persist"];

#[test]
fn our_library_under_st_and_ch() {
    let programs = [&INITIATOR[..], &TOOLS].concat();
    let Some(kernel) = ready(&programs) else { return };
    let directory = tempfile::tempdir().expect("a directory");
    // Small, so that an archive of some MiB takes three.
    let library = format!(
        "{},drives=2,slots=6,cartridges=5,capacity=8MiB,compression=off",
        directory.path().join("tapes").display()
    );
    let target = Served::start(&["--library", &library, "--portal", "127.0.0.1:0"], &[]);
    let contents = with(&programs, &[&INITIATOR_MODULES[..], &["st", "ch"]].concat());
    let mut peer = Peer::boot(&kernel, "library", contents, 128 * MIB, Network::default());
    peer.set("A", &port(&target.address(0)));
    peer.call("all");
    peer.documented();
}
