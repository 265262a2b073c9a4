//! Our iSCSI initiator.
//!
//! Compared with libiscsi's `iscsi-perf` on the same target of ours: 8 KiB random reads, 32 in flight, one session, a
//! volume in memory; the target has a core of its own, and the clients another. And 128 KiB reads by four sessions,
//! from our target and from `tgt`, compared with one stream of iperf3 over loopback: all ends share all cores.

use crate::PAIRS;
use crate::estimate::Estimate;
use crate::target::{Client, Outcome, SECONDS, Server, call, fill, words};
use crate::tools::Problem;
use serde_json::Value;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Stdio};

/// The least ratio of its IOPS to `iscsi-perf`'s.
const BAR: f64 = 2.0;
/// The least share of a TCP stream's throughput.
const STREAM_BAR: f64 = 0.6;
/// The least ratio of its throughput to that from `tgt`.
const TGT_BAR: f64 = 2.0;

/// Sessions of large reads: one a worker, each with so many in flight.
const SESSIONS: u32 = 4;
const DEPTH: u32 = 8;

/// 8 KiB random reads.
pub fn small(scratch: &Path, cores: usize) -> Result<(), Problem> {
    if cores < 2 {
        println!("\nskipped: (j) needs two cores, one for the target and one for its client");
        return Ok(());
    }
    let (target_core, client_core) = (cores - 2, cores - 1);
    println!(
        "\n(j) iSCSI initiators: 8 KiB random reads, 32 in flight, one session, {SECONDS} s a run; the target on core \
         {target_core}, the clients on core {client_core}\n  A: wirespeed disk\n  B: iscsi-perf"
    );
    let image = scratch.join("image");
    fill(&image)?;
    let serve = ["--portal", "127.0.0.1:0", "--volume", "ram:256MiB", "--threads", "1"];
    let server = Server::wirespeed(Some(target_core), &serve)?;
    server.write(&image)?;
    println!(
        "  pair      A IOPS      B IOPS   A/B  A CPU s/million  B CPU s/million  target with A  target with B"
    );
    let mut ratios = Vec::with_capacity(PAIRS);
    let mut costs = Vec::with_capacity(PAIRS);
    for number in 1..=PAIRS {
        let a = Client::Ours.run(&server, client_core)?;
        let b = Client::IscsiPerf.run(&server, client_core)?;
        let per = |seconds: f64, of: &Outcome| seconds * 1e6 / (of.iops * f64::from(SECONDS));
        let (cost_a, cost_b) = (per(a.client_cpu_s, &a), per(b.client_cpu_s, &b));
        println!(
            "  {number:4} {:>11} {:>11} {:5.2} {cost_a:>16.2} {cost_b:>16.2} {:>14.2} {:>14.2}",
            units::count(a.iops),
            units::count(b.iops),
            a.iops / b.iops,
            per(a.target_cpu_s, &a),
            per(b.target_cpu_s, &b),
        );
        ratios.push(a.iops / b.iops);
        costs.push(cost_a / cost_b);
    }
    judge("A/B IOPS", &ratios, Some(BAR));
    judge("A/B processor time of the client an I/O", &costs, None);
    Ok(())
}

/// 128 KiB reads.
pub fn large(scratch: &Path, cores: usize) -> Result<(), Problem> {
    println!(
        "\n(k) 128 KiB random reads over iSCSI, {SESSIONS} sessions with {DEPTH} in flight each, {SECONDS} s a run, on {cores} \
         cores\n  A: wirespeed disk on wirespeed target serve --volume ram:256MiB\n  B: one TCP stream of iperf3 over \
         loopback\n  C: wirespeed disk on tgtd, a file in memory as its backing store"
    );
    let image = scratch.join("image");
    fill(&image)?;
    let ours = Server::wirespeed(None, &["--portal", "127.0.0.1:0", "--volume", "ram:256MiB"])?;
    ours.write(&image)?;
    let theirs = Server::tgt(None, &image)?;
    let stream = Stream::listen()?;
    println!("  round      A MB/s      B MB/s      C MB/s   A/B   A/C");
    let (mut to_stream, mut to_tgt) = (Vec::with_capacity(PAIRS), Vec::with_capacity(PAIRS));
    for number in 1..=PAIRS {
        let (a, b, c) = (reads(&ours.url)?, stream.run()?, reads(&theirs.url)?);
        let shown = |rate: f64| units::count(rate / 1e6);
        println!(
            "  {number:5} {:>11} {:>11} {:>11} {:5.2} {:5.2}",
            shown(a),
            shown(b),
            shown(c),
            a / b,
            a / c
        );
        to_stream.push(a / b);
        to_tgt.push(a / c);
    }
    judge("A/B", &to_stream, Some(STREAM_BAR));
    judge("A/C", &to_tgt, Some(TGT_BAR));
    Ok(())
}

