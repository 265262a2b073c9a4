//! A running target is asked and told: by programs, by people on a terminal, by clients that mean no good.

use crate::prelude::*;
use crate::program::support::{Bench, Ended};
use crate::program::terminal::Terminal;
use rustix::process::{Pid, Signal, kill_process};
use std::io::Write;
use std::os::unix::net::UnixStream;

const IQN: &str = "iqn.2026-11.example:told";

/// A target of two ports that runs in a bench.
struct Target {
    child: Child,
    stdout: BufReader<std::process::ChildStdout>,
    /// What it printed once it listened.
    told: Value,
}

impl Target {
    fn start(bench: &Bench, iqn: &str, args: &[&str]) -> Target {
        let fixed = ["target", "serve", "--iqn", iqn, "--format", "json", "--quiet"];
        let mut command = bench.command(&[&fixed[..], args].concat());
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the program starts");
        let mut stdout = BufReader::new(child.stdout.take().expect("it is a pipe"));
        let mut text = String::new();
        while !text.ends_with("\n}\n") {
            assert_ne!(stdout.read_line(&mut text).expect("a pipe can be read"), 0, "{text}");
        }
        let told = serde_json::from_str(&text).expect("it is JSON");
        Target { child, stdout, told }
    }

    fn two_ports(bench: &Bench) -> Target {
        let ports = ["--portal", "127.0.0.1:0", "--portal", "127.0.0.1:0,group=2,rate=4gfc"];
        Target::start(bench, IQN, &[&ports[..], &["--volume", "ram:16MiB"]].concat())
    }

    fn port(&self, n: usize) -> String {
        self.told["portals"][n]["address"].as_str().expect("an address").to_owned()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it is running");
    }

    /// Kills it, as a crash does.
    fn crash(mut self) {
        self.child.kill().expect("it is running");
        self.child.wait().expect("it was killed");
    }

    /// Stops it as a user does; its exit code.
    fn stop(mut self) -> Option<i32> {
        self.signal(Signal::TERM);
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).expect("a pipe can be read");
        self.child.wait().expect("it ends").code()
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        // Of a test that failed: it has ended otherwise.
        let _ = self.child.kill();
    }
}

/// A program that puts load on a target until this is dropped.
struct Load(Child);

