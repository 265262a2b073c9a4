//! `wirespeed target serve` as a program: what it prints, how it ends, what it refuses.

use crate::prelude::*;
use crate::program::support::{Bench, Ended, ended};

const SECRET: &str = "correct horse battery";

fn bench() -> Bench {
    Bench::new("")
}

#[track_caller]
fn refused(code: i32, args: &[&str], hint: &str) {
    let ended = bench().expect(code, &[&["target", "serve"], args].concat());
    assert!(ended.stderr.contains(hint), "{hint:?} is not in {}", ended.stderr);
    assert_eq!(ended.stdout, "", "nothing was served");
}

#[test]
fn mistakes_are_told_with_what_would_be_right() {
    let ram = ["--volume", "ram:1MiB"];
    refused(2, &[], "--volume <SPEC>");
    refused(2, &["--volume", "rom:1MiB"], "did you mean `ram`?");
    refused(2, &["--volume", "ram:1MiB,thick"], "did you mean `thin`?");
    refused(2, &["--volume", "ram:1MiB,block=513"], "512 or 4096");
    refused(2, &[&ram[..], &["--portal", "127.0.0.1:0,rate=4gcf"]].concat(), "is no speed");
    refused(2, &[&ram[..], &["--portal", "127.0.0.1:0,group=0"]].concat(), "1 to 65535");
    refused(2, &[&ram[..], &["--iqn", "disk"]].concat(), "is not an iSCSI name");
    refused(2, &[&ram[..], &["--chap-secret-file", "x"]].concat(), "--chap <USER>");
    refused(2, &[&ram[..], &["--chap", "u"]].concat(), "set WIRESPEED_CHAP_SECRET");
    refused(
        2,
        &[&ram[..], &["--chap", "u", "--chap-secret-file", "missing"]].concat(),
        "missing: ",
    );
    refused(3, &["--volume", "file:missing"], "size=");
    refused(3, &["--volume", "block:missing"], "missing");
}

#[test]
fn off_loopback_a_secret_is_needed() {
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:3260"] {
        refused(2, &["--volume", "ram:1MiB", "--portal", address], "--chap USER");
    }
}

#[test]
fn an_address_in_use_is_told() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback is there");
    let address = taken.local_addr().expect("it has an address").to_string();
    refused(3, &["--volume", "ram:1MiB", "--portal", &address], &address);
}

#[test]
fn what_wirespeed_did_not_make_is_not_written() {
    let bench = bench();
    std::fs::write(bench.path("foreign"), vec![7; 1 << 20]).expect("a scratch file");
    let wrong = ["target", "serve", "--volume", "file:foreign,write-token=ws-00000-00000"];
    let ended = bench.expect(4, &wrong);
    assert!(ended.stderr.contains("refused"), "{}", ended.stderr);
    let plan = bench
        .expect(0, &["target", "serve", "--volume", "file:foreign", "--plan", "--format", "json"]);
    let plan: Value = serde_json::from_str(&plan.stdout).expect("a plan is JSON");
    let token = plan["volumes"][0]["examined"]["token"].as_str().expect("the plan names the token");
    let volume = format!("file:foreign,write-token={token},overwrite");
    for (volume, read_only) in [("file:foreign", true), (&volume, false)] {
        let mut served = Serving::start(&bench, &["--volume", volume, "--format", "json"], &[]);
        let told: Value = serde_json::from_str(&served.document()).expect("it is JSON");
        assert_eq!(told["luns"][0]["read_only"], read_only, "{told}");
        let ended = served.stop();
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        assert_eq!(ended.stderr.contains("read-only"), read_only, "{}", ended.stderr);
        assert!(!ended.stderr.contains(token) && !told.to_string().contains(token));
    }
    assert_eq!(std::fs::read(bench.path("foreign")).expect("it is there"), vec![7; 1 << 20]);
}

/// A target that is running.
struct Serving {
    child: Child,
    stdout: BufReader<std::process::ChildStdout>,
}