fn judge(what: &str, ratios: &[f64], bar: Option<f64>) {
    let Estimate { median, confidence, low, high } =
        Estimate::of(ratios).expect("ten rounds are enough");
    let verdict = bar.map_or_else(String::new, |bar| {
        let verdict = match () {
            () if low >= bar => "met",
            () if high < bar => "MISSED",
            () => "undecided",
        };
        format!("; at least {bar}: {verdict}")
    });
    println!(
        "  {what}: median {median:.3}, {:.1}% interval {low:.3} to {high:.3}{verdict}",
        100.0 * confidence
    );
}

/// Bytes a second that our initiator reads.
fn reads(url: &str) -> Result<f64, Problem> {
    let (workers, depth) = (SESSIONS.to_string(), DEPTH.to_string());
    let time = format!("{SECONDS}s");
    let all = [
        "disk",
        url,
        "--block",
        "128KiB",
        "--random",
        "100",
        "--workers",
        &workers,
        "--depth",
        &depth,
        "--warmup",
        "0s",
        "--time",
        &time,
        "--quiet",
        "--format",
        "json",
    ];
    let mut command = words(env!("CARGO_BIN_EXE_wirespeed"), &all);
    let (out, _) = call(&mut command)?;
    let report: Option<Value> = serde_json::from_str(&out).ok();
    let iops = report
        .and_then(|report| report["steps"][0]["groups"][0]["figures"]["read"]["iops"].as_f64());
    let lacks = || Problem::Failed {
        command: format!("{command:?}"),
        message: format!("its report has no figures: {out}"),
    };
    Ok(iops.ok_or_else(lacks)? * f64::from(128 << 10))
}

/// A server of iperf3.
struct Stream {
    server: Child,
    port: String,
}

impl Stream {
    fn listen() -> Result<Stream, Problem> {
        let failed = |e: std::io::Error| Problem::Failed {
            command: "iperf3".to_owned(),
            message: e.to_string(),
        };
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let port = free.map_err(failed)?.port().to_string();
        // It ends with this program, even if that is killed.
        let all = ["--pdeathsig", "KILL", "iperf3", "-s", "-B", "127.0.0.1", "-p", &port];
        let mut command = words("setpriv", &all);
        let server = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().map_err(failed)?;
        Ok(Stream { server, port })
    }

    /// Bytes a second that the server received.
    fn run(&self) -> Result<f64, Problem> {
        let seconds = SECONDS.to_string();
        // It takes a moment until it listens, so the shell asks again.
        let script = "for i in $(seq 50); do iperf3 \"$@\" && exit; sleep 0.1; done; exit 1";
        let all =
            ["-c", script, "bench", "-c", "127.0.0.1", "-p", &self.port, "-t", &seconds, "-J"];
        let mut command = words("bash", &all);
        let (out, _) = call(&mut command)?;
        let last = out.rfind("{\n\t\"start\"").map_or(&out[..], |at| &out[at..]);
        let report: Option<Value> = serde_json::from_str(last).ok();
        let bits =
            report.and_then(|report| report["end"]["sum_received"]["bits_per_second"].as_f64());
        let lacks = || Problem::Failed {
            command: format!("{command:?}"),
            message: format!("its report has no figures: {out}"),
        };
        Ok(bits.ok_or_else(lacks)? / 8.0)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // It may have ended already; it is waited for in any case.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
