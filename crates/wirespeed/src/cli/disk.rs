//! `wirespeed disk`: the options of a load without a scenario file. What fio calls otherwise is understood too.

use super::spelling::{Mix, block, burst, extent, mix, parse_ratio, share, skew, time};
use super::{Recording, Results};
use clap::{Args, ValueEnum};
use std::time::Duration;
use units::{Bytes, Iops, Percent};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wirespeed disk null: --depth 32                the overhead of the generator itself
  wirespeed disk /dev/nvme0n1 --random 100       4 KiB random reads; it never writes
  wirespeed disk t.dat --create 1GiB --read 70   writes, to a file created for this purpose
  wirespeed disk t.dat --create 1g --rw randrw --rwmixread 70 --bs 8k --iodepth 32 --numjobs 4 --runtime 60
                                                 the same kind of load as fio spells it
  wirespeed disk t.dat --mix 4k/60:64k/40 --skew zipf:1.1 --total-rate '5000 IOPS' --poisson
                                                 a block mix with hot blocks, in an open loop
  wirespeed disk t.dat --create 1g --read 0 --passes 2
                                                 writes the file twice over, and ends
  wirespeed disk t.dat --create 1g --read 0 --trim 20 --flush-every 32
                                                 writes with a flush after every 32, and trims
  wirespeed disk t.dat --verify --verify-state S --read 70   … and verifies every block
  wirespeed disk /dev/sdx --read 0 --plan        writes nothing; prints the token that would allow it
  wirespeed disk 'iscsi://192.0.2.1,192.0.2.2/iqn.2026-11.example:disk/0?policy=least-queue'
                                                 a LUN by two paths

Options of a LUN's URL (?NAME=VALUE&NAME=VALUE…); each portal before the name is a path of its own:
  policy=fixed|round-robin|least-queue|active-passive   which path carries an I/O (round-robin)
  switch_after=N|SIZE        round-robin: I/Os or bytes before the next path is used (1)
  no_path_retry=TIME         how long I/O waits while no path is up (30s; 0s with one path)
  path_timeout=TIME          time without an answer after which a path is lost (10s)
  command_timeout=TIME       how long a command may take before it is aborted (30s)
  connections=N              connections of each session (1)
  header_digest, data_digest=crc32c|none; immediate_data, initial_r2t=yes|no")]
