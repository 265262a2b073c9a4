//! Our tape library under the kernel's `st` and `ch` drivers, and the programs that people use with them: Bacula too.

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

/// Bacula's daemons, its console and its catalog.
const BACULA: [&str; 8] =
    ["bacula-dir", "bacula-sd", "bacula-fd", "bconsole", "sqlite3", "mt-st", "mtx", "diff"];
/// What its packages have beside them.
const BACULA_FILES: [&str; 4] = [
    "/etc/bacula/scripts/mtx-changer",
    "/etc/bacula/scripts/mtx-changer.conf",
    "/etc/bacula/scripts/query.sql",
    "/usr/share/bacula-director/make_sqlite3_tables",
];

#[test]
#[ignore = "takes minutes; `WIRESPEED_BACULA_MB` says how much is backed up"]
fn bacula_backs_up_over_two_drives_and_restores() {
    let megabytes = std::env::var("WIRESPEED_BACULA_MB").ok().and_then(|n| n.parse().ok());
    let megabytes: u64 = megabytes.unwrap_or(256);
    let programs = [&INITIATOR[..], &BACULA].concat();
    let Some(kernel) = ready(&programs) else { return };
    let directory = tempfile::tempdir().expect("a directory");
    // Each of two jobs writes half of it, on a drive of its own: the first cartridge takes a third of that and more.
    let library = format!(
        "{},drives=2,slots=8,cartridges=6,capacity={}MB,compression=off",
        directory.path().join("tapes").display(),
        megabytes / 5
    );
    let target = Served::start(&["--library", &library, "--portal", "127.0.0.1:0"], &[]);
    let contents = with(&programs, &[&INITIATOR_MODULES[..], &["st", "ch"]].concat());
    let files = BACULA_FILES.map(Path::new);
    let contents = contents.host_files(&files).expect("the files of Bacula's packages");
    // What is backed up, what is restored, and the rest.
    let memory = (megabytes * 5 / 2 + 512) * MIB;
    let mut peer = Peer::boot(&kernel, "bacula", contents, memory, Network::default());
    // Ten minutes, and two seconds for each megabyte: QEMU may translate every instruction.
    peer.patience = Ns::secs(600 + 2 * megabytes);
    peer.set("A", &port(&target.address(0)));
    peer.set("MEGABYTES", &megabytes.to_string());
    peer.set("CARTRIDGES", "6");
    peer.call("all");
    peer.documented();
}
