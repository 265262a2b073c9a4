//! Our disks under the kernel's initiator, file systems, sg3-utils and dm-multipath.

use super::*;
use crate::peers::served::Served;

const TOOLS: [&str; 25] = [
    "sg_inq",
    "sg_vpd",
    "sg_opcodes",
    "sg_persist",
    "sg_readcap",
    "sg_rtpg",
    "sg_stpg",
    "sg_modes",
    "sg_luns",
    "sg_logs",
    "sg_turs",
    "sg_requests",
    "sg_get_lba_status",
    "sg_write_same",
    "sg_unmap",
    "sg_compare_and_write",
    "sg_reset",
    "mkfs.ext4",
    "e2fsck",
    "blkdiscard",
    "blockdev",
    "fstrim",
    "resize2fs",
    "dd",
    "cmp",
];

/// How often each path is lost beside the other tests, and by `make guests`.
const LOSSES: usize = 1;
const MANY_LOSSES: usize = 10;

#[test]
fn our_target_under_the_kernels_initiator() {
    let programs = [&INITIATOR[..], &TOOLS].concat();
    let Some(kernel) = ready(&programs) else { return };
    let volumes = ["--volume", "ram:128MiB,thin", "--volume", "ram:64MiB,thin,block=4096"];
    let open = Served::two_portals(&volumes);
    let closed = Served::start(
        &[
            "--volume",
            "ram:32MiB",
            "--portal",
            "127.0.0.1:0",
            "--chap",
            "host",
            "--chap-mutual",
            "array",
        ],
        &[
            ("WIRESPEED_CHAP_SECRET", "initiator-secret"),
            ("WIRESPEED_CHAP_MUTUAL_SECRET", "target-secret-22"),
        ],
    );
    let modules = [&INITIATOR_MODULES[..], &["sd_mod", "ext4", "scsi_dh_alua"]].concat();
    let contents = with(&programs, &modules);
    let mut peer = Peer::boot(&kernel, "target", contents, 128 * MIB, Network::default());
    for (name, address) in
        [("A", open.address(0)), ("B", open.address(1)), ("C", closed.address(0))]
    {
        peer.set(name, &port(&address));
    }
    peer.call("all");
    peer.call("before_growth");
    let pid = open.pid().to_string();
    let resized = Command::new(env!("CARGO_BIN_EXE_wirespeed"))
        .args(["target", "resize", "0", "192MiB", "--target", &pid])
        .output()
        .expect("the program starts");
    assert!(resized.status.success(), "{}", String::from_utf8_lossy(&resized.stderr));
    peer.call("after_growth");
    peer.documented();
}

#[test]
fn a_path_under_dm_multipath_is_lost_and_returns() {
    lose_paths(LOSSES);
}

#[test]
#[ignore = "takes minutes: `make guests`"]
fn a_path_under_dm_multipath_is_lost_and_returns_ten_times() {
    lose_paths(MANY_LOSSES);
}

/// Loses each of two paths so many times in turns, under a verified load.
fn lose_paths(losses: usize) {
    let programs = [&INITIATOR[..], &["multipathd", "dmsetup", "dd", "cmp"]].concat();
    let Some(kernel) = ready(&programs) else { return };
    let target = Served::two_portals(&["--volume", "ram:128MiB,thin"]);
    let modules = [
        &INITIATOR_MODULES[..],
        &["sd_mod", "scsi_dh_alua", "dm_multipath", "dm_service_time", "dm_round_robin"],
    ]
    .concat();
    let plugins = fs::read_dir("/lib/multipath").expect("multipathd's plugins").flatten();
    let mut opened: Vec<PathBuf> = plugins.map(|entry| entry.path()).collect();
    // What threads that are cancelled open.
    opened.push(find("/lib/x86_64-linux-gnu/libgcc_s.so.1").expect("libgcc"));
    let opened: Vec<&Path> = opened.iter().map(PathBuf::as_path).collect();
    let contents = with(&programs, &modules).host_files(&opened).expect("multipathd's plugins");
    let mut peer = Peer::boot(&kernel, "multipath", contents, 128 * MIB, Network::default());
    let portals = [target.address(0), target.address(1)];
    peer.set("A", &port(&portals[0]));
    peer.set("B", &port(&portals[1]));
    peer.call("begin");
    for portal in portals.iter().cycle().take(2 * losses) {
        control(&target, "stop-port", portal);
        peer.call("lost");
        control(&target, "start-port", portal);
        peer.call("back");
    }
    peer.call("end");
    peer.documented();
}

/// Tells a running target about one of its ports.
fn control(target: &Served, command: &str, portal: &str) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_wirespeed"));
    program.args(["target", command, portal, "--target", &target.pid().to_string()]);
    let done = program.output().expect("the program starts");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}