pub struct DiskArgs {
    /// A file, a block device, a LUN (`iscsi://HOST[:PORT][,HOST[:PORT]…]/NAME/LUN[?OPTIONS]`), or `null:` (completes at once)
    #[arg(required = true, value_name = "TARGET")]
    pub targets: Vec<String>,
    /// Transfer size, as in `8KiB` or `8k`
    #[arg(long, visible_alias = "bs", default_value = "4KiB", value_name = "SIZE", value_parser = block, help_heading = "Load")]
    pub block: Bytes,
    /// A block mix instead: rows SIZE/SHARE[/READ[/RANDOM]], as in `4k/60:64k/40`
    #[arg(long, visible_alias = "bssplit", value_name = "ROWS", value_parser = mix, conflicts_with = "block", help_heading = "Load")]
    pub mix: Option<Mix>,
    /// Reads and random operations in one word
    #[arg(
        long,
        visible_alias = "readwrite",
        value_name = "PATTERN",
        value_enum,
        help_heading = "Load"
    )]
    pub rw: Option<Pattern>,
    /// Share of reads among the operations [default: what --trim and --zeroes leave, or what --rw says]; the rest are writes
    #[arg(long, visible_alias = "rwmixread", value_name = "SHARE", value_parser = share, help_heading = "Load")]
    pub read: Option<Percent>,
    /// Share of trims among the operations (UNMAP, discards, punched holes)
    #[arg(long, value_name = "SHARE", value_parser = share, help_heading = "Load")]
    pub trim: Option<Percent>,
    /// Share of operations that write zeroes without their data (WRITE SAME, BLKZEROOUT)
    #[arg(long, value_name = "SHARE", value_parser = share, help_heading = "Load")]
    pub zeroes: Option<Percent>,
    /// A flush (fdatasync, SYNCHRONIZE CACHE) after every N writes of a slot
    #[arg(long, visible_aliases = ["fdatasync", "fsync"], value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000_000), help_heading = "Load")]
    pub flush_every: Option<u32>,
    /// Share of writes that wait for the medium (FUA)
    #[arg(long, value_name = "SHARE", value_parser = share, help_heading = "Load")]
    pub fua: Option<Percent>,
    /// Share of random operations; the others are sequential [default: 0%, or what --rw says]
    #[arg(long, value_name = "SHARE", value_parser = share, help_heading = "Load")]
    pub random: Option<Percent>,
    /// How random addresses are distributed: `zipf:1.1`, `pareto:0.2`, `hot:80/20` (80% of the I/Os on 20% of the blocks)
    #[arg(long, visible_alias = "random_distribution", value_name = "SKEW", value_parser = skew, help_heading = "Load")]
    pub skew: Option<String>,
    /// The part of each target that is accessed, from its start: a size, or a share such as `20%` [default: all]
    #[arg(long, value_name = "SIZE", value_parser = extent, help_heading = "Load")]
    pub working_set: Option<String>,
    /// Operations outstanding per worker; with a rate, at most [default: 1; with a rate 256]
    #[arg(long, visible_alias = "iodepth", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096), help_heading = "Load")]
    pub depth: Option<u32>,
    /// Workers (threads) per target
    #[arg(long, visible_alias = "numjobs", default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), help_heading = "Load")]
    pub workers: u32,
    /// An open loop at this rate per worker, as in `5000 IOPS` [default: a closed loop]
    #[arg(long, value_name = "IOPS", value_parser = Iops::parse, help_heading = "Load")]
    pub rate: Option<Iops>,
    /// An open loop at this rate over all workers of all targets
    #[arg(long, value_name = "IOPS", value_parser = Iops::parse, conflicts_with = "rate", help_heading = "Load")]
    pub total_rate: Option<Iops>,
    /// Operations of a rate arrive at random times (a Poisson process) instead of at equal distances
    #[arg(long, help_heading = "Load")]
    pub poisson: bool,
    /// Pause between a completion and the next operation (closed loop)
    #[arg(long, visible_alias = "thinktime", value_name = "TIME", value_parser = units::parse_duration, conflicts_with_all = ["rate", "total_rate"], help_heading = "Load")]
    pub think: Option<Duration>,
    /// Bursts of N operations with a pause after each, as in `32/5ms`
    #[arg(long, value_name = "N/PAUSE", value_parser = burst, help_heading = "Load")]
    pub burst: Option<(u32, Duration)>,
    /// Load before the measurement; a plain number is seconds [default: 1s; none where the load ends by itself]
    #[arg(long, visible_alias = "ramp_time", value_name = "TIME", value_parser = time, help_heading = "Time")]
    pub warmup: Option<Duration>,
    /// Begin to measure once the load is steady by SNIA's rule, after the warm-up and within TIME [default TIME: 60s]
    #[arg(long, value_name = "TIME", value_parser = time, num_args = 0..=1, require_equals = true, default_missing_value = "60s", help_heading = "Time")]
    pub steady: Option<Duration>,
    /// Measured time; a plain number is seconds [default: 10s; where the load ends by itself at most 1 day]
    #[arg(long, visible_alias = "runtime", value_name = "TIME", value_parser = time, help_heading = "Time")]
    pub time: Option<Duration>,
    /// End when so many bytes are read and written, by all workers of all targets together
    #[arg(long, value_name = "SIZE", value_parser = block, conflicts_with_all = ["steady", "precondition"], help_heading = "Time")]
    pub size_limit: Option<Bytes>,
    /// End when each block of the working set was used N times, by all workers of a target together; random blocks in a
    /// new order each time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000), conflicts_with_all = ["size_limit", "steady", "precondition"], help_heading = "Time")]
    pub passes: Option<u32>,
    /// As fio counts: end when each worker has read and written so many bytes
    #[arg(long = "io_size", alias = "io-size", value_name = "SIZE", value_parser = block, conflicts_with_all = ["size_limit", "passes", "steady", "precondition"], help_heading = "Time")]
    pub io_size: Option<Bytes>,
    /// As fio counts: each worker goes N times over the size of the working set; `--passes` is over all workers
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000), conflicts_with_all = ["size_limit", "passes", "io_size", "steady", "precondition"], help_heading = "Time")]
    pub loops: Option<u32>,
    /// Seed of all random choices
    #[arg(long, default_value_t = 1, help_heading = "Load")]
    pub seed: u64,
    /// Create the target file with this size if it does not exist
    #[arg(long, value_name = "SIZE", value_parser = block, help_heading = "Target")]
    pub create: Option<Bytes>,
    /// Use the page cache instead of O_DIRECT
    #[arg(long, help_heading = "Target")]
    pub buffered: bool,
    /// The token that allows writing to a target that Wirespeed did not create; `--plan` prints it (repeatable)
    #[arg(long, value_name = "TOKEN", help_heading = "Target")]
    pub write_token: Vec<String>,
    /// With the token: existing contents of the target (file systems, partitions, data) may be lost
    #[arg(long, requires = "write_token", help_heading = "Target")]
    pub overwrite: bool,
    /// A dry run: what would be read and written, and the tokens of targets that Wirespeed did not create
    #[arg(long, help_heading = "Run")]
    pub plan: bool,
    /// The I/O interface [auto: io_uring, or Linux AIO where the device makes io_uring slow, or pread]
    #[arg(long, value_enum, default_value_t = QueueChoice::Auto, help_heading = "Target")]
    pub queue: QueueChoice,
    /// Poll for completions instead of waiting for interrupts (io_uring, on a device with polled queues)
    #[arg(long, help_heading = "Target")]
    pub polled: bool,
    #[command(flatten)]
    pub data: DataArgs,
    #[command(flatten)]
    pub verification: VerifyArgs,
    #[command(flatten)]
    pub recording: Recording,
    #[command(flatten)]
    pub output: Results,
}

