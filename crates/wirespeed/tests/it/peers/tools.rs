//! QEMU's block layer and libiscsi's tools as initiators. What one writes another reads back, block for block.
//!
//! Debian's libiscsi-bin has no `iscsi-dd`; QEMU's `qemu-img dd` is built on the same library and does its work here.
//! libiscsi 1.19 offers header digests and no data digests; those are tested with the project's own initiator.

use crate::peers::served::{IQN, Served, here};
use crate::prelude::*;

/// Pages of vital product data, in decimal, which is what `iscsi-inq` reads.
const SERIAL: &str = "128";
const DESIGNATORS: &str = "131";

const MIB: usize = 1 << 20;
const USER: &str = "reader";
const SECRET: &str = "correct horse battery";

/// What a peer printed, both streams.
struct Said {
    code: Option<i32>,
    text: String,
}

/// Runs a peer; `env` is where libiscsi looks for CHAP secrets.
fn run(words: &[&str], env: &[(&str, &str)]) -> Said {
    let mut command = Command::new("timeout");
    command.args(["-k", "5", "120"]).args(words).envs(env.iter().copied()).stdin(Stdio::null());
    let output = command.output().expect("timeout starts");
    let text = [&output.stdout[..], &output.stderr[..]].map(String::from_utf8_lossy).concat();
    Said { code: output.status.code(), text }
}

/// Runs a peer that must succeed, and returns what it printed.
#[track_caller]
fn well(words: &[&str]) -> String {
    well_with(words, &[])
}

#[track_caller]
fn well_with(words: &[&str], env: &[(&str, &str)]) -> String {
    let said = run(words, env);
    assert_eq!(said.code, Some(0), "{words:?}: {}", said.text);
    said.text
}

