//! Network streams over loopback, compared with iperf3: same messages, same congestion control, same cores.
//!
//! Each round runs both tools in turn; the throughput is what each receiver reports, and processor time is the kernel's
//! account of both processes. No part of a run is left out, so that processor time and throughput belong together.

use crate::PAIRS;
use crate::estimate::Estimate;
use crate::target::{call, words};
use crate::tools::{Problem, cpu_seconds};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Stdio};

/// How long a run sends.
const SECONDS: u32 = 3;
/// As good as the peer: the interval of the ratio reaches 1, and the median is at least this.
const EVEN: f64 = 0.97;

/// One comparison.
struct Case {
    letter: char,
    title: &'static str,
    ours: &'static [&'static str],
    theirs: &'static [&'static str],
    /// Each process on a core of its own; otherwise both tools may use all.
    pinned: bool,
    rate: Bar,
    /// The bar for processor time a gigabyte, where there is one.
    cost: Option<Bar>,
}

#[derive(Clone, Copy)]
enum Bar {
    /// As good as the peer.
    Even,
    AtLeast(f64),
    AtMost(f64),
}

const CASES: [Case; 5] = [
    Case {
        letter: 'l',
        title: "one TCP stream, messages of 128 KiB",
        ours: &["--message", "128KiB"],
        theirs: &["-l", "128K"],
        pinned: true,
        rate: Bar::Even,
        cost: None,
    },
    Case {
        letter: 'm',
        title: "the same from a file's pages, both by sendfile",
        ours: &["--message", "128KiB", "--sendfile"],
        theirs: &["-l", "128K", "-Z"],
        pinned: true,
        rate: Bar::Even,
        cost: None,
    },
    Case {
        letter: 'n',
        title: "one TCP stream, messages of 4 KiB, each one submission",
        ours: &["--message", "4KiB"],
        theirs: &["-l", "4K"],
        pinned: true,
        rate: Bar::Even,
        cost: Some(Bar::AtMost(0.9)),
    },
    Case {
        letter: 'o',
        title: "one TCP stream, messages of 4 KiB; Wirespeed hands over 32 at a time",
        ours: &["--message", "4KiB", "--batch", "32"],
        theirs: &["-l", "4K"],
        pinned: true,
        rate: Bar::AtLeast(1.5),
        cost: None,
    },
    Case {
        letter: 'p',
        title: "three TCP streams each way at once, messages of 128 KiB",
        ours: &["--message", "128KiB", "--streams", "3", "--both"],
        theirs: &["-l", "128K", "-P", "3", "--bidir"],
        pinned: false,
        rate: Bar::AtLeast(1.3),
        cost: None,
    },
];

/// The figures of one run.
pub struct Ran {
    /// Bytes a second that were received, both directions together.
    pub rate: f64,
    /// Datagrams that were lost, as a share of those sent.
    lost: f64,
    /// Processor seconds of both processes for each gigabyte received.
    cost: f64,
}

/// The comparisons chosen by their letters.
pub fn report(scratch: &Path, cores: usize, wants: impl Fn(char) -> bool) -> Result<(), Problem> {
    for case in CASES.iter().filter(|case| wants(case.letter)) {
        println!("\n({}) {}, {SECONDS} s a run", case.letter, case.title);
        if case.pinned && cores < 2 {
            println!("skipped: it needs two cores, one for each end");
            continue;
        }
        streams(scratch, case)?;
    }
    if wants('q') {
        datagrams(scratch)?;
    }
    Ok(())
}