/// The contents of targets before the load and of writes during it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Data")]
pub struct DataArgs {
    /// Original over compressed size of what is written, from 1 to 16
    #[arg(long, default_value_t = 1.0, value_name = "RATIO", value_parser = |t: &str| parse_ratio(t, 16.0))]
    pub compress: f64,
    /// Blocks of 4 KiB over different ones among what is written, from 1 to 50
    #[arg(long, default_value_t = 1.0, value_name = "RATIO", value_parser = |t: &str| parse_ratio(t, 50.0))]
    pub dedupe: f64,
    /// Whether targets that may be written are filled first [auto: where samples show that they need it]
    #[arg(long, value_enum, default_value_t = FillChoice::Auto)]
    pub fill: FillChoice,
    /// What is done to targets before the load [snia-pts: their whole capacity is written twice, and the warm-up goes on
    /// until the load is steady, for up to 25 min]
    #[arg(long, value_enum, default_value_t = Precondition::None)]
    pub precondition: Precondition,
}

/// Verification of what is read.
#[derive(Debug, Args)]
#[command(next_help_heading = "Verification")]
pub struct VerifyArgs {
    /// Mark every block that is written, and check every block that is read
    #[arg(long)]
    pub verify: bool,
    /// Keep the expected contents of each block in FILE, so that a later run can check them: after a crash or a power cut
    #[arg(long, value_name = "FILE", requires = "verify")]
    pub verify_state: Option<String>,
    /// Require only flushed writes: after the target lost its power and this machine did not
    #[arg(long, requires = "verify_state")]
    pub verify_flushed: bool,
}

