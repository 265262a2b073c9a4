//! Wirespeed and fio in turn, on one core: what the generator itself costs, and whether both see the same disk.
//!
//! Ten pairs (A B A B …) in one run, so that whatever drifts on the machine drifts for both; each pair yields a ratio.
//! Every figure is the tool's own report. This program reads no clock.

mod estimate;
mod tools;

use estimate::Estimate;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use tools::{Outcome, Problem, Tool};

const PAIRS: usize = 10;
const FILE_SIZE: u64 = 256 << 20;

/// Two command lines that ask for the same work.
struct Comparison {
    title: &'static str,
    wirespeed: Tool,
    fio: Tool,
}

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
    let core = cores - 1;
    println!("{PAIRS} pairs each, both tools on core {core} of {cores}; A is Wirespeed, B is fio");
    for comparison in [null(core, &scratch), file(core, &scratch)?] {
        compare(&comparison)?;
    }
    Ok(())
}

/// The cost of the generator itself: I/O that completes at once, with every latency recorded.
fn null(core: usize, scratch: &Path) -> Comparison {
    Comparison {
        title: "null target, 8 KiB random reads, depth 32",
        wirespeed: Tool::wirespeed(core, scratch, "null:", 32),
        fio: Tool::fio(core, &["--ioengine=null", "--size=1g", "--iodepth=32"]),
    }
}

/// Agreement: the same file, the same system call, page cache bypassed.
fn file(core: usize, scratch: &Path) -> Result<Comparison, Problem> {
    let path = scratch.join("data.bin");
    fill(&path).map_err(|e| Problem::file(&path, e))?;
    let name = path.display().to_string();
    let filename = format!("--filename={name}");
    Ok(Comparison {
        title: "a 256 MiB file, O_DIRECT, 8 KiB random reads by pread, depth 1",
        wirespeed: Tool::wirespeed(core, scratch, &name, 1),
        fio: Tool::fio(core, &["--ioengine=psync", "--direct=1", "--size=256m", &filename]),
    })
}

/// Incompressible data, on the disk and not only in memory: reading what was never written measures nothing.
fn fill(path: &PathBuf) -> std::io::Result<()> {
    if std::fs::metadata(path).is_ok_and(|data| data.len() == FILE_SIZE) {
        return Ok(());
    }
    let mut file = std::fs::File::create(path)?;
    let mut random = clock::Rng::keyed(1, &[]);
    let mut block = vec![0; 1 << 20];
    for _ in 0..FILE_SIZE / block.len() as u64 {
        random.fill(&mut block);
        file.write_all(&block)?;
    }
    file.sync_all()
}

fn compare(comparison: &Comparison) -> Result<(), Problem> {
    let Comparison { title, wirespeed, fio } = comparison;
    println!("\n{title}\n  A: {wirespeed}\n  B: {fio}");
    println!("  pair        A IOPS        B IOPS     A/B");
    let mut pairs = Vec::with_capacity(PAIRS);
    for number in 1..=PAIRS {
        let (a, b) = (wirespeed.run()?, fio.run()?);
        let ratio = a.iops / b.iops;
        println!(
            "  {number:4} {:>13} {:>13} {ratio:7.3}",
            units::count(a.iops),
            units::count(b.iops)
        );
        pairs.push((a, b));
    }
    conclude(&pairs);
    Ok(())
}

fn conclude(pairs: &[(Outcome, Outcome)]) {
    let of = |figure: fn(&(Outcome, Outcome)) -> f64| {
        Estimate::of(&pairs.iter().map(figure).collect::<Vec<_>>()).expect("ten pairs are enough")
    };
    let ratio = of(|(a, b)| a.iops / b.iops);
    println!(
        "  medians: A {} IOPS, B {} IOPS; 99% of reads within {} (A), {} (B)",
        units::count(of(|(a, _)| a.iops).median),
        units::count(of(|(_, b)| b.iops).median),
        units::duration(nanoseconds(of(|(a, _)| a.p99_ns).median)),
        units::duration(nanoseconds(of(|(_, b)| b.p99_ns).median)),
    );
    println!(
        "  A/B: median {:.3}, {:.1}% interval {:.3} to {:.3}",
        ratio.median,
        100.0 * ratio.confidence,
        ratio.low,
        ratio.high
    );
}

fn nanoseconds(ns: f64) -> std::time::Duration {
    std::time::Duration::from_nanos(ns as u64)
}