fn streams(scratch: &Path, case: &Case) -> Result<(), Problem> {
    let ours = Ours::listen(scratch, case.pinned)?;
    let theirs = Theirs::listen(case.pinned)?;
    let cubic = ["--congestion", "cubic"];
    let (a, b) = ([case.ours, &cubic].concat(), [case.theirs, &["-C", "cubic"]].concat());
    println!("  A: wirespeed net send {}\n  B: iperf3 {}", a.join(" "), b.join(" "));
    println!("  pair      A MB/s      B MB/s   A/B   A CPU s/GB   B CPU s/GB");
    let (mut rates, mut costs) = (Vec::with_capacity(PAIRS), Vec::with_capacity(PAIRS));
    for number in 1..=PAIRS {
        let (a, b) = (ours.run(&a)?, theirs.run(&b)?);
        println!(
            "  {number:4} {:>11} {:>11} {:5.2} {:>12.3} {:>12.3}",
            units::count(a.rate / 1e6),
            units::count(b.rate / 1e6),
            a.rate / b.rate,
            a.cost,
            b.cost
        );
        rates.push(a.rate / b.rate);
        costs.push(a.cost / b.cost);
    }
    judge("A/B throughput", &rates, Some(case.rate));
    judge("A/B processor time a gigabyte", &costs, case.cost);
    Ok(())
}

/// Datagrams as fast as iperf3 sends them, and ours at more than twice what it delivered: our loss must not be larger.
fn datagrams(scratch: &Path) -> Result<(), Problem> {
    println!(
        "\n(q) UDP, datagrams of 1,400 B, {SECONDS} s a run: iperf3 as fast as it goes, Wirespeed at 2.1 times what iperf3 \
         delivered"
    );
    let ours = Ours::listen(scratch, true)?;
    let theirs = Theirs::listen(true)?;
    println!("  pair      A MB/s      B MB/s   A/B   A lost   B lost");
    let (mut rates, mut losses) = (Vec::with_capacity(PAIRS), Vec::with_capacity(PAIRS));
    for number in 1..=PAIRS {
        let b = theirs.run(&["-u", "-b", "0", "-l", "1400", "-w", "4M"])?;
        let rate = format!("{} B/s", (b.rate * 2.1) as u64);
        let a = ours.run(&[
            "--udp",
            "--message",
            "1400B",
            "--segmented",
            "--batch",
            "40",
            "--receive-buffer",
            "4MiB",
            "--rate",
            &rate,
        ])?;
        println!(
            "  {number:4} {:>11} {:>11} {:5.2} {:>7.3}% {:>7.3}%",
            units::count(a.rate / 1e6),
            units::count(b.rate / 1e6),
            a.rate / b.rate,
            a.lost * 100.0,
            b.lost * 100.0
        );
        rates.push(a.rate / b.rate);
        losses.push((a.lost - b.lost) * 100.0);
    }
    judge("A/B received", &rates, Some(Bar::AtLeast(2.0)));
    judge("A - B lost, in points of percent", &losses, Some(Bar::AtMost(0.0)));
    Ok(())
}

fn judge(what: &str, ratios: &[f64], bar: Option<Bar>) {
    let Estimate { median, confidence, low, high } =
        Estimate::of(ratios).expect("ten rounds are enough");
    let verdict = bar.map_or_else(String::new, |bar| {
        let (text, met, missed) = match bar {
            Bar::Even => ("1.0".to_owned(), high >= 1.0 && median >= EVEN, high < 1.0),
            Bar::AtLeast(bar) => (format!("at least {bar}"), low >= bar, high < bar),
            Bar::AtMost(bar) => (format!("at most {bar}"), high <= bar, low > bar),
        };
        let verdict = match (met, missed) {
            (true, _) => "met",
            (_, true) => "MISSED",
            _ => "undecided",
        };
        format!("; {text}: {verdict}")
    });
    println!(
        "  {what}: median {median:.3}, {:.1}% interval {low:.3} to {high:.3}{verdict}",
        100.0 * confidence
    );
}

/// A process that serves one tool's tests.
struct Server {
    process: Child,
    address: String,
    port: String,
    /// The prefix of a client's command.
    before: Vec<String>,
    /// How often a client may try: a server may take a moment until it listens.
    tries: &'static str,
}

