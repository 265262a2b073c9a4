//! Our iSCSI target and `tgt` in turn, with libiscsi's `iscsi-perf` as the client of both: 8 KiB random reads, 32 in
//! flight, from volumes in memory that hold the same data. Each target has a core of its own, and the client another.
//! Then the same with our own initiator as the client, for the targets' throughput beyond `iscsi-perf`'s limit.
//!
//! A target's cost is the kernel's account of its threads' run time. Which side was the limit follows from it: the
//! client, if the target's core idled for more than a tenth of the time.

use crate::PAIRS;
use crate::estimate::Estimate;
use crate::tools::Problem;
use std::io::{BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Seconds a run of the client lasts.
pub const SECONDS: u32 = 5;
/// Size of each volume.
const SIZE: usize = 256 << 20;
/// The share of its core that a target leaves idle when it is not the limit.
const IDLE: f64 = 0.10;
/// The least ratio of its IOPS to `tgt`'s.
const BAR: f64 = 5.0;

/// The client.
#[derive(Clone, Copy, PartialEq)]
pub enum Client {
    /// libiscsi's.
    IscsiPerf,
    /// `wirespeed disk`.
    Ours,
}

const IQN: &str = "iqn.2026-11.example.wirespeed:bench";

/// A target in a process of its own, and where its volume is.
pub struct Server {
    child: Child,
    /// Its volume.
    pub url: String,
    /// Its files in memory.
    leaves: Option<PathBuf>,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already; it is waited for in any case.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(left) = &self.leaves {
            let _ = std::fs::remove_file(left);
        }
    }
}

/// The figures of one run.
#[derive(Clone, Copy)]
pub struct Outcome {
    /// Reads a second, by the client's report.
    pub iops: f64,
    /// Seconds that the target's threads ran.
    pub target_cpu_s: f64,
    /// Seconds that the client ran.
    pub client_cpu_s: f64,
}

impl Outcome {
    /// Processor seconds of the target a million reads.
    fn cost(&self) -> f64 {
        self.target_cpu_s * 1e6 / (self.iops * f64::from(SECONDS))
    }

    fn idle(&self) -> f64 {
        (1.0 - self.target_cpu_s / f64::from(SECONDS)).max(0.0)
    }
}

/// Runs the pairs and prints the result.
pub fn report(scratch: &Path, cores: usize) -> Result<(), Problem> {
    if cores < 2 {
        println!("\nskipped: (h) needs two cores, one for the target and one for its client");
        return Ok(());
    }
    let (target_core, client_core) = (cores - 2, cores - 1);
    println!(
        "\n(h) iSCSI targets: 8 KiB random reads, 32 in flight, {SECONDS} s a run; targets on core {target_core}, \
         the client on core {client_core}\n  A: wirespeed target serve --volume ram:256MiB --threads 1\n  B: tgtd, a file in \
         memory as its backing store"
    );
    let image = scratch.join("image");
    fill(&image)?;
    let serve = ["--portal", "127.0.0.1:0", "--volume", "ram:256MiB", "--threads", "1"];
    let (ours, theirs) =
        (Server::wirespeed(Some(target_core), &serve)?, Server::tgt(Some(target_core), &image)?);
    ours.write(&image)?;
    for client in [Client::IscsiPerf, Client::Ours] {
        pairs(client, &ours, &theirs, client_core)?;
    }
    Ok(())
}

/// Ten pairs with one client.
fn pairs(client: Client, ours: &Server, theirs: &Server, core: usize) -> Result<(), Problem> {
    println!("  with {} as the client:", client.name());
    println!(
        "  pair      A IOPS      B IOPS   A/B  A CPU s/million  B CPU s/million  A core idle  B core idle"
    );
    let mut pairs = Vec::with_capacity(PAIRS);
    for number in 1..=PAIRS {
        let (a, b) = (client.run(ours, core)?, client.run(theirs, core)?);
        println!(
            "  {number:4} {:>11} {:>11} {:5.2} {:>16.2} {:>16.2} {:>11.0}% {:>11.0}%",
            units::count(a.iops),
            units::count(b.iops),
            a.iops / b.iops,
            a.cost(),
            b.cost(),
            100.0 * a.idle(),
            100.0 * b.idle(),
        );
        pairs.push((a, b));
    }
    judge(&pairs);
    Ok(())
}

