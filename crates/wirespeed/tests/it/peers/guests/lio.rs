//! Our initiator on the kernel's target, LIO, in a guest.

use super::*;
use std::io::Write;
use std::net::TcpListener;

/// The initiator's name, for which LIO's access lists are made.
const HOST: &str = "iqn.2026-11.example.wirespeed:host";

/// Ports of loopback that were free a moment ago.
fn free_ports() -> [u16; 3] {
    let listeners = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").expect("a port"));
    listeners.map(|listener| listener.local_addr().expect("an address").port())
}

/// The program with these arguments, as the initiator that LIO knows.
fn program(directory: &Path, args: &[&str], secrets: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wirespeed"));
    command.args(args).current_dir(directory).stdin(Stdio::null());
    command.env("WIRESPEED_INITIATOR", HOST).env("NO_COLOR", "1").envs(secrets.iter().copied());
    command
}

/// Runs it; its exit code and all that it printed.
fn run(directory: &Path, args: &[&str], secrets: &[(&str, &str)]) -> (Option<i32>, String) {
    let out = program(directory, args, secrets).output().expect("the program starts");
    let text = [&out.stdout[..], &out.stderr[..]].map(String::from_utf8_lossy).concat();
    (out.status.code(), text)
}

#[test]
fn our_initiator_on_lio() {
    let Some(kernel) = ready(&["dd"]) else { return };
    let [first, second, closed] = free_ports();
    let network = Network { forwards: vec![(first, 3260), (second, 3261), (closed, 3262)] };
    let modules = ["target_core_file", "iscsi_target_mod", "crc32c_generic", "libcrc32c"];
    let contents = with(&["dd"], &modules);
    let mut peer = Peer::boot(&kernel, "lio", contents, 192 * MIB, network);
    peer.call("begin");
    let scratch = tempfile::tempdir().expect("a directory");
    let scratch = scratch.path();

    let (code, said) = run(scratch, &["target", "ls", &format!("iscsi://127.0.0.1:{first}")], &[]);
    assert_eq!(code, Some(0), "{said}");
    for word in ["127.0.0.15:3260,1", "127.0.0.15:3261,2", "LIO-ORG FILEIO", "64 MiB"] {
        assert!(said.contains(word), "{word}: {said}");
    }
    peer.passed.insert("discovery, INQUIRY, capacity (`wirespeed target ls`)".to_owned());

    chap(scratch, closed);
    let row = "CHAP one way and mutual; refused with a wrong secret of either side";
    peer.passed.insert(row.to_owned());

    let digests = "header_digest=crc32c&data_digest=crc32c";
    let both = format!("iscsi://127.0.0.1:{first},127.0.0.1:{second}/{IQN}/0?{digests}");
    verified(&mut peer, scratch, &both);
    let row = "verified load of writes and reads with digests, under a persistent reservation, by the path that ALUA prefers";
    peer.passed.insert(row.to_owned());

    lost_and_back(&mut peer, scratch, &both);
    let row = "reads over two paths; one portal group is switched off and on";
    peer.passed.insert(row.to_owned());
    peer.documented();
}

/// The four cases of CHAP.
fn chap(scratch: &Path, port: u16) {
    let url = format!("iscsi://host@127.0.0.1:{port}/{IQN}-chap/0");
    let load =
        ["disk", &url, "--block", "8KiB", "--random", "100", "--time", "1s", "--warmup", "0s"];
    let (right, wrong) = ("initiator-secret", "not-the-secret-1");
    let (own, other) = ("target-secret-22", "not-the-secret-2");
    let secret = |value| ("WIRESPEED_CHAP_SECRET", value);
    let mutual = |value| ("WIRESPEED_CHAP_MUTUAL_SECRET", value);
    let cases = [
        (vec![secret(right)], 0),
        (vec![secret(right), mutual(own)], 0),
        (vec![secret(wrong)], 3),
        (vec![secret(right), mutual(other)], 3),
    ];
    for (number, (secrets, expected)) in cases.into_iter().enumerate() {
        let record = format!("chap{number}.wsr");
        let args = [&load[..], &["--out", &record]].concat();
        let (code, said) = run(scratch, &args, &secrets);
        assert_eq!(code, Some(expected), "{secrets:?}: {said}");
    }
}

/// Writes and reads by the path that is preferred. LIO takes a session for not registered whose initiator holds the
/// reservation by another session to the same portal group; so the load goes through the other group.
fn verified(peer: &mut Peer, scratch: &Path, url: &str) {
    peer.call("state first 1");
    let load = ["disk", url, "--block", "8KiB", "--random", "100", "--read", "50", "--verify"];
    let (_, planned) = run(scratch, &[&load[..], &["--plan"]].concat(), &[]);
    let (_, after) = planned.split_once("its token: ").unwrap_or_else(|| panic!("{planned}"));
    let token = after.split_whitespace().next().expect("a token");
    let more = ["--depth", "8", "--write-token", token, "--overwrite", "--time", "2s"];
    let args = [&load[..], &more, &["--warmup", "0s", "--out", "verified.wsr"]].concat();
    let (code, said) = run(scratch, &args, &[]);
    assert_eq!(code, Some(0), "{said}");
    for word in ["none wrong", "active/non-optimized", "reserved for this process"] {
        assert!(said.contains(word), "{word}: {said}");
    }
    peer.call("state first 0");
}

