//! Wirespeed and fio in turn, on one core: the generator's overhead, the speed of each on a device in memory, the cost
//! of an I/O at a fixed rate, and whether both see the same device. Then our iSCSI target and tgt the same way, and our
//! iSCSI initiator with libiscsi's and with plain TCP. Then network streams and iperf3's.
//!
//! Ten pairs (A B A B …) a comparison in one run, so that drift of the machine affects both; each pair yields a ratio.
//! Every figure is the tool's own report, but for processor time, which is the kernel's. This program reads no clock.
//! Arguments choose comparisons by their letters; without any, all are made.

mod compare;
mod estimate;
mod initiator;
mod pacing;
mod shaped;
mod stamping;
mod streams;
mod target;
mod throttle;
mod tools;
mod zram;

use compare::{Bar, Comparison, Figure, Must, compare};
use estimate::Estimate;
use std::path::{Path, PathBuf};
use throttle::Throttle;
use tools::{Problem, SHORT, STEADY, Times, Tool};
use zram::Zram;

const PAIRS: usize = 10;

/// Options that make fio work as Wirespeed does: files and buffers registered, batches as large.
const TUNED: [&str; 5] = [
    "--registerfiles",
    "--fixedbufs",
    "--iodepth_batch_submit=32",
    "--iodepth_batch_complete_min=1",
    "--iodepth_batch_complete_max=32",
];