fn judge(pairs: &[(Outcome, Outcome)]) {
    let estimate = |figure: &dyn Fn(&(Outcome, Outcome)) -> f64| {
        Estimate::of(&pairs.iter().map(figure).collect::<Vec<_>>()).expect("ten pairs are enough")
    };
    let ratio = estimate(&|(a, b)| a.iops / b.iops);
    let verdict = match () {
        () if ratio.low >= BAR => "met",
        () if ratio.high < BAR => "MISSED",
        () => "undecided",
    };
    println!(
        "  medians: IOPS {} and {}; CPU seconds a million reads {:.2} and {:.2}",
        units::count(estimate(&|(a, _)| a.iops).median),
        units::count(estimate(&|(_, b)| b.iops).median),
        estimate(&|(a, _)| a.cost()).median,
        estimate(&|(_, b)| b.cost()).median,
    );
    println!(
        "  A/B IOPS: median {:.3}, {:.1}% interval {:.3} to {:.3}; at least {BAR}: {verdict}",
        ratio.median,
        100.0 * ratio.confidence,
        ratio.low,
        ratio.high,
    );
    for (side, of) in [("A", 0), ("B", 1)] {
        let pick = |pair: &(Outcome, Outcome)| if of == 0 { pair.0 } else { pair.1 };
        let idle = estimate(&|pair| pick(pair).idle()).median;
        let client = estimate(&|pair| pick(pair).client_cpu_s / f64::from(SECONDS)).median;
        let limit = if idle > IDLE { "the client" } else { "the target" };
        println!(
            "  {side}: the target's core idled {:.0}%, the client's {:.0}%: the limit was {limit}",
            100.0 * idle,
            100.0 * (1.0 - client).max(0.0),
        );
    }
}

impl Client {
    fn name(self) -> &'static str {
        match self {
            Client::IscsiPerf => "iscsi-perf",
            Client::Ours => "wirespeed disk",
        }
    }

    fn words(self, url: &str) -> Vec<String> {
        let seconds = SECONDS.to_string();
        let time = format!("{seconds}s");
        let all: &[&str] = match self {
            Client::IscsiPerf => &["iscsi-perf", "-m", "32", "-b", "16", "-r", "-t", &seconds, url],
            Client::Ours => &[
                env!("CARGO_BIN_EXE_wirespeed"),
                "disk",
                url,
                "--block",
                "8KiB",
                "--random",
                "100",
                "--depth",
                "32",
                "--warmup",
                "0s",
                "--time",
                &time,
                "--quiet",
                "--format",
                "json",
            ],
        };
        all.iter().map(|word| (*word).to_owned()).collect()
    }

    /// Reads a second, from its report.
    fn iops(self, out: &str) -> Option<f64> {
        match self {
            // Progress overwrites itself; the last of it is the average of the whole run.
            Client::IscsiPerf => {
                let last = out.rsplit('\r').find_map(|line| line.strip_prefix("iops average "))?;
                last.split_whitespace().next()?.parse().ok()
            }
            Client::Ours => {
                let report: serde_json::Value = serde_json::from_str(out).ok()?;
                report["steps"][0]["groups"][0]["figures"]["read"]["iops"].as_f64()
            }
        }
    }

    /// One run, and the cost of both ends.
    pub fn run(self, server: &Server, core: usize) -> Result<Outcome, Problem> {
        let words = self.words(&server.url);
        let core = core.to_string();
        let mut command = Command::new("bash");
        command.args([
            "-c",
            "TIMEFORMAT='cpu %U %S'; time \"$@\"",
            "bench",
            "taskset",
            "-c",
            &core,
        ]);
        command.args(&words);
        let before = ran(server.child.id())?;
        let (out, err) = call(&mut command)?;
        let target_cpu_s = ran(server.child.id())? - before;
        let lacks = || Problem::Failed {
            command: words.join(" "),
            message: format!("its report has no figures: {out}"),
        };
        Ok(Outcome {
            iops: self.iops(&out).ok_or_else(lacks)?,
            target_cpu_s,
            client_cpu_s: crate::tools::cpu_seconds(&err).ok_or_else(lacks)?,
        })
    }
}

/// Seconds for which the threads of a process have run, by the scheduler's account in nanoseconds.
fn ran(pid: u32) -> Result<f64, Problem> {
    let tasks = PathBuf::from(format!("/proc/{pid}/task"));
    let failed = |e| Problem::file(&tasks, e);
    let mut total = 0.0;
    for task in std::fs::read_dir(&tasks).map_err(failed)? {
        let text = std::fs::read_to_string(task.map_err(failed)?.path().join("schedstat"))
            .map_err(failed)?;
        total +=
            text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or_default() / 1e9;
    }
    Ok(total)
}

/// An image without two equal blocks.
pub fn fill(path: &Path) -> Result<(), Problem> {
    let failed = |e| Problem::file(path, e);
    let mut file = std::io::BufWriter::new(std::fs::File::create(path).map_err(failed)?);
    for word in 0..(SIZE / 8) as u64 {
        file.write_all(&word.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()).map_err(failed)?;
    }
    file.flush().map_err(failed)
}