/// fio's words for reads and random operations; of the mixed ones --read gives the share of reads, 50% unless given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Pattern {
    Read,
    Write,
    Randread,
    Randwrite,
    #[value(alias = "readwrite")]
    Rw,
    Randrw,
    Trim,
    Randtrim,
}

impl DiskArgs {
    /// The shares of reads and of random operations.
    pub fn shares(&self) -> (Percent, Percent) {
        let (trim, zeroes) = self.emptied();
        let (read, random) = match self.rw {
            None => (100.0 - trim.0 - zeroes.0, 0.0),
            Some(Pattern::Trim) => (0.0, 0.0),
            Some(Pattern::Randtrim) => (0.0, 100.0),
            Some(Pattern::Read) => (100.0, 0.0),
            Some(Pattern::Write) => (0.0, 0.0),
            Some(Pattern::Randread) => (100.0, 100.0),
            Some(Pattern::Randwrite) => (0.0, 100.0),
            Some(Pattern::Rw) => (50.0, 0.0),
            Some(Pattern::Randrw) => (50.0, 100.0),
        };
        (self.read.unwrap_or(Percent(read.max(0.0))), self.random.unwrap_or(Percent(random)))
    }

    /// What `--rw` and `--read` say differently: fio takes no notice of a share where a pattern only reads or only writes.
    pub fn contradiction(&self) -> Option<String> {
        let (pattern, only) = match self.rw? {
            Pattern::Read | Pattern::Randread => ("reads only", 100.0),
            Pattern::Write | Pattern::Randwrite => ("writes only", 0.0),
            Pattern::Trim | Pattern::Randtrim => ("trims only", 0.0),
            Pattern::Rw | Pattern::Randrw => return None,
        };
        let share = self.read.filter(|share| share.0 != only)?;
        Some(format!(
            "--rw names a pattern that {pattern}, and --read {}%: leave one out, or mix by `--rw rw` or `--rw randrw`",
            share.0
        ))
    }

    /// The shares of trims and of zeroes.
    pub fn emptied(&self) -> (Percent, Percent) {
        let all = matches!(self.rw, Some(Pattern::Trim | Pattern::Randtrim));
        let trim = self.trim.unwrap_or(Percent(if all { 100.0 } else { 0.0 }));
        (trim, self.zeroes.unwrap_or(Percent(0.0)))
    }

    /// The key that ends the load, with its value.
    pub fn end(&self) -> Option<(&'static str, String)> {
        let workers = u64::from(self.workers).saturating_mul(self.targets.len() as u64);
        let bytes = |bytes: Bytes| ("amount", format!("\"{bytes}\""));
        let each = self.io_size.map(|size| Bytes(size.0.saturating_mul(workers)));
        // A worker of fio goes over all of it by itself; here they share each pass.
        let loops = self.loops.map(|loops| loops.saturating_mul(self.workers));
        let passes = self.passes.or(loops).map(|passes| ("passes", passes.to_string()));
        self.size_limit.or(each).map(bytes).or(passes)
    }

    /// Warm-up and measured time; of a load that ends by itself none, and the most that it may take.
    pub fn times(&self) -> (Duration, Duration) {
        let usual = match self.end() {
            None => (Duration::from_secs(1), Duration::from_secs(10)),
            Some(_) => (Duration::ZERO, Duration::from_secs(86_400)),
        };
        (self.warmup.unwrap_or(usual.0), self.time.unwrap_or(usual.1))
    }

    /// Operations a second of each worker in an open loop.
    pub fn worker_rate(&self) -> Option<Iops> {
        let workers = f64::from(self.workers) * self.targets.len() as f64;
        self.rate.or_else(|| self.total_rate.map(|all| Iops(all.0 / workers.max(1.0))))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FillChoice {
    Auto,
    Always,
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Precondition {
    None,
    SniaPts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum QueueChoice {
    Auto,
    #[value(name = "io_uring")]
    Uring,
    Aio,
    Pread,
}