impl Drop for Load {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn status(bench: &Bench, args: &[&str]) -> Value {
    let ended = bench.expect(0, &[&["target", "status", "--json"], args].concat());
    serde_json::from_str(&ended.stdout).expect("it is JSON")
}

/// Asks until what is told is as it is meant to be.
fn until(bench: &Bench, meant: impl Fn(&Value) -> bool) -> Value {
    for _ in 0..200 {
        let told = status(bench, &[]);
        if meant(&told) {
            return told;
        }
        clock::sleep_until(clock::now().plus(Ns::millis(100)));
    }
    panic!("{:#}", status(bench, &[]))
}

/// Load at a fixed rate on the first LUN by a port.
fn load(bench: &Bench, address: &str, args: &[&str]) -> Load {
    let url = format!("iscsi://{address}/{IQN}/0{}", args[0]);
    let fixed = ["disk", &url, "--warmup", "0s", "--quiet"];
    let mut command = bench.command(&[&fixed[..], &args[1..]].concat());
    let command = command.stdout(Stdio::null()).stderr(Stdio::null());
    Load(command.spawn().expect("the program starts"))
}

#[test]
fn sessions_rates_and_latencies_are_those_of_the_load() {
    let bench = Bench::new("");
    let target = Target::two_ports(&bench);
    let quiet = status(&bench, &[]);
    assert_eq!((quiet["iqn"].as_str(), quiet["sessions"].as_array()), (Some(IQN), Some(&vec![])));
    assert_eq!(quiet["pid"], target.child.id());
    assert_eq!(
        (&quiet["luns"][0]["bytes"], &quiet["ports"][1]["bytes_per_s"]),
        (&json!(16 << 20), &json!(413_259_668))
    );
    // A closed form: 200 reads a second of 4 KiB are 819,200 B/s, whatever the machine does.
    let options = "?header_digest=crc32c";
    let rate = [options, "--block", "4KiB", "--rate", "200 IOPS", "--time", "60s"];
    let disk = load(&bench, &target.port(0), &rate);
    let near = |figure: &Value, expected: f64| {
        figure.as_f64().is_some_and(|figure| (figure / expected - 1.0).abs() < 0.1)
    };
    let told = until(&bench, |told| {
        told["window_s"].as_f64() > Some(4.5)
            && near(&told["luns"][0]["figures"]["reads_per_s"], 200.0)
    });
    let (port, lun) = (&told["ports"][0]["figures"], &told["luns"][0]["figures"]);
    for figures in [port, lun] {
        assert!(near(&figures["reads_per_s"], 200.0), "{told:#}");
        assert!(near(&figures["read_bytes_per_s"], 819_200.0), "{told:#}");
        assert_eq!(
            (&figures["writes_per_s"], &figures["write_latency"]),
            (&json!(0.0), &Value::Null)
        );
        let (p50, p99) = (&figures["read_latency"]["p50_ns"], &figures["read_latency"]["p99_ns"]);
        assert!(p50.as_u64() > Some(0) && p50.as_u64() <= p99.as_u64(), "{told:#}");
    }
    assert_eq!(told["ports"][1]["figures"]["reads_per_s"], 0.0);
    let session = &told["sessions"][0];
    let connection = &session["connections"][0];
    assert_eq!(connection["portal"], target.port(0));
    assert_eq!(
        (&connection["header_digest"], &connection["data_digest"]),
        (&json!(true), &json!(false))
    );
    assert!(
        session["tsih"].as_u64() > Some(0)
            && session["isid"].as_str().is_some_and(|i| i.len() == 14)
    );
    drop(disk);
    until(&bench, |told| told["sessions"] == json!([]));
    let text = bench.expect(0, &["target", "status"]).stdout;
    for word in [IQN, "413 MB/s", "no session", "ram:16MiB", "stopped"] {
        assert_eq!(text.contains(word), word != "stopped", "{word}: {text}");
    }
    assert_eq!(target.stop(), Some(0));
}

#[test]
fn a_port_that_is_stopped_is_gone_for_initiators_until_it_is_started() {
    let bench = Bench::new("");
    let target = Target::two_ports(&bench);
    let (first, second) = (target.port(0), target.port(1));
    let disk = load(&bench, &first, &["?no_path_retry=60s", "--rate", "100 IOPS", "--time", "60s"]);
    let connected = |told: &Value| told["ports"][0]["connections"].as_u64() > Some(0);
    until(&bench, |told| told["luns"][0]["figures"]["reads_per_s"].as_f64() > Some(0.0));
    let stop = |port: &str| bench.expect(0, &["target", "stop-port", port]).stdout;
    let stopped = stop(&first);
    let dropped = stopped.strip_prefix(&format!("port {first} of {IQN} is stopped; "));
    let dropped = dropped.and_then(|rest| rest.split(' ').next()?.parse::<u32>().ok());
    assert!(dropped > Some(0), "{stopped}");
    assert!(TcpStream::connect(&first).is_err(), "nothing listens");
    TcpStream::connect(&second).expect("the other port is as it was");
    assert_eq!(stop(&first), format!("port {first} of {IQN} was stopped already\n"));
    let told = status(&bench, &[]);
    assert_eq!(
        (&told["ports"][0]["state"], &told["ports"][1]["state"]),
        (&json!("stopped"), &json!("up"))
    );
    assert_eq!((&told["ports"][0]["connections"], &told["sessions"]), (&json!(0), &json!([])));
    // By the number of its port, for a program.
    let number = first.rsplit_once(':').expect("an address").1;
    let started = bench.expect(0, &["target", "start-port", number, "--format", "json"]).stdout;
    let started: Value = serde_json::from_str(&started).expect("it is JSON");
    assert_eq!((&started["state"], &started["changed"]), (&json!("up"), &json!(true)));
    TcpStream::connect(&first).expect("it listens again");
    // The initiator that was dropped finds its way back: a cable that is plugged in again.
    until(&bench, connected);
    drop(disk);
    let wrong = bench.expect(2, &["target", "stop-port", &second.replace("127", "172")]);
    assert!(wrong.stderr.contains(&format!("did you mean `{second}`?")), "{}", wrong.stderr);
    let wrong = bench.expect(2, &["target", "stop-port", "p1"]);
    assert!(wrong.stderr.contains(&first) && wrong.stderr.contains(&second), "{}", wrong.stderr);
    // What another program has taken meanwhile cannot be started.
    stop(&first);
    let taken = std::net::TcpListener::bind(&first).expect("it is free");
    let refused = bench.expect(3, &["target", "start-port", &first]);
    assert!(refused.stderr.contains(&first), "{}", refused.stderr);
    drop(taken);
    assert_eq!(target.stop(), Some(0));
}

#[test]
fn a_lun_grows_while_it_is_used() {
    let bench = Bench::new("");
    let target = Target::two_ports(&bench);
    let resize = |code: i32, args: &[&str]| -> Ended {
        bench.expect(code, &[&["target", "resize"], args].concat())
    };
    let grown = resize(0, &["0", "24MiB"]).stdout;
    assert_eq!(grown, format!("LUN 0 of {IQN} has 24MiB\n"));
    assert_eq!(status(&bench, &[])["luns"][0]["bytes"], 24 << 20);
    let told: Value =
        serde_json::from_str(&resize(0, &["0", "24m", "--format", "json"]).stdout).expect("JSON");
    assert_eq!((&told["bytes"], &told["changed"]), (&json!(24 << 20), &json!(false)));
    assert!(resize(2, &["0", "1MiB"]).stderr.contains("only grow"));
    assert!(resize(2, &["4", "1GiB"]).stderr.contains("no LUN 4"));
    assert_eq!(target.stop(), Some(0));
}

#[test]
fn the_target_that_is_meant_is_found() {
    let bench = Bench::new("");
    let fails = |code: i32, args: &[&str]| -> Ended {
        bench.expect(code, &[&["target", "status"], args].concat())
    };
    let none = fails(3, &[]).stderr;
    assert!(none.contains("no target of this user runs"), "{none}");
    let one =
        Target::start(&bench, "iqn.x:one", &["--portal", "127.0.0.1:0", "--volume", "ram:1MiB"]);
    let two =
        Target::start(&bench, "iqn.x:two", &["--portal", "127.0.0.1:0", "--volume", "ram:1MiB"]);
    for both in [fails(0, &[]).stdout, fails(2, &["--watch"]).stderr] {
        let named = both.contains("iqn.x:one") && both.contains("iqn.x:two");
        assert!(named && both.contains("--target"), "{both}");
    }
    let url = format!("iscsi://{}/iqn.x:two/0", two.port(0));
    let pid = two.child.id().to_string();
    for name in ["iqn.x:two", &url, &pid] {
        assert_eq!(status(&bench, &["--target", name])["iqn"], "iqn.x:two");
    }
    let wrong = fails(2, &["--target", "iqn.x:tow"]).stderr;
    assert!(wrong.contains("did you mean `iqn.x:two`?"), "{wrong}");
    // A process that was killed leaves its socket, which is no target and is removed.
    two.crash();
    let socket = bench.path(&format!("wirespeed/target-{pid}.sock"));
    assert!(socket.exists(), "it was left");
    assert_eq!(status(&bench, &[])["iqn"], "iqn.x:one", "the only one that runs");
    assert!(!socket.exists(), "it was removed");
    assert_eq!(one.stop(), Some(0));
    assert_eq!(fs::read_dir(bench.path("wirespeed")).expect("it is there").count(), 0);
}

#[test]
fn slow_and_hostile_clients_hold_nothing_up() {
    let bench = Bench::new("");
    let target = Target::two_ports(&bench);
    let socket = bench.path(&format!("wirespeed/target-{}.sock", target.child.id()));
    // More than it takes, of which none says anything; one more that reads nothing.
    let mut slow: Vec<UnixStream> =
        (0..12).map(|_| UnixStream::connect(&socket).expect("it listens")).collect();
    let url = format!("iscsi://{}/{IQN}/0", target.port(0));
    let load = ["disk", &url, "--warmup", "0s", "--time", "1s", "--format", "json"];
    let run: Value = serde_json::from_str(&bench.expect(0, &load).stdout).expect("it is JSON");
    assert!(run.to_string().contains("iops"), "the data path goes on");
    // Those that are over their time are sent away, and others have their turn.
    for stream in &mut slow {
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("an option");
        let mut rest = Vec::new();
        // One that was never let in is reset.
        let _ = stream.read_to_end(&mut rest);
        assert_eq!(rest, b"", "nothing was asked");
    }
    for said in ["\n", "{}\n", "{\"ask\":\"stop\"}\n", "\u{1b}[2J\n", "[[[[[[[[[[\n"] {
        let mut stream = UnixStream::connect(&socket).expect("it listens");
        stream.write_all(said.as_bytes()).expect("it takes it");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        assert!(answer.starts_with("{\"refused\":"), "{said:?}: {answer}");
    }
    let mut endless = UnixStream::connect(&socket).expect("it listens");
    let line = vec![b'x'; 64 << 10];
    // It is cut off.
    while endless.write_all(&line).is_ok() {}
    let slow = UnixStream::connect(&socket).expect("it listens");
    assert_eq!(status(&bench, &[])["iqn"], IQN);
    assert_eq!(target.stop(), Some(0), "a client that says nothing does not keep it");
    drop(slow);
}

#[test]
fn it_is_watched_in_place_on_a_terminal_and_line_by_line_elsewhere() {
    let bench = Bench::new("");
    let target = Target::two_ports(&bench);
    for columns in [80, 40] {
        let mut terminal =
            Terminal::start(&bench, &["target", "status", "--watch"], (40, columns), &[]);
        assert!(terminal.until(|seen| seen.redrawn >= 2 && seen.text().contains("no session")));
        assert_eq!(terminal.seen.wrapped, 0, "{}", terminal.seen.text());
        let once = terminal.seen.text().matches("no session").count();
        assert_eq!(once, 1, "it is drawn in place: {}", terminal.seen.text());
        let pid = Pid::from_child(&terminal.child);
        kill_process(pid, Signal::INT).expect("it runs");
        assert_eq!(terminal.end().0, 0, "Ctrl-C ends it");
    }
    for (args, line) in [(&["--watch"][..], "IOPS"), (&["--watch", "--json"], "\"iqn\"")] {
        let mut command = bench.command(&[&["target", "status"], args].concat());
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the program starts");
        let mut lines = BufReader::new(child.stdout.take().expect("it is a pipe")).lines();
        for _ in 0..2 {
            let said = lines.next().expect("a line a second").expect("it can be read");
            assert!(said.contains(line) && !said.contains('\x1b'), "{said}");
        }
        child.kill().expect("it runs");
        child.wait().expect("it ends");
    }
    let dumb = [("TERM", "dumb")];
    let mut terminal = Terminal::start(&bench, &["target", "status", "--watch"], (24, 80), &dumb);
    assert!(terminal.until(|seen| seen.text().matches("IOPS").count() >= 2));
    assert_eq!(terminal.seen.redrawn, 0);
    // The target's end is the end of the watch.
    assert_eq!(target.stop(), Some(0));
    let (code, seen) = terminal.end();
    assert_eq!(code, 3, "{}", seen.text());
    assert!(seen.text().contains("has ended"), "{}", seen.text());
}

/// Two VMs on an array of a run, whose ports are stopped and started by hand while it lasts.
#[test]
fn an_array_of_a_run_is_asked_and_told_by_the_names_of_its_scenario() {
    let scenario = r#"
scenario.title = "by hand"
[[array]]
name = "store"
embedded = { ports = [{ name = "p1" }, { name = "p2" }] }
[[volume]]
name = "data"
array = "store"
size = "16MiB"
[[vm]]
name = "vm"
disks = [{ lun = "store/data", ports = ["p1", "p2"], policy = "fixed" }]
[workload.w]
block = "4KiB"
rate = "200 IOPS"
[plan]
workload = "w"
on = "vm"
warmup = "0s"
measure = "8s"
"#;
    let bench = Bench::new(scenario);
    let mut command = bench.command(&["run", "s.toml", "--out", "r.wsr", "--quiet"]);
    let mut run = command.stdout(Stdio::null()).spawn().expect("the program starts");
    let asked = |args: &[&str]| bench.run(&[&["target"], args].concat());
    let mut told = Value::Null;
    for _ in 0..200 {
        let ended = asked(&["status", "--json"]);
        told = serde_json::from_str(&ended.stdout).unwrap_or(Value::Null);
        if told["ports"][0]["figures"]["reads_per_s"].as_f64() > Some(0.0) {
            break;
        }
        clock::sleep_until(clock::now().plus(Ns::millis(100)));
    }
    assert_eq!((&told["array"], &told["ports"][1]["name"]), (&json!("store"), &json!("store.p2")));
    assert_eq!(told["luns"][0]["volume"], "store/data");
    let stopped = asked(&["stop-port", "store.p1"]);
    assert_eq!(stopped.code, 0, "{}", stopped.stderr);
    assert!(stopped.stdout.starts_with("port store.p1 of "), "{}", stopped.stdout);
    let started = asked(&["start-port", "p1", "--target", "store"]);
    assert_eq!(started.code, 0, "{}", started.stderr);
    assert_eq!(asked(&["stop-port", "store.p3"]).code, 2, "there is no such port");
    assert_eq!(run.wait().expect("it ends").code(), Some(0));
    let record = crate::program::support::open(&bench.path("r.wsr"));
    let codes: Vec<&str> = record.events().iter().map(|event| event.code.as_str()).collect();
    let by_hand: Vec<&&str> = codes.iter().filter(|code| code.starts_with("port-")).collect();
    assert_eq!(by_hand, [&"port-stopped", &"port-started"], "{codes:?}");
}