impl Server {
    /// `wirespeed target serve` with these arguments, on one core or on all of them.
    pub fn wirespeed(core: Option<usize>, serve: &[&str]) -> Result<Server, Problem> {
        let binary = env!("CARGO_BIN_EXE_wirespeed");
        let cores = core.map(|core| core.to_string());
        let pinned: Vec<&str> = cores.iter().flat_map(|core| ["taskset", "-c", core]).collect();
        // It ends with this program, even if that is killed.
        let all = [
            &["setpriv", "--pdeathsig", "KILL"][..],
            &pinned,
            &[binary, "target", "serve", "--iqn", IQN, "--format", "json", "--quiet"],
            serve,
        ]
        .concat();
        let mut command = words(all[0], &all[1..]);
        let failed = |message: String| Problem::Failed { command: all.join(" "), message };
        let mut child =
            command.stdout(Stdio::piped()).spawn().map_err(|e| failed(e.to_string()))?;
        let stdout = child.stdout.take().expect("it is a pipe");
        let mut server = Server { child, url: String::new(), leaves: None };
        let mut told = serde_json::Deserializer::from_reader(BufReader::new(stdout))
            .into_iter::<serde_json::Value>();
        let told = told
            .next()
            .and_then(Result::ok)
            .ok_or_else(|| failed("it printed no URL".to_owned()))?;
        server.url = told["luns"][0]["urls"][0].as_str().unwrap_or_default().to_owned();
        Ok(server)
    }

    /// Writes the image to its volume.
    pub fn write(&self, image: &Path) -> Result<(), Problem> {
        let convert = ["convert", "-n", "-f", "raw", "-O", "raw", &shown(image), &self.url];
        call(&mut words("qemu-img", &convert)).map(drop)
    }

    /// `tgtd` with a copy of the image in memory, on one core or on all of them.
    pub fn tgt(core: Option<usize>, image: &Path) -> Result<Server, Problem> {
        let backing =
            PathBuf::from("/dev/shm").join(format!("wirespeed-bench-{}", std::process::id()));
        std::fs::copy(image, &backing).map_err(|e| Problem::file(&backing, e))?;
        let listener = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr());
        let port = listener.map_err(|e| Problem::file(Path::new("127.0.0.1:0"), e))?.port();
        // The control port is a number in the name of a socket.
        let control = std::process::id().to_string();
        let portal = format!("portal=127.0.0.1:{port}");
        let cores = core.map(|core| core.to_string());
        let pinned: Vec<&str> = cores.iter().flat_map(|core| ["taskset", "-c", core]).collect();
        // It ends with this program, even if that is killed.
        let daemon = ["tgtd", "-f", "--iscsi", &portal, "-C", &control];
        let all = [&["--pdeathsig", "KILL"][..], &pinned, &daemon].concat();
        let mut command = words("setpriv", &all);
        let failed = |e: std::io::Error| Problem::Failed {
            command: "tgtd".to_owned(),
            message: e.to_string(),
        };
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().map_err(failed)?;
        let url = format!("iscsi://127.0.0.1:{port}/{IQN}/1");
        let server = Server { child, url, leaves: Some(backing.clone()) };
        let admin = |more: &[&str]| {
            // It takes a moment until it listens, so the shell asks again.
            let script = "for i in $(seq 50); do tgtadm \"$@\" && exit; sleep 0.1; done; exit 1";
            let all = [&["-c", script, "tgtadm", "-C", &control, "--lld", "iscsi"], more].concat();
            call(&mut words("bash", &all))
        };
        admin(&["--mode", "target", "--op", "new", "--tid", "1", "-T", IQN])?;
        admin(&[
            "--mode",
            "logicalunit",
            "--op",
            "new",
            "--tid",
            "1",
            "--lun",
            "1",
            "-b",
            &shown(&backing),
        ])?;
        admin(&["--mode", "target", "--op", "bind", "--tid", "1", "-I", "ALL"])?;
        Ok(server)
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// A command with its arguments.
pub fn words(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Runs a command that must succeed; what it wrote to both streams.
pub fn call(command: &mut Command) -> Result<(String, String), Problem> {
    let shown = format!("{command:?}");
    let failed = |message: String| Problem::Failed { command: shown, message };
    let output = match command.output() {
        Ok(output) => output,
        Err(e) => return Err(failed(e.to_string())),
    };
    let [out, err] =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    match output.status.success() {
        true => Ok((out, err)),
        false => Err(failed(format!("{}; {}", output.status, err.trim()))),
    }
}