fn main() -> std::process::ExitCode {
    match run() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("bench: {problem}");
            std::process::ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Problem> {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("peers");
    std::fs::create_dir_all(&scratch).map_err(|e| Problem::file(&scratch, e))?;
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let bench = Bench { core: cores - 1, scratch, chosen: letters() };
    println!(
        "{PAIRS} pairs each, both tools on core {} of {cores}; A is Wirespeed, B is fio",
        bench.core
    );
    if bench.wants('h') {
        target::report(&bench.scratch, cores)?;
    }
    if bench.wants('i') {
        pacing::report(&bench.scratch)?;
    }
    if bench.wants('j') {
        initiator::small(&bench.scratch, cores)?;
    }
    if bench.wants('k') {
        initiator::large(&bench.scratch, cores)?;
    }
    streams::report(&bench.scratch, cores, |letter| bench.wants(letter))?;
    if bench.wants('r') {
        shaped::report(&bench.scratch)?;
    }
    if bench.wants('a') {
        compare(&bench.null())?;
    }
    if "bcdefg".chars().any(|letter| bench.wants(letter)) {
        match Zram::new()? {
            Some(zram) => bench.on(&zram)?,
            None => {
                println!("\nskipped: (b) to (f) need root and a kernel with zram");
                stamping::report(None)?;
            }
        }
    }
    Ok(())
}

/// The letters given as arguments; `cargo bench` adds options of its own.
fn letters() -> Vec<char> {
    let words = std::env::args().skip(1).filter(|word| !word.starts_with('-'));
    words.flat_map(|word| word.chars().collect::<Vec<_>>()).collect()
}

struct Bench {
    core: usize,
    scratch: PathBuf,
    chosen: Vec<char>,
}

impl Bench {
    fn wants(&self, letter: char) -> bool {
        self.chosen.is_empty() || self.chosen.contains(&letter)
    }

    /// The cost of the generator itself: I/O that completes at once, with every latency recorded.
    fn null(&self) -> Comparison {
        Comparison {
            title: "(a) null target, 8 KiB random reads, depth 32".to_owned(),
            wirespeed: Tool::wirespeed(
                self.core,
                &self.scratch,
                "null:",
                SHORT,
                &["--depth", "32"],
            ),
            fio: Tool::fio(self.core, SHORT, &["--ioengine=null", "--size=1g", "--iodepth=32"]),
            bars: vec![Bar { figure: Figure::Iops, must: Must::BeAtLeast(3.0) }],
        }
    }

    fn on(&self, zram: &Zram) -> Result<(), Problem> {
        if self.wants('b') {
            self.depth_32(zram)?;
        }
        if self.wants('c') {
            let title = "(c) zram, 8 KiB random reads, depth 1, fio's io_uring";
            let bar = Bar { figure: Figure::Iops, must: Must::BeAtLeast(1.3) };
            compare(&self.pair(
                zram,
                title,
                SHORT,
                &["--depth", "1"],
                &["--iodepth=1"],
                vec![bar],
            ))?;
        }
        if self.wants('d') {
            let title = "(d) zram, 8 KiB random reads at a fixed 50,000 IOPS";
            let bar = Bar { figure: Figure::CpuPerIo, must: Must::BeAtMost(0.7) };
            compare(&self.paced(zram, title, 50_000, vec![bar]))?;
        }
        if self.wants('e') {
            self.agreement(zram)?;
        }
        if self.wants('f') {
            self.open_loop(zram)?;
        }
        if self.wants('g') {
            stamping::report(Some(&zram.path))?;
        }
        Ok(())
    }

    fn depth_32(&self, zram: &Zram) -> Result<(), Problem> {
        let at_least = |bar| vec![Bar { figure: Figure::Iops, must: Must::BeAtLeast(bar) }];
        let depth = ["--iodepth=32"];
        let tuned = [&depth[..], &TUNED].concat();
        let title = "(b) zram, 8 KiB random reads, depth 32, fio's io_uring";
        let defaults = format!("{title} at its defaults");
        compare(&self.pair(zram, &defaults, SHORT, &["--depth", "32"], &depth, at_least(2.0)))?;
        let as_ours = format!("{title} with registered files, fixed buffers and our batches");
        compare(&self.pair(zram, &as_ours, SHORT, &["--depth", "32"], &tuned, at_least(1.2)))?;
        let title = "(b) for the reader: both by io_uring, fio tuned";
        let ours = ["--depth", "32", "--queue", "io_uring"];
        compare(&self.pair(zram, title, SHORT, &ours, &tuned, Vec::new()))?;
        let mut comparison = self.pair(zram, "", SHORT, &["--depth", "32"], &[], Vec::new());
        comparison.title = "(b) for the reader: fio's libaio with our batches".to_owned();
        comparison.fio = self.fio(zram, "libaio", SHORT, &[&depth[..], &TUNED[2..]].concat());
        compare(&comparison)
    }

    /// A device with a known rate limit: both must report it.
    fn agreement(&self, zram: &Zram) -> Result<(), Problem> {
        let device = zram.device_number()?;
        for iops in [5_000, 50_000] {
            let Some(throttle) = Throttle::new(&device, iops)? else {
                println!("\nskipped: (e) needs control groups with a block controller");
                return Ok(());
            };
            let title = format!(
                "(e) zram throttled to {} IOPS by the block layer",
                units::count(iops.into())
            );
            let bars = vec![Bar { figure: Figure::Iops, must: Must::Agree(0.02) }];
            let Comparison { title, wirespeed, fio, bars } =
                self.pair(zram, &title, STEADY, &["--depth", "32"], &["--iodepth=32"], bars);
            let (wirespeed, fio) =
                (wirespeed.inside(&throttle.procs()), fio.inside(&throttle.procs()));
            compare(&Comparison { title, wirespeed, fio, bars })?;
        }
        Ok(())
    }

    /// At shares of fio's peak rate, which is measured first.
    fn open_loop(&self, zram: &Zram) -> Result<(), Problem> {
        let tuned = [&["--iodepth=32"][..], &TUNED].concat();
        let most = self.fio(zram, "io_uring", SHORT, &tuned);
        let runs = (0..PAIRS).map(|_| Ok(most.run()?.iops)).collect::<Result<Vec<_>, Problem>>()?;
        let most = Estimate::of(&runs).expect("ten runs are enough").median;
        println!("\nfio's most on this device, tuned: {} IOPS (median)", units::count(most));
        for percent in [50, 80] {
            let rate = (most * f64::from(percent) / 100.0 / 1000.0).round() as u32 * 1000;
            let title = format!(
                "(f) open loop at {percent}% of fio's most: {} IOPS; latency from submission",
                units::count(rate.into())
            );
            let bars = [Figure::P50, Figure::P99]
                .map(|figure| Bar { figure, must: Must::BeAtMost(1.0) })
                .into();
            compare(&self.paced(zram, &title, rate, bars))?;
        }
        Ok(())
    }

    /// Both at a fixed rate, with up to 32 in flight.
    fn paced(&self, zram: &Zram, title: &str, iops: u32, bars: Vec<Bar>) -> Comparison {
        let (ours, theirs) = (format!("{iops} IOPS"), format!("--rate_iops={iops}"));
        let ours = ["--rate", &ours, "--depth", "32"];
        self.pair(zram, title, STEADY, &ours, &["--iodepth=32", &theirs], bars)
    }

    fn pair(
        &self,
        zram: &Zram,
        title: &str,
        times: Times,
        ours: &[&str],
        theirs: &[&str],
        bars: Vec<Bar>,
    ) -> Comparison {
        let target = zram.path.display().to_string();
        Comparison {
            title: title.to_owned(),
            wirespeed: Tool::wirespeed(self.core, &self.scratch, &target, times, ours),
            fio: self.fio(zram, "io_uring", times, theirs),
            bars,
        }
    }

    fn fio(&self, zram: &Zram, engine: &str, times: Times, more: &[&str]) -> Tool {
        let engine = format!("--ioengine={engine}");
        let filename = format!("--filename={}", zram.path.display());
        let common = [&engine[..], "--direct=1", "--size=256m", &filename];
        Tool::fio(self.core, times, &[&common[..], more].concat())
    }
}