impl Server {
    /// Runs a client under the shell's stopwatch; its output, and the processor seconds of both ends.
    fn client(&self, all: &[&str]) -> Result<(String, f64), Problem> {
        let place: Vec<&str> = self.before.iter().map(String::as_str).collect();
        let script = "TIMEFORMAT='cpu %U %S'; for i in $(seq $0); do time { \"$@\"; } && exit; sleep 0.1; done; exit 1";
        let before = spent(self.process.id())?;
        let mut command = words("bash", &[&["-c", script, self.tries], &place[..], all].concat());
        let (out, err) = call(&mut command)?;
        let lacks = || Problem::NoFigures { command: format!("{command:?}") };
        let client = cpu_seconds(&err).ok_or_else(lacks)?;
        Ok((out, client + spent(self.process.id())? - before))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already; it is waited for in any case.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Processor seconds of a process and of all threads that it has had, by the kernel's account in hundredths (proc_pid_stat(5)).
fn spent(pid: u32) -> Result<f64, Problem> {
    let path = std::path::PathBuf::from(format!("/proc/{pid}/stat"));
    let text = std::fs::read_to_string(&path).map_err(|e| Problem::file(&path, e))?;
    // The name, in parentheses, may hold anything; user and system time are the 14th and 15th word of all.
    let words = text.rsplit(')').next().unwrap_or_default().split_whitespace();
    Ok(words.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0)
}

fn failed(what: &str, message: impl ToString) -> Problem {
    Problem::Failed { command: what.to_owned(), message: message.to_string() }
}

/// Starts a server that ends with this program, even if that is killed; `before` precedes its command.
fn serve(before: &[&str], all: &[&str], out: Stdio) -> Result<Child, Problem> {
    let all = [&["--pdeathsig", "KILL"], before, all].concat();
    let mut command = words("setpriv", &all);
    command.stdout(out).stderr(Stdio::null()).spawn().map_err(|e| failed("setpriv", e))
}

/// The prefixes of a server and of its client that give each a core, where that is wanted.
fn cores(pinned: bool) -> (&'static [&'static str], &'static [&'static str]) {
    match pinned {
        true => (&["taskset", "-c", "0"], &["taskset", "-c", "1"]),
        false => (&[], &[]),
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// A receiver of ours, and its address.
pub struct Ours {
    server: Server,
    record: String,
    /// The token, off loopback.
    more: Vec<String>,
}

impl Ours {
    fn listen(scratch: &Path, pinned: bool) -> Result<Ours, Problem> {
        let (before, client) = cores(pinned);
        Ours::start(scratch, before, client, "127.0.0.1", &[])
    }

    /// Between two namespaces.
    pub fn across(scratch: &Path, near: &str, far: &str, address: &str) -> Result<Ours, Problem> {
        let token = scratch.join("token");
        std::fs::write(&token, "a secret of these two namespaces")
            .map_err(|e| Problem::file(&token, e))?;
        let inside = |name| ["ip", "netns", "exec", name];
        let token = ["--token-file", &token.display().to_string()];
        Ours::start(scratch, &inside(far), &inside(near), address, &token)
    }

    fn start(
        scratch: &Path,
        before: &[&str],
        client: &[&str],
        address: &str,
        more: &[&str],
    ) -> Result<Ours, Problem> {
        let listen = format!("{address}:0");
        let all = [env!("CARGO_BIN_EXE_wirespeed"), "net", "receive", "--listen", &listen];
        let mut process = serve(before, &[&all[..], more].concat(), Stdio::piped())?;
        let out = process.stdout.take().ok_or_else(|| failed("wirespeed", "no output"))?;
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line).map_err(|e| failed("wirespeed", e))?;
        let port = line.trim().rsplit(':').next().unwrap_or_default().to_owned();
        let record = scratch.join("streams.wsr").display().to_string();
        let (address, before) = (address.to_owned(), owned(client));
        Ok(Ours {
            server: Server { process, address, port, before, tries: "1" },
            record,
            more: owned(more),
        })
    }

    /// One test.
    pub fn run(&self, more: &[&str]) -> Result<Ran, Problem> {
        // A missing file need not be removed.
        let _ = std::fs::remove_file(&self.record);
        let Server { address, port, .. } = &self.server;
        let (to, time) = (format!("{address}:{port}"), format!("{SECONDS}s"));
        let token: Vec<&str> = self.more.iter().map(String::as_str).collect();
        let all = [
            &[env!("CARGO_BIN_EXE_wirespeed"), "net", "send", &to, "--time", &time][..],
            &["--warmup", "0s", "--cooldown", "0s", "--quiet", "--format", "json"],
            &["--out", &self.record],
            &token,
            more,
        ];
        let (out, cpu) = self.server.client(&all.concat())?;
        let report: Option<Value> = serde_json::from_str(&out).ok();
        let ran = report.and_then(|report| ours(&report, cpu));
        ran.ok_or_else(|| failed("wirespeed net send", format!("no figures: {out}")))
    }
}

fn ours(report: &Value, cpu: f64) -> Option<Ran> {
    let directions = report["steps"][0]["network"][0]["directions"].as_array()?;
    let sum = |of: &dyn Fn(&Value) -> Option<f64>| directions.iter().map(of).sum::<Option<f64>>();
    let rate = sum(&|direction| direction["received"]["bytes_per_s"].as_f64())?;
    let count = |direction: &Value, name: &str| direction["datagrams"][name].as_f64();
    let lost = sum(&|direction| Some(count(direction, "lost").unwrap_or(0.0)))?;
    let sent = sum(&|direction| Some(count(direction, "sent").unwrap_or(0.0)))?;
    let cost = cpu * 1e9 / (rate * f64::from(SECONDS));
    Some(Ran { rate, lost: if sent > 0.0 { lost / sent } else { 0.0 }, cost })
}

/// A server of iperf3, and its address.
pub struct Theirs(Server);

impl Theirs {
    fn listen(pinned: bool) -> Result<Theirs, Problem> {
        let (before, client) = cores(pinned);
        Theirs::start(before, client, "127.0.0.1")
    }

    /// Between two namespaces.
    pub fn across(near: &str, far: &str, address: &str) -> Result<Theirs, Problem> {
        let inside = |name| ["ip", "netns", "exec", name];
        Theirs::start(&inside(far), &inside(near), address)
    }

    fn start(before: &[&str], client: &[&str], address: &str) -> Result<Theirs, Problem> {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let port = free.map_err(|e| failed("iperf3", e))?.port().to_string();
        let all = ["iperf3", "-s", "-B", address, "-p", &port];
        let process = serve(before, &all, Stdio::null())?;
        let (address, before) = (address.to_owned(), owned(client));
        Ok(Theirs(Server { process, address, port, before, tries: "50" }))
    }

    /// One test.
    pub fn run(&self, more: &[&str]) -> Result<Ran, Problem> {
        let seconds = SECONDS.to_string();
        let Server { address, port, .. } = &self.0;
        let all = ["iperf3", "-c", address, "-p", port, "-t", &seconds, "-J"];
        let (out, cpu) = self.0.client(&[&all[..], more].concat())?;
        // A refused attempt leaves a report of its own before the one that counts.
        let last = out.rfind("{\n\t\"start\"").map_or(&out[..], |at| &out[at..]);
        let report: Option<Value> = serde_json::from_str(last).ok();
        let ran = report.and_then(|report| theirs(&report, cpu));
        ran.ok_or_else(|| failed("iperf3", format!("no figures: {out}")))
    }
}

fn theirs(report: &Value, cpu: f64) -> Option<Ran> {
    let end = &report["end"];
    // Of datagrams the one sum holds what was sent and which share of it was lost.
    if let Some(percent) = end["sum"]["lost_percent"].as_f64() {
        let lost = percent / 100.0;
        let rate = end["sum"]["bits_per_second"].as_f64()? / 8.0 * (1.0 - lost);
        return Some(Ran { rate, lost, cost: cpu * 1e9 / (rate * f64::from(SECONDS)) });
    }
    let bits = |name: &str| end[name]["bits_per_second"].as_f64();
    let back = bits("sum_received_bidir_reverse").unwrap_or(0.0);
    let rate = (bits("sum_received")? + back) / 8.0;
    Some(Ran { rate, lost: 0.0, cost: cpu * 1e9 / (rate * f64::from(SECONDS)) })
}
