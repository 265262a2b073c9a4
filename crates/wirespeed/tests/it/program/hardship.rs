//! Runs that are stopped themselves, or held short: what is said, what counts, and how they end.

use crate::prelude::*;
use crate::program::support::{Bench, ended, open, slow_null};
use crate::program::terminal::{Emulator, Terminal};
use rustix::process::{Pid, Signal, kill_process};
use std::process::{Child, Command, Stdio};

/// Lets a run go for a while.
fn wait(millis: u64) {
    clock::sleep_until(clock::now().plus(clock::Ns::millis(millis)));
}

/// Waits for the end of a child for at most so many seconds.
fn left(child: &mut Child, seconds: u64) -> Option<i32> {
    for _ in 0..seconds * 20 {
        if let Some(status) = child.try_wait().expect("it is ours") {
            return Some(status.code().unwrap_or(-1));
        }
        wait(50);
    }
    None
}

/// A run of six seconds of 200 IOPS that stands still for a part of them: its exit code and its review.
fn stopped_for(millis: u64) -> (i32, serde_json::Value) {
    let goal = "[[goal]]\niops = { at_least = \"150 IOPS\" }\n";
    stopped(&(slow_null("6s") + goal), millis)
}

/// The same of any run.
fn stopped(scenario: &str, millis: u64) -> (i32, serde_json::Value) {
    let bench = Bench::new(scenario);
    let mut command = bench.command(&["run", "s.toml", "--out", "r.wsr", "--quiet"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let pid = Pid::from_child(&child);
    wait(2500);
    kill_process(pid, Signal::STOP).expect("it runs");
    wait(millis);
    kill_process(pid, Signal::CONT).expect("it is there");
    let ended = ended(child.wait_with_output().expect("it ends"));
    let review = bench.run(&["review", "r.wsr", "--format", "json"]);
    let review =
        serde_json::from_str(&review.stdout).unwrap_or_else(|e| panic!("{e}: {}", ended.stderr));
    (ended.code, review)
}

fn codes(review: &serde_json::Value) -> Vec<&str> {
    let warnings = review["warnings"].as_array().expect("a list");
    warnings.iter().filter_map(|w| w["code"].as_str()).collect()
}

#[test]
fn the_seconds_of_an_own_stop_are_void() {
    let (code, review) = stopped_for(1300);
    assert!(codes(&review).contains(&"own-stop"), "{:?}", codes(&review));
    assert!(codes(&review).contains(&"seconds-void") && !codes(&review).contains(&"hang"));
    // The rate is that of the seconds that count: the goal is met as if nothing had been.
    assert_eq!((code, review["goals"][0]["status"].as_str()), (0, Some("met")), "{review:#}");
}

#[test]
fn a_run_that_was_stopped_for_most_of_its_time_decides_nothing() {
    let (code, review) = stopped_for(3600);
    assert!(!codes(&review).contains(&"hang"), "{:?}", codes(&review));
    assert_eq!((code, review["goals"][0]["status"].as_str()), (1, Some("undecided")), "{review:#}");
}

#[test]
fn the_seconds_of_a_stop_of_a_network_load_are_void() {
    let scenario = "[scenario]\ntitle = \"stopped\"\n[[receiver]]\nname = \"far\"\nembedded = true\n\
                    [workload.wire]\nkind = \"net\"\nmessage = \"16KiB\"\nrate = \"2 MB/s\"\n\
                    [plan]\nworkload = \"wire\"\non = \"far\"\nwarmup = \"0s\"\nmeasure = \"6s\"\n\
                    [[goal]]\nhop = \"far\"\nwrite = { at_least = \"1.7 MB/s\" }\n";
    let (code, review) = stopped(scenario, 1400);
    assert!(codes(&review).contains(&"own-stop"), "{:?}", codes(&review));
    assert!(codes(&review).contains(&"seconds-void"), "{:?}", codes(&review));
    assert_eq!((code, review["goals"][0]["status"].as_str()), (0, Some("met")), "{review:#}");
}

/// A command under a limit of the shell's `ulimit`.
fn limited(bench: &Bench, limit: &str, args: &[&str]) -> crate::program::support::Ended {
    let program = env!("CARGO_BIN_EXE_wirespeed");
    let script = format!("ulimit {limit} && exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &script, program]).args(args).current_dir(bench.path("."));
    ended(command.env("NO_COLOR", "1").stdin(Stdio::null()).output().expect("a shell"))
}

#[test]
fn a_record_that_may_not_grow_ends_the_run_and_says_why() {
    let scenario = slow_null("60s")
        .replace("[plan]\n", "[plan]\nsweep = { w.rate = [\"100 IOPS\", \"200 IOPS\"] }\n");
    let bench = Bench::new(&scenario);
    // Blocks of 512 bytes: not much more than an empty record.
    let ended = limited(&bench, "-f 1600", &["run", "s.toml", "--out", "r.wsr", "--quiet"]);
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    assert!(ended.stderr.contains("RLIMIT_FSIZE"), "{}", ended.stderr);
    let review = bench.run(&["review", "r.wsr"]).stdout;
    assert!(review.contains("RLIMIT_FSIZE"), "{review}");
    // Results that cannot be written whole are not left in part.
    let ended = limited(&bench, "-f 1", &["review", "r.wsr", "-o", "page.html"]);
    assert_eq!((ended.code, bench.path("page.html").exists()), (3, false), "{}", ended.stderr);
}

#[test]
fn a_load_that_memory_cannot_hold_is_refused_before_it_starts() {
    let bench = Bench::new("");
    std::fs::write(bench.path("t"), vec![0; 1 << 20]).expect("room");
    let args = ["disk", "t", "--block", "1MiB", "--depth", "512", "--time", "1s", "--out", "r.wsr"];
    let ended = limited(&bench, "-v 500000", &args);
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    let review = bench.run(&["review", "r.wsr"]).stdout;
    assert!(review.contains("RLIMIT_AS"), "{review}\n{}", ended.stderr);
    assert_eq!(open(&bench.path("r.wsr")).status(), record::Status::Failed);
    // What nothing foresees has an exit code and words, too: little more than the program itself.
    let program = std::fs::metadata(env!("CARGO_BIN_EXE_wirespeed")).expect("it is built").len();
    let limit = format!("-v {}", program / 1024 + 30_000);
    let ended = limited(&bench, &limit, &["catalog", "ls"]);
    assert!([0, 3, 127].contains(&ended.code), "{}: {}", ended.code, ended.stderr);
}

/// Runs a command line of the shell, where `$W` is the program: its exit code, or `None` where a signal ended it, and stderr.
fn shell(bench: &Bench, line: &str) -> (Option<i32>, String) {
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(bench.path(".")).stdin(Stdio::null());
    command.env("W", env!("CARGO_BIN_EXE_wirespeed")).env("NO_COLOR", "1");
    let done = command.output().expect("a shell");
    (done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned())
}

#[test]
fn a_small_stack_is_no_hindrance() {
    let bench = Bench::new("");
    let args = ["disk", "null:", "--warmup", "0s", "--time", "100ms", "--out", "r.wsr"];
    for limit in ["-s 64", "-s 32", "-S -s 64"] {
        let _ = fs::remove_file(bench.path("r.wsr"));
        let ended = limited(&bench, limit, &args);
        assert_eq!(ended.code, 0, "{limit}: {}", ended.stderr);
    }
    // Where the limit cannot be raised: on a thread with a stack of its own.
    let held = "ulimit -s 64 && exec setpriv --bounding-set=-sys_resource $W disk null: --warmup 0s --time 100ms --out h.wsr";
    let (code, said) = shell(&bench, held);
    if said.contains("setpriv:") {
        return println!("skipped: capabilities cannot be given up here (`setpriv`)");
    }
    assert_eq!(code, Some(0), "{said}");
}

/// A limit or a missing place ends a run in an exit code and words, never in a signal or a panic.
#[test]
fn limits_and_missing_places_are_told_in_words() {
    let bench = Bench::new("");
    let run = "--read 0 --warmup 0s --passes 1 --time 60s --quiet";
    let file = format!("$W disk t --create 1MiB {run} --out r.wsr");
    // Each line, the exit code, and a word of stderr.
    let cases = [
        (format!("ulimit -n 7; {file}"), 3, "`ulimit -n`"),
        (format!("{file} <&- >&- 2>&-"), 0, ""),
        ("$W catalog ls >/dev/full".to_owned(), 3, "could not be written"),
        ("$W catalog ls 2>/dev/full".to_owned(), 0, ""),
        (format!("HOME=/proc TMPDIR=/proc XDG_RUNTIME_DIR=/proc {file}"), 0, ""),
        (format!("env -i \"$W\" disk t --create 1MiB {run} --out r.wsr"), 0, ""),
    ];
    for (line, code, word) in cases {
        let _ = fs::remove_file(bench.path("r.wsr"));
        let (ended, said) = shell(&bench, &line);
        assert_eq!(ended, Some(code), "{line}: {said}");
        assert!(said.contains(word) && !said.contains("panicked"), "{line}: {said}");
    }
    for (place, code, word) in [("/proc", 3, "/proc is not mounted"), ("/sys", 0, "")] {
        let _ = fs::remove_file(bench.path("r.wsr"));
        let line = format!("unshare --mount sh -c 'umount -l {place} && exec {file}'");
        let (ended, said) = shell(&bench, &line);
        if said.contains("unshare:") || said.contains("umount:") {
            return println!("skipped: no mount namespace of its own here (root and `unshare`)");
        }
        assert_eq!(ended, Some(code), "{line}: {said}");
        assert!(said.contains(word) && !said.contains("panicked"), "{line}: {said}");
    }
}

#[test]
fn a_thread_that_cannot_be_started_is_told_with_its_limit() {
    let bench = Bench::new("");
    // Root is not held to a number of processes.
    let line = "chmod 777 .; exec setpriv --reuid=65534 --clear-groups prlimit --nproc=1 $W disk null: \
                --warmup 0s --time 1s --out r.wsr";
    let (code, said) = shell(&bench, line);
    if said.contains("setpriv:") || said.contains("prlimit:") {
        return println!(
            "skipped: no other user here (`setpriv`, `prlimit`, a program that all may run)"
        );
    }
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("ulimit -u"), "{said}");
}

/// What completes nothing is exit 3, and operations without data do complete.
#[test]
fn a_load_of_trims_alone_completes_something() {
    let bench = Bench::new("");
    let args = [
        "disk", "t", "--create", "8MiB", "--rw", "randtrim", "--block", "64KiB", "--time", "1s",
        "--warmup", "0s", "--out", "r.wsr",
    ];
    let ended = bench.run(&args);
    if ended.stderr.contains("punch") {
        return println!("skipped: the file system of the tests has no holes");
    }
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains("trims/s"), "{}", ended.stdout);
}

/// A small file system on a loop device, which can be frozen; thawed and gone when dropped.
struct Frozen {
    device: String,
    at: PathBuf,
}

impl Frozen {
    fn mount(bench: &Bench) -> Option<Frozen> {
        let tool = |name: &str, args: &[&str]| {
            let done = Command::new(name).args(args).output().ok()?;
            done.status.success().then(|| String::from_utf8_lossy(&done.stdout).trim().to_owned())
        };
        let (image, at) = (bench.path("fs.img"), bench.path("mnt"));
        std::fs::File::create(&image).and_then(|file| file.set_len(96 << 20)).ok()?;
        std::fs::create_dir(&at).ok()?;
        let image = image.to_str()?;
        tool("mkfs.ext4", &["-q", "-F", image])?;
        let device = tool("losetup", &["--find", "--show", image])?;
        let frozen = Frozen { device: device.clone(), at };
        tool("mount", &[&device, frozen.at.to_str()?])?;
        Some(frozen)
    }

    fn freeze(&self, how: &str) -> bool {
        Command::new("fsfreeze").arg(how).arg(&self.at).status().is_ok_and(|s| s.success())
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        let _ = Command::new("fsfreeze").arg("-u").arg(&self.at).stderr(Stdio::null()).status();
        let _ = Command::new("umount").arg("--lazy").arg(&self.at).status();
        let _ = Command::new("losetup").args(["-d", &self.device]).status();
    }
}

/// A run on a frozen file system that is interrupted once: the program, still frozen, with its record.
fn interrupted_in_the_kernel(agent: &str, judge: impl FnOnce(&mut Child, &Path)) -> Option<String> {
    let bench = Bench::new("");
    let Some(frozen) = Frozen::mount(&bench) else {
        println!("skipped: no loop devices here (root, `losetup` and `fsfreeze` are needed)");
        return None;
    };
    let args = [
        "disk", "mnt/t", "--create", "8MiB", "--read", "0", "--warmup", "0s", "--time", "60s",
        "--agent", agent, "--out", "r.wsr",
    ];
    let mut command = bench.command(&args);
    let mut child =
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    wait(3000);
    if !frozen.freeze("-f") {
        kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
        let _ = child.wait();
        println!("skipped: no file system can be frozen here (`fsfreeze`)");
        return None;
    }
    wait(500);
    kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
    judge(&mut child, &bench.path("r.wsr"));
    drop(frozen);
    let ended = ended(child.wait_with_output().expect("it ended or is thawed"));
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    let review = bench.run(&["review", "r.wsr"]).stdout;
    assert!(review.contains("gent `local` was lost"), "{review}");
    Some(ended.stderr)
}

#[test]
fn the_first_interrupt_ends_a_run_whose_file_system_is_frozen() {
    // Half a minute is patience on a busy machine; unmended, it took twice that.
    let judge = |child: &mut Child, record: &Path| {
        assert_eq!(left(child, 30), Some(3));
        assert_ne!(open(record).status(), record::Status::Running);
    };
    if let Some(said) = interrupted_in_the_kernel("child", judge) {
        assert!(said.contains("waits in the kernel"), "{said}");
    }
}

/// At a terminal the shell has its prompt again, whoever's threads the kernel keeps.
#[test]
fn a_run_at_a_terminal_leaves_before_the_thaw() {
    let bench = Bench::new("");
    let Some(frozen) = Frozen::mount(&bench) else {
        return println!(
            "skipped: no loop devices here (root, `losetup` and `fsfreeze` are needed)"
        );
    };
    let args = [
        "disk", "mnt/t", "--create", "8MiB", "--read", "0", "--warmup", "0s", "--time", "60s",
        "--out", "r.wsr",
    ];
    let mut terminal = Terminal::start(&bench, &args, (24, 100), &[]);
    assert!(terminal.until(|seen| seen.text().contains("IOPS")), "{}", terminal.seen.text());
    if !frozen.freeze("-f") {
        terminal.child.kill().expect("it runs");
        terminal.end();
        return println!("skipped: no file system can be frozen here (`fsfreeze`)");
    }
    wait(500);
    kill_process(Pid::from_child(&terminal.child), Signal::INT).expect("it runs");
    let left_behind = |seen: &Emulator| seen.text().contains("is left behind");
    assert!(terminal.until(left_behind), "{}", terminal.seen.text());
    assert_eq!(left(&mut terminal.child, 10), Some(3), "while it is frozen");
    assert_ne!(open(&bench.path("r.wsr")).status(), record::Status::Running);
    drop(frozen);
    terminal.end();
}

/// Its own threads are in the kernel: the record is complete, and says so, long before the process can end.
#[test]
fn a_run_in_one_process_leaves_its_record_before_the_thaw() {
    let judge = |child: &mut Child, record: &Path| {
        let done = (0..300).any(|_| {
            wait(100);
            open(record).status() != record::Status::Running
        });
        assert!(done, "the record says that it ended");
        assert_eq!(child.try_wait().expect("it is ours"), None, "the kernel holds it");
    };
    if let Some(said) = interrupted_in_the_kernel("in-process", judge) {
        assert!(said.contains("--agent child"), "{said}");
    }
}
