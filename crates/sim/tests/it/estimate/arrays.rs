//! The estimator against the event engine, on labs with an array: RAID groups, caches and paths.

use sim::Ps;
use sim::engine::Simulation;
use sim::estimate::estimate;
use sim::lab::compile;
use sim::plant::Plant;

/// Disks that serve in turn, and disks that reorder; hosts and paths that do not limit.
const PARTS: &str = r#"
[scenario]
title = "An array"
[[part]]
name = "box"
kind = "array"
figures = [
  { name = "latency", value = "1 us", source = "t", kind = "assumed" },
  { name = "port_rate", value = "64gfc", source = "t", kind = "assumed" },
  { name = "controllers", value = "1", source = "t", kind = "assumed" },
  { name = "controller_time_per_io", value = "1 us", source = "t", kind = "assumed" },
  CACHE
]
[[part]]
name = "plain"
kind = "disk"
figures = [
  { name = "seek_mean", value = "4 ms", source = "t", kind = "assumed" },
  { name = "rotation_half", value = "2 ms", source = "t", kind = "assumed" },
  { name = "rate_outer", value = "200 MB/s", source = "t", kind = "assumed" },
  { name = "rate_inner", value = "100 MB/s", source = "t", kind = "assumed" },
  { name = "size", value = "450 GB", source = "t", kind = "assumed" },
  { name = "queue", value = "1", source = "t", kind = "assumed" },
]
[[part]]
name = "sorts"
like = "plain"
figures = [{ name = "queue", value = "32", source = "t", kind = "assumed" }]
[[part]]
name = "vscsi"
kind = "virtual-scsi"
figures = [
  { name = "disk_queue", value = "4096", source = "t", kind = "assumed" },
  { name = "adapter_queue", value = "4096", source = "t", kind = "assumed" },
  { name = "cpu_per_io", value = "1 us", source = "t", kind = "assumed" },
]
[[part]]
name = "fast"
kind = "hba"
figures = [
  { name = "port_rate", value = "64gfc", source = "t", kind = "assumed" },
  { name = "lun_queue", value = "4096", source = "t", kind = "assumed" },
]
[[part]]
name = "hyp"
kind = "hypervisor"
figures = [
  { name = "cpu_per_io", value = "1 us", source = "t", kind = "assumed" },
  { name = "io_cores", value = "16", source = "t", kind = "assumed" },
]
[[array]]
name = "a"
part = "box"
[[switch]]
name = "fabric"
part = "sanbox-5802v"
[[host]]
name = "esx"
hypervisor = "hyp"
adapters = [{ name = "hba", part = "fast" }]
"#;

/// A lab whose VMs are on one volume.
#[derive(Default)]
struct Bench<'a> {
    /// Keys of the volume, after a size of 100 GB unless they give one.
    volume: &'a str,
    /// The cache of the array, if it has one.
    cache: &'a str,
    /// VMs, each with the load.
    vms: usize,
    work: &'a str,
    /// What a second VM does instead, if there is one.
    second: &'a str,
    /// Simulated seconds before and while it is measured.
    span: (u64, u64),
}

/// I/Os a second and mean seconds from due to end.
struct Seen {
    iops: f64,
    latency: f64,
}

/// The first step of a scenario.
pub fn plant_of(text: String) -> Plant {
    let source = scenario::Source { text, ..scenario::Source::default() };
    let scenario = scenario::load(&source).unwrap_or_else(|wrong| panic!("{wrong}"));
    let topology = scenario.topology().unwrap_or_else(|wrong| panic!("{wrong}"));
    compile(&scenario, &topology, &scenario.steps()[0]).unwrap_or_else(|wrong| panic!("{wrong}"))
}