/// An image of so many bytes that differs in every block and has a hole in its middle.
fn image(path: &Path, len: usize) {
    let mut bytes: Vec<u8> = Vec::with_capacity(len);
    for block in 0..len / 512 {
        let seed = (block as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (0..64_u64).for_each(|word| bytes.extend((seed ^ (word << 56)).to_le_bytes()));
    }
    bytes[len / 2..len / 2 + len / 8].fill(0);
    std::fs::write(path, bytes).expect("the image is written");
}

/// Copies an image to a volume and back; `volume` is its specification, `len` its size.
#[track_caller]
fn copies(volume: &str, len: usize) {
    if !here("qemu-img") {
        return;
    }
    let dir = tempfile::tempdir().expect("a scratch directory");
    let [a, b, c] = ["a", "b", "c"].map(|name| dir.path().join(name));
    let [source, back, dd] =
        [&a, &b, &c].map(|path| path.to_str().expect("scratch paths are text"));
    image(&a, len);
    let target = Served::two_portals(&["--volume", volume]);
    let [one, two] = [target.url(0, 0), target.url(0, 1)];
    well(&["qemu-img", "convert", "-n", "-f", "raw", "-O", "raw", source, &one]);
    let same = well(&["qemu-img", "compare", "-f", "raw", "-F", "raw", source, &two]);
    assert!(same.contains("identical"), "{same}");
    well(&["qemu-img", "convert", "-f", "raw", "-O", "raw", &two, back]);
    let reads = format!("if={one}");
    well(&["qemu-img", "dd", "-f", "raw", "-O", "raw", "bs=64k", &reads, &format!("of={dd}")]);
    let original = std::fs::read(&a).expect("the image is there");
    for copy in [&b, &c] {
        assert!(std::fs::read(copy).expect("the copy is there") == original, "{copy:?} differs");
    }
}

#[test]
fn qemu_img_copies_to_memory_and_back() {
    copies("ram:16MiB,thin", 16 * MIB);
}

#[test]
fn qemu_img_copies_to_blocks_of_4096_bytes_and_back() {
    copies("ram:16MiB,block=4096", 16 * MIB);
}

#[test]
fn qemu_img_copies_to_a_file_and_back() {
    let dir = tempfile::tempdir().expect("a scratch directory");
    copies(&format!("file:{},size=16MiB", dir.path().join("volume").display()), 16 * MIB);
}

/// Patterns written, flushed, discarded and read through another path; a wrong pattern is seen as one. The volume of
/// 4096-byte blocks is not thin: QEMU asks a thin one for the status of 2 GiB less 512 bytes, which ends it by an assertion.
#[test]
fn qemu_io_finds_every_pattern_where_it_was_written() {
    if !here("qemu-io") {
        return;
    }
    let dir = tempfile::tempdir().expect("a scratch directory");
    let file = format!("file:{},size=8MiB,thin", dir.path().join("volume").display());
    for volume in ["ram:8MiB,thin", "ram:8MiB,block=4096", "ram:8MiB,thin,write-through", &file] {
        let target = Served::two_portals(&["--volume", volume]);
        let [one, two] = [target.url(0, 0), target.url(0, 1)];
        let commands = |list: &[&str], url: &str| {
            let words: Vec<&str> = list.iter().flat_map(|c| ["-c", c]).collect();
            run(&[&["qemu-io", "-f", "raw"], &words[..], &[url]].concat(), &[])
        };
        let written =
            ["write -P 0x5a 1M 3M", "write -P 0xa5 4M 4k", "writev -P 0x77 6M 4k 8k 64k", "flush"];
        let said = commands(&written, &one);
        assert_eq!(said.code, Some(0), "{volume}: {}", said.text);
        let read =
            ["read -P 0 0 1M", "read -P 0x5a 1M 3M", "read -P 0xa5 4M 4k", "read -P 0x77 6M 76k"];
        let said = commands(&read, &two);
        assert_eq!(said.code, Some(0), "{volume}: {}", said.text);
        let given = [
            "write -z -u 1M 1M",
            "discard 2M 64k",
            "read -P 0 1M 1M",
            "write -f -P 1 0 64k",
            "read -P 1 0 64k",
        ];
        let said = commands(&given, &two);
        assert_eq!(said.code, Some(0), "{volume}: {}", said.text);
        let said = commands(&["read -P 0x5b 3M 4k"], &one);
        assert_eq!(said.code, Some(1), "a wrong pattern was not seen: {}", said.text);
    }
}

#[test]
fn a_read_only_volume_is_opened_for_reading_alone() {
    if !here("qemu-io") {
        return;
    }
    let file = tempfile::NamedTempFile::new().expect("a scratch file");
    file.as_file().set_len(8 * MIB as u64).expect("a sparse file");
    let target = Served::two_portals(&["--volume", &format!("file:{},ro", file.path().display())]);
    let url = target.url(0, 0);
    well(&["qemu-io", "-r", "-f", "raw", "-c", "read -P 0 0 1M", &url]);
    let said = run(&["qemu-io", "-f", "raw", "-c", "write -P 1 0 4k", &url], &[]);
    assert_ne!(said.code, Some(0), "{}", said.text);
}

#[test]
fn libiscsi_tools_see_every_unit_on_every_path() {
    if !here("iscsi-ls") {
        return;
    }
    let volumes = [
        "--volume",
        "ram:8MiB,thin,serial=first",
        "--volume",
        "ram:16MiB,block=4096",
        "--volume",
        "ram:1MiB",
    ];
    let target = Served::two_portals(&volumes);
    for portal in 0..2 {
        let list = well(&["iscsi-ls", "-s", &format!("iscsi://{}", target.address(portal))]);
        assert!(
            list.contains(&format!(
                "Target:{IQN} Portal:{},{}",
                target.address(portal),
                portal + 1
            )),
            "{list}"
        );
        for size in
            ["Lun:0    Type:DIRECT_ACCESS (Size:8M)", "Lun:1    Type:DIRECT_ACCESS (Size:16M)"]
        {
            assert!(
                list.replace("7M", "8M").replace("15M", "16M").contains(size),
                "{size} in\n{list}"
            );
        }
    }
    for (lun, bytes, block) in [(0, 8 * MIB, 512), (1, 16 * MIB, 4096), (2, MIB, 512)] {
        let told = well(&["iscsi-readcapacity16", &target.url(lun, 1)]);
        assert!(told.contains(&format!("LOGICAL BLOCK LENGTH IN BYTES:{block}\n")), "{told}");
        assert!(told.contains(&format!("Total size:{bytes}\n")), "{told}");
    }
    let inquiry = well(&["iscsi-inq", &target.url(0, 0)]);
    assert!(inquiry.contains("Peripheral Device Type:DIRECT_ACCESS"), "{inquiry}");
    assert!(inquiry.to_ascii_lowercase().contains("wirespeed"), "{inquiry}");
    let page =
        |code: &str, portal| well(&["iscsi-inq", "-e", "1", "-c", code, &target.url(0, portal)]);
    assert!(page(SERIAL, 0).contains("first"), "{}", page(SERIAL, 0));
    let naa = |portal| {
        let text = page(DESIGNATORS, portal);
        let after: Vec<String> =
            text.lines().skip_while(|l| !l.contains("NAA")).take(2).map(str::to_owned).collect();
        assert_eq!(after.len(), 2, "no NAA designator:\n{text}");
        after
    };
    assert_eq!(naa(0), naa(1), "all paths show one designator");
    for code in ["0", "176", "177", "178"] {
        page(code, 0);
    }
}

#[test]
fn chap_lets_in_who_knows_the_secret_and_nobody_else() {
    if !here("iscsi-inq") || !here("qemu-io") {
        return;
    }
    let chap = ["--chap", USER, "--volume", "ram:8MiB"];
    let portals = ["--portal", "127.0.0.1:0"];
    let target =
        Served::start(&[&portals[..], &chap].concat(), &[("WIRESPEED_CHAP_SECRET", SECRET)]);
    let url = target.url(0, 0);
    let known =
        |user, secret| [("LIBISCSI_CHAP_USERNAME", user), ("LIBISCSI_CHAP_PASSWORD", secret)];
    well_with(&["iscsi-inq", &url], &known(USER, SECRET));
    let pattern = ["qemu-io", "-f", "raw", "-c", "write -P 9 0 1M", "-c", "read -P 9 0 1M", &url];
    well_with(&pattern, &known(USER, SECRET));
    for env in [&[][..], &known(USER, "another secret"), &known("somebody", SECRET)] {
        let said = run(&["iscsi-inq", &url], env);
        assert_ne!(said.code, Some(0), "{env:?}: {}", said.text);
        assert!(!said.text.contains("DIRECT_ACCESS"), "{env:?}: {}", said.text);
    }
    let log = target.log();
    assert!(!log.contains(SECRET) && !target.told.to_string().contains(SECRET), "{log}");
}

#[test]
fn mutual_chap_shows_the_initiator_who_the_target_is() {
    if !here("iscsi-inq") {
        return;
    }
    const OWN: &str = "the target's own secret";
    let args = [
        "--portal",
        "127.0.0.1:0",
        "--chap",
        USER,
        "--chap-mutual",
        "array",
        "--volume",
        "ram:8MiB",
    ];
    let env = [("WIRESPEED_CHAP_SECRET", SECRET), ("WIRESPEED_CHAP_MUTUAL_SECRET", OWN)];
    let target = Served::start(&args, &env);
    let url = target.url(0, 0);
    let initiator = |user, secret| {
        [
            ("LIBISCSI_CHAP_USERNAME", USER),
            ("LIBISCSI_CHAP_PASSWORD", SECRET),
            ("LIBISCSI_CHAP_TARGET_USERNAME", user),
            ("LIBISCSI_CHAP_TARGET_PASSWORD", secret),
        ]
    };
    well_with(&["iscsi-inq", &url], &initiator("array", OWN));
    let said = run(&["iscsi-inq", &url], &initiator("array", "not that target's"));
    assert_ne!(said.code, Some(0), "an impostor was taken for the target: {}", said.text);
}

/// By libiscsi's own tests of reads and writes; QEMU ends itself when it is given such a URL, whatever the target.
#[test]
fn header_digests_are_used_when_asked_for() {
    if !here("iscsi-test-cu") {
        return;
    }
    let target = Served::two_portals(&["--volume", "ram:8MiB"]);
    for digest in ["crc32c", "none"] {
        let url = format!("{}?header_digest={digest}", target.url(0, 0));
        for suite in ["ALL.Read16", "ALL.Write16", "ALL.iSCSIResiduals"] {
            let said = well(&["iscsi-test-cu", "-d", "-t", suite, &url]);
            assert!(
                said.contains("Run Summary") && !said.contains("[FAILED]"),
                "{digest}, {suite}: {said}"
            );
        }
    }
}

#[test]
fn initiators_that_are_not_named_are_turned_away() {
    if !here("iscsi-inq") {
        return;
    }
    let friend = "iqn.2026-11.example.host:a";
    let target = Served::two_portals(&["--allow-initiator", friend, "--volume", "ram:1MiB"]);
    let url = target.url(0, 0);
    well(&["iscsi-inq", "-i", friend, &url]);
    let said = run(&["iscsi-inq", "-i", "iqn.2026-11.example.host:b", &url], &[]);
    assert_ne!(said.code, Some(0), "{}", said.text);
    assert!(
        target.logs("iqn.2026-11.example.host:b"),
        "the log names who was refused: {}",
        target.log()
    );
}