/// Reads by both paths while one is lost for a while; not as fast as it goes, for all that waits is time.
fn lost_and_back(peer: &mut Peer, scratch: &Path, url: &str) {
    let load = ["disk", url, "--block", "8KiB", "--random", "100", "--rate", "40 IOPS"];
    let more = ["--time", "60s", "--warmup", "0s", "--out", "lost.wsr"];
    let args = [&load[..], &more].concat();
    let mut command = program(scratch, &args, &[]);
    let mut child =
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let mut said = String::new();
    for (word, then) in [(" IOPS", "off"), (": lost (", "on"), (": restored", "true")] {
        let found = lines.by_ref().map_while(Result::ok).any(|line| {
            said.push_str(&line);
            said.push('\n');
            line.contains(word)
        });
        assert!(found, "{word}: {said}");
        peer.call(then);
    }
    // It has shown what was asked: it ends as by Ctrl-C.
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it runs");
    lines.map_while(Result::ok).for_each(|line| said.push_str(&line));
    child.wait().expect("it ends");
    assert!(!said.contains("first E"), "an I/O failed: {said}");
    std::io::stdout().write_all(said.as_bytes()).expect("output");
}

/// Commands that write, by their names in the matrix of `make guard`.
const COMMANDS: [(&str, &[&str]); 4] = [
    ("disk --read 0", &["--read", "0"]),
    ("disk mixed", &["--read", "50", "--random", "100", "--depth", "4"]),
    ("disk --fill", &["--read", "0", "--fill", "always"]),
    ("disk --verify", &["--read", "50", "--verify"]),
];

/// The row of the guard's matrix whose target is the kernel's: `sha256sum` in the guest says what was written.
struct GuardOnLio {
    peer: Peer,
    scratch: TempDir,
    url: String,
    attempts: u32,
    granted: u32,
    wrong: Vec<String>,
}

impl GuardOnLio {
    fn digest(&mut self) -> String {
        self.peer.call("digest").split_whitespace().next().expect("a digest").to_owned()
    }

    fn token(&self) -> String {
        let args = ["disk", &self.url, "--read", "0", "--plan"];
        let (_, planned) = run(self.scratch.path(), &args, &[]);
        let (_, after) = planned.split_once("its token: ").unwrap_or_else(|| panic!("{planned}"));
        after.split_whitespace().next().expect("a token").to_owned()
    }

    /// One attempt; it must write if it is granted, and must not otherwise.
    fn attempt(&mut self, label: &str, load: &[&str], leave: &[&str], granted: bool) {
        let before = self.digest();
        let out = format!("{}.wsr", self.attempts);
        let more = ["--warmup", "0s", "--time", "200ms", "--quiet", "--out", &out];
        let args = [&["disk", &self.url][..], load, leave, &more].concat();
        let (_, said) = run(self.scratch.path(), &args, &[]);
        self.attempts += 1;
        self.granted += u32::from(granted);
        if (self.digest() != before) != granted {
            self.wrong.push(format!("{label} (granted: {granted}): {said}"));
        }
    }

    /// All attempts on one content, with the token of it or with that of what was there before.
    fn row(&mut self, what: &str, stale: bool) {
        self.peer.call(&format!("put {what}"));
        let early = self.token();
        if stale {
            self.peer.call("change");
        }
        let now = self.token();
        assert_eq!(now == early, !stale, "the token follows the content");
        for (command, load) in COMMANDS {
            let leaves: [(&str, &[&str]); 4] = [
                ("no token", &[]),
                ("wrong token", &["--write-token", "ws-00000-00000", "--overwrite"]),
                ("token", &["--write-token", &early]),
                ("token and flag", &["--write-token", &early, "--overwrite"]),
            ];
            // Every command with the most that can be said for it, and the first one with every less.
            let first = if command == COMMANDS[0].0 { 0 } else { 3 };
            for (flag, leave) in &leaves[first..] {
                let granted =
                    !stale && flag.starts_with("token") && (what == "blank" || *flag != "token");
                if !granted {
                    self.attempt(&format!("{what} / {command} / {flag}"), load, leave, false);
                }
            }
        }
        if !stale {
            let leave = ["--write-token", &early, "--overwrite"];
            self.attempt(&format!("{what} / granted"), COMMANDS[0].1, &leave, true);
        }
    }
}

#[test]
#[ignore = "minutes; a part of `make guard`"]
fn the_guard_holds_on_lio() {
    let Some(kernel) = ready(&["dd"]) else { return };
    let [first, second, closed] = free_ports();
    let network = Network { forwards: vec![(first, 3260), (second, 3261), (closed, 3262)] };
    let modules = ["target_core_file", "iscsi_target_mod", "crc32c_generic", "libcrc32c"];
    let mut peer = Peer::boot(&kernel, "lio", with(&["dd"], &modules), 192 * MIB, network);
    peer.set("SIZE", "8388608");
    peer.call("begin");
    // The path that writes is that of the other portal group, as in `verified`.
    peer.call("state first 1");
    let url = format!("iscsi://127.0.0.1:{first},127.0.0.1:{second}/{IQN}/0");
    let scratch = tempfile::tempdir().expect("a directory");
    let mut guard = GuardOnLio { peer, scratch, url, attempts: 0, granted: 0, wrong: Vec::new() };
    for what in ["blank", "text", "ext2", "swap"] {
        for stale in [false, true] {
            guard.row(what, stale);
        }
    }
    let GuardOnLio { attempts, granted, wrong, .. } = guard;
    println!(
        "guard on LIO: {attempts} attempts, {granted} of them granted, {} escapes or refusals of what was granted",
        wrong.len()
    );
    assert!(wrong.is_empty(), "{wrong:#?}");
}