impl Bench<'_> {
    fn plant(&self) -> Plant {
        let cache = match self.cache {
            "" => String::new(),
            size => format!(
                "{{ name = \"cache\", value = \"{size}\", source = \"t\", kind = \"assumed\" }},\n  \
                 {{ name = \"cache_hit_time\", value = \"10 us\", source = \"t\", kind = \"assumed\" }},"
            ),
        };
        let size = if self.volume.contains("size = ") { "" } else { "size = \"100 GB\"\n" };
        let text = format!(
            "{}[[volume]]\nname = \"v\"\narray = \"a\"\n{size}{}\n[[vm]]\nname = \"vm{{1..{}}}\"\nhost = \"esx\"\n\
             vcpus = 8\nscsi = [\"vscsi\"]\ndisks = [{{ lun = \"a/v\" }}]\n[workload.w]\n{}\n[plan]\nworkload = \"w\"\n\
             on = \"vm*\"\nmeasure = \"1s\"\n",
            PARTS.replace("CACHE", &cache),
            self.volume,
            self.vms.max(1),
            self.work
        );
        let text = match self.second {
            "" => text,
            second => text.replace(
                "[plan]\nworkload = \"w\"\non = \"vm*\"",
                &format!(
                    "[workload.s]\n{second}\n[plan]\nload = [{{ workload = \"w\", on = \"vm1\" }}, {{ workload = \"s\", on = \"vm2\" }}]"
                ),
            ),
        };
        plant_of(text)
    }

    /// Estimated, then simulated.
    fn both(&self) -> [Seen; 2] {
        let plant = self.plant();
        let found = estimate(&plant);
        let (mut ops, mut time) = (0.0, 0.0);
        for issuer in &found.issuers {
            let of: f64 = issuer.flows.iter().map(|flow| flow.ops).sum();
            ops += of;
            time += of * issuer.response.unwrap_or(issuer.service);
        }
        let mut simulation = Simulation::new(&plant.network, 5).expect("a simulation");
        let (warmup, measured) = self.span;
        simulation.run_until(Ps::secs(warmup)).expect("no halt");
        let before = simulation.snapshot();
        simulation.run_until(Ps::secs(warmup + measured)).expect("no halt");
        let counts = simulation.snapshot().since(&before);
        let ended = counts.classes.iter().map(|class| class.tally.departures).sum::<u64>() as f64;
        let responded: u128 = counts.classes.iter().map(|class| class.responded).sum();
        let latency = responded as f64 * 1e-12 / ended;
        let simulated = Seen { iops: ended / measured as f64, latency };
        [Seen { iops: found.iops, latency: time / ops }, simulated]
    }

    /// The mean time of an open load is within a share of what is simulated.
    #[track_caller]
    fn takes(&self, within: f64) {
        let [ours, truth] = self.both();
        let off = ours.latency / truth.latency - 1.0;
        let text = format!(
            "{} {}: {:.3} ms of {:.3}, {:+.1}%",
            self.volume,
            self.work,
            ours.latency * 1e3,
            truth.latency * 1e3,
            off * 100.0
        );
        println!("{text}");
        assert!(off.abs() <= within, "{text}");
    }

    /// A closed load does as many I/Os a second as are simulated, within a share.
    #[track_caller]
    fn carries(&self, within: f64) {
        let [ours, truth] = self.both();
        let off = ours.iops / truth.iops - 1.0;
        let (found, expected) = (ours.iops, truth.iops);
        let text = format!(
            "{} {}: {found:.1} of {expected:.1} a second, {:+.1}%",
            self.volume,
            self.work,
            off * 100.0
        );
        println!("{text}");
        assert!(off.abs() <= within, "{text}");
    }
}

/// Open loads whose reads need all disks of a group: queues that get the same arrivals differ as far as services do.
#[test]
fn open_reads_of_whole_stripes_wait_for_the_longest_queue() {
    for (disks, rate) in [(2, 142), (4, 121), (8, 79), (8, 121), (8, 142), (16, 134)] {
        let volume = format!("media = \"plain\"\nraid = \"raid-0\"\ndisks = {disks}");
        let block = 64 * disks;
        let work = format!(
            "block = \"{block}KiB\"\nalign = \"{block}KiB\"\nread = 100\nrandom = 100\nrate = \"{rate} IOPS\"\n\
             arrivals = \"poisson\"\nlimit = 4096"
        );
        let bench = Bench { volume: &volume, work: &work, span: (20, 4000), ..Bench::default() };
        bench.takes(0.06);
    }
}

