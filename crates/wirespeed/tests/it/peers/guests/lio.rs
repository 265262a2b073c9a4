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
    let more = ["--depth", "8", "--write-token", token, "--overwrite", "--time", "5s"];
    let args = [&load[..], &more, &["--warmup", "0s", "--out", "verified.wsr"]].concat();
    let (code, said) = run(scratch, &args, &[]);
    assert_eq!(code, Some(0), "{said}");
    for word in ["none wrong", "active/non-optimized", "reserved for this process"] {
        assert!(said.contains(word), "{word}: {said}");
    }
    peer.call("state first 0");
}

/// Reads by both paths while one is lost for a while.
fn lost_and_back(peer: &mut Peer, scratch: &Path, url: &str) {
    let load = ["disk", url, "--block", "8KiB", "--random", "100", "--depth", "8"];
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