impl Serving {
    fn start(bench: &Bench, args: &[&str], env: &[(&str, &str)]) -> Serving {
        let serve = [
            "target",
            "serve",
            "--portal",
            "127.0.0.1:0",
            "--portal",
            "127.0.0.1:0,group=2,rate=4gfc",
        ];
        let mut command = bench.command(&[&serve[..], args].concat());
        command.envs(env.iter().copied()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let stdout = BufReader::new(child.stdout.take().expect("it is a pipe"));
        Serving { child, stdout }
    }

    /// Lines up to one that is `last`, or to the end.
    fn lines_to(&mut self, last: impl Fn(&str) -> bool) -> String {
        let mut text = String::new();
        loop {
            let from = text.len();
            let read = self.stdout.read_line(&mut text).expect("a pipe can be read");
            if read == 0 || last(text[from..].trim_end_matches('\n')) {
                return text;
            }
        }
    }

    /// One JSON document, which ends with a brace of its own.
    fn document(&mut self) -> String {
        self.lines_to(|line| line == "}")
    }

    fn stop(mut self) -> Ended {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it is running");
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).expect("a pipe can be read");
        let mut ended = ended(self.child.wait_with_output().expect("a child can be waited for"));
        ended.stdout = rest;
        ended
    }
}

#[test]
fn it_prints_its_urls_once_it_listens_and_stops_cleanly() {
    let bench = bench();
    let volumes =
        ["--volume", "ram:1MiB,thin,serial=one", "--volume", "file:made,size=2MiB,block=4096"];
    let mut served = Serving::start(&bench, &[&volumes[..], &["--format", "json"]].concat(), &[]);
    let told: Value = serde_json::from_str(&served.document()).expect("it is JSON");
    assert_eq!(told["luns"][0]["serial"], "one");
    assert_eq!(
        (&told["luns"][1]["block"], &told["luns"][1]["bytes"]),
        (&4096.into(), &(2 << 20).into())
    );
    assert_eq!(told["portals"][1]["bytes_per_s"], 413_259_668);
    for portal in 0..2 {
        let address = told["portals"][portal]["address"].as_str().expect("an address");
        std::net::TcpStream::connect(address).expect("it listens where it says");
        let url = format!("iscsi://{address}/{}/1", told["iqn"].as_str().expect("a name"));
        assert_eq!(told["luns"][1]["urls"][portal], url);
    }
    let ended = served.stop();
    assert_eq!((ended.code, ended.stdout.as_str()), (0, ""), "{}", ended.stderr);
    assert_eq!(std::fs::metadata(bench.path("made")).expect("it was made").len(), 2 << 20);
    // The file is known again, with its data, and needs no token.
    let again = ["--volume", "file:made", "--quiet"];
    let mut served = Serving::start(&bench, &again, &[]);
    let told = served.lines_to(|line| line.starts_with("    iscsi://") && line.ends_with("/0"));
    assert!(told.contains("lun 0: file:made, 2MiB") && !told.contains("read-only"), "{told}");
    let ended = served.stop();
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "quiet");
}

#[test]
fn secrets_are_never_shown() {
    let bench = bench();
    bench.secret("secret", &format!("{SECRET}\n"));
    let args = [
        "--volume",
        "ram:1MiB",
        "--chap",
        "u",
        "--chap-secret-file",
        "secret",
        "--chap-mutual",
        "t",
        "--format",
        "json",
    ];
    let mut served =
        Serving::start(&bench, &args, &[("WIRESPEED_CHAP_MUTUAL_SECRET", "another of them")]);
    let told = served.document();
    let ended = served.stop();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    for text in [&told, &ended.stderr] {
        assert!(!text.contains(SECRET) && !text.contains("another of them"), "{text}");
    }
    let refused = |mode: u32, said: &str| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(bench.path("s.toml"), mode).expect("a file of the test's own");
        let args = ["--volume", "ram:1MiB", "--chap", "u", "--chap-secret-file", "s.toml"];
        let ended = bench.expect(2, &[&["target", "serve"], &args[..]].concat());
        assert!(ended.stderr.contains(said), "{}", ended.stderr);
    };
    refused(0o600, "RFC 7143");
    refused(0o640, "chmod 600");
}