/// Mirrors of disks that reorder: the longer a queue, the faster it is served, and a write waits for the longer of two.
#[test]
fn open_loads_on_disks_that_reorder() {
    for (volume, block, read, rate, within) in [
        ("raid = \"none\"\ndisks = 1", 4, 100, 150, 0.03),
        ("raid = \"none\"\ndisks = 1", 4, 100, 300, 0.05),
        ("raid = \"raid-0\"\ndisks = 4", 64, 100, 240, 0.03),
        ("raid = \"raid-0\"\ndisks = 8", 4, 100, 2000, 0.03),
        ("raid = \"raid-10\"\ndisks = 8", 4, 70, 1300, 0.08),
        ("raid = \"raid-10\"\ndisks = 8", 4, 0, 1000, 0.1),
    ] {
        let volume = format!("media = \"sorts\"\n{volume}");
        let work = format!(
            "block = \"{block}KiB\"\nread = {read}\nrandom = 100\nrate = \"{rate} IOPS\"\narrivals = \"poisson\"\n\
             limit = 4096"
        );
        let bench = Bench { volume: &volume, work: &work, span: (20, 2000), ..Bench::default() };
        bench.takes(within);
    }
}

/// Where several parts of an I/O meet queues that sort, these vary less than others do, and disks that are always used together
/// have queues that are long together.
#[test]
fn open_loads_on_several_disks_that_reorder() {
    for (raid, disks, block, read, rate) in [
        ("raid-0", 8, 512, 100, 150),
        ("raid-0", 8, 512, 100, 210),
        ("raid-0", 8, 256, 100, 250),
        ("raid-5", 8, 4, 50, 500),
        ("raid-5", 8, 4, 50, 700),
        ("raid-10", 8, 4, 0, 1300),
    ] {
        let volume = format!("media = \"sorts\"\nraid = \"{raid}\"\ndisks = {disks}");
        let work = format!(
            "block = \"{block}KiB\"\nalign = \"{block}KiB\"\nread = {read}\nrandom = 100\nrate = \"{rate} IOPS\"\n\
             arrivals = \"poisson\"\nlimit = 4096"
        );
        let bench = Bench { volume: &volume, work: &work, span: (20, 1000), ..Bench::default() };
        bench.takes(0.09);
    }
}

/// As many outstanding as there are disks, and some more.
#[test]
fn closed_loads_on_disks_that_reorder() {
    for (raid, disks, read, depth) in [
        ("raid-0", 4, 100, 8),
        ("raid-0", 8, 100, 16),
        ("raid-0", 8, 100, 64),
        ("raid-10", 4, 70, 8),
        ("raid-10", 8, 0, 8),
        ("raid-10", 8, 50, 32),
    ] {
        let volume = format!("media = \"sorts\"\nraid = \"{raid}\"\ndisks = {disks}");
        let work = format!("block = \"4KiB\"\nread = {read}\nrandom = 100\ndepth = {depth}");
        let bench = Bench { volume: &volume, work: &work, span: (20, 1000), ..Bench::default() };
        bench.carries(0.08);
    }
}

/// What fits into the room of a write cache is written over and over at its speed, also by so few that their waits do not fill
/// it; of what does not fit the disks limit.
#[test]
fn one_write_at_a_time_fills_a_cache() {
    for (set, read, seconds) in [("100 MB", 0, 12), ("100 MB", 50, 12), ("2 GB", 0, 30)] {
        let work = format!(
            "block = \"4KiB\"\nread = {read}\nrandom = 100\ndepth = 1\nworking_set = \"{set}\""
        );
        let volume = "media = \"sorts\"\nraid = \"raid-0\"\ndisks = 8";
        let span = (seconds, seconds / 3);
        let bench = Bench { volume, cache: "200 MB", work: &work, span, ..Bench::default() };
        bench.carries(0.05);
    }
}

/// Several VMs whose clocks give an I/O each in turn: together they are as even as one.
#[test]
fn clocks_in_turn_are_one() {
    for (vms, media, rate) in
        [(3, "sorts", 16), (3, "plain", 40), (8, "plain", 15), (5, "plain", 31)]
    {
        let volume = format!("media = \"{media}\"\nraid = \"none\"\ndisks = 1");
        let work = format!(
            "block = \"4KiB\"\nread = 100\nrandom = 100\nrate = \"{rate} IOPS\"\narrivals = \"fixed\""
        );
        let bench =
            Bench { volume: &volume, vms, work: &work, span: (20, 2000), ..Bench::default() };
        bench.takes(0.1);
    }
}

/// Disks that follow one another: the last, which the working set needs in part, has less to do.
#[test]
fn the_last_of_several_disks_in_a_row_is_used_in_part() {
    for (size, depth) in [(500, 4), (500, 64), (675, 16), (1500, 16)] {
        let volume = format!("media = \"plain\"\nraid = \"none\"\ndisks = 4\nsize = \"{size} GB\"");
        let work = format!("block = \"4KiB\"\nread = 100\nrandom = 100\ndepth = {depth}");
        let bench = Bench { volume: &volume, work: &work, span: (20, 1000), ..Bench::default() };
        bench.carries(0.05);
    }
}

/// Beside many small reads those of whole stripes find queues that differ.
#[test]
fn open_reads_of_whole_stripes_among_small_ones() {
    let open = |block: &str, rate: u32| {
        format!(
            "block = \"{block}\"\nalign = \"{block}\"\nread = 100\nrandom = 100\nrate = \"{rate} IOPS\"\n\
             arrivals = \"poisson\"\nlimit = 4096"
        )
    };
    let (work, second) = (open("4KiB", 500), open("512KiB", 60));
    let volume = "media = \"plain\"\nraid = \"raid-0\"\ndisks = 8";
    let span = (20, 4000);
    Bench { volume, vms: 2, work: &work, second: &second, span, ..Bench::default() }.takes(0.06);
}

/// Reads before the disks that destage what is written beside them: the destages, which take longer, are not within the limit
/// of the LUN, and whatever that is, an answer that does not wait for a disk comes at once.
#[test]
fn reads_beside_destages_wait_before_no_limit_that_is_wide() {
    for (read, queue) in [(50, 32), (50, 64), (0, 32), (0, 100), (30, 16)] {
        let lab = format!(
            "[scenario]\ntitle = \"t\"\n[[array]]\nname = \"a\"\ncache = \"8GB\"\n[[volume]]\nname = \"v\"\narray = \"a\"\n\
             raid = \"raid-10\"\ndisks = 8\nmedia = \"disk\"\nsize = \"50GB\"\n[[host]]\nname = \"h\"\n\
             adapters = [{{ name = \"hba\", part = \"qle2560\" }}]\ndisks = [{{ lun = \"a/v\", queue = {queue} }}]\n\
             [workload.w]\nblock = \"4KiB\"\nrandom = 100\nread = {read}\nrate = 500\narrivals = \"poisson\"\n\
             [plan]\nworkload = \"w\"\non = \"h\"\nmeasure = \"1s\"\n"
        );
        let found = estimate(&plant_of(lab));
        let flows = found.issuers[0].flows;
        let mean = |of: usize| flows[of].time / flows[of].ops.max(1.0);
        // A look-up of 0.1 ms, the wire and the array; a read that misses seeks and turns, and waits for some of these.
        assert!(mean(1) < 0.2e-3, "{read}% reads, queue {queue}: a write takes {}", mean(1));
        assert!(mean(0) < 8e-3, "{read}% reads, queue {queue}: a read takes {}", mean(0));
    }
}

/// Of volumes that are written in different ways and share the room for dirty data the reader is told; not of like ones.
#[test]
fn unlike_volumes_behind_one_write_cache_are_told_of() {
    let told = |second: &str| {
        let lab = format!(
            "[scenario]\ntitle = \"t\"\n[[array]]\nname = \"a\"\ncache = \"8GB\"\n[[volume]]\nname = \"v{{1..2}}\"\narray = \"a\"\n\
             raid = \"raid-10\"\ndisks = 8\nmedia = \"disk\"\nsize = \"50GB\"\n[[host]]\nname = \"h{{1..2}}\"\n\
             adapters = [{{ name = \"hba\", part = \"qle2560\" }}]\ndisks = [{{ lun = \"a/v{{1..2}}\" }}]\n[[switch]]\nname = \"s\"\n\
             [workload.w]\nblock = \"4KiB\"\nrandom = 100\nread = 50\nrate = 500\n[workload.s]\n{second}\n[plan]\n\
             load = [{{ workload = \"w\", on = \"h1\" }}, {{ workload = \"s\", on = \"h2\" }}]\nmeasure = \"1s\"\n"
        );
        plant_of(lab)
            .notes
            .iter()
            .any(|note| note.text.contains("all dirty data is taken to be of one age, so"))
    };
    assert!(told("block = \"4KiB\"\nrandom = 100\nread = 50\nrate = 100\nworking_set = \"1GB\""));
    assert!(!told("block = \"4KiB\"\nrandom = 100\nread = 50\nrate = 500"));
    assert!(!told("block = \"4KiB\"\nrandom = 100\nread = 100\nrate = 100"));
}
