//! Reads that no device answers are noticed, with the evidence; and reads that one answers bring no caution.

use crate::prelude::*;
use crate::program::support::Bench;
use std::io::Write;

/// What a review says where a cache, memory or nothing at all may have answered.
const CAUTIONS: [&str; 5] = [
    "page cache",
    "file in memory",
    "cached-reads",
    "holds nothing",
    "these figures are the cache's",
];

/// A file of data like no other, on its disk and not in the page cache.
fn cold(path: &Path, size: usize) {
    let mut data = vec![0; size];
    clock::Rng::keyed(7, &[]).fill(&mut data);
    let mut file = File::create(path).expect("a scratch file");
    file.write_all(&data).expect("room");
    file.sync_all().expect("a disk");
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).expect("advice");
}

fn read(bench: &Bench, file: &str, more: &[&str]) -> String {
    let args = ["disk", file, "--block", "64KiB", "--random", "100", "--depth", "8"];
    let time = ["--warmup", "0s", "--time", "1s", "--quiet"];
    bench.expect(0, &[&args[..], &time, more].concat()).stdout
}

#[test]
fn a_cold_read_past_the_page_cache_brings_no_caution() {
    let bench = Bench::new("");
    cold(&bench.path("data"), 64 << 20);
    let probe = bench.run(&["disk", "data", "--plan"]).stdout;
    if probe.contains("refuses direct I/O") || probe.contains("tmpfs") {
        return println!("skipped: a scratch directory on a disk with direct I/O");
    }
    let text = read(&bench, "data", &[]);
    for caution in CAUTIONS {
        assert!(!text.contains(caution), "{caution}: {text}");
    }
}

#[test]
fn a_file_that_was_just_read_is_answered_by_the_page_cache() {
    let bench = Bench::new("");
    cold(&bench.path("data"), 32 << 20);
    assert_eq!(fs::read(bench.path("data")).expect("it is there").len(), 32 << 20);
    let text = read(&bench, "data", &["--buffered"]);
    assert!(text.contains("page cache"), "{text}");
    let first = text.lines().find(|line| line.starts_with("! "));
    assert!(
        first.is_some_and(|line| line.contains("page cache") || line.contains("memory")),
        "{text}"
    );
}

#[test]
fn a_file_in_memory_is_no_disk() {
    let memory = Path::new("/dev/shm");
    let mounts = fs::read_to_string("/proc/self/mounts").expect("Linux has it");
    if !mounts.lines().any(|line| line.contains(" /dev/shm tmpfs ")) {
        return println!("skipped: /dev/shm as tmpfs");
    }
    let bench = Bench::new("");
    let scratch = tempfile::tempdir_in(memory).expect("a scratch directory");
    let path = scratch.path().join("data");
    cold(&path, 16 << 20);
    let file = path.to_str().expect("a path");
    let text = read(&bench, file, &["--buffered"]);
    assert!(
        text.lines().any(|line| line.starts_with("! ") && line.contains("file in memory (tmpfs)")),
        "{text}"
    );
}

#[test]
fn holes_are_not_read_from_a_disk() {
    let bench = Bench::new("");
    let file = File::create(bench.path("holes")).expect("a scratch file");
    file.set_len(64 << 20).expect("a sparse file");
    let text = read(&bench, "holes", &["--buffered"]);
    assert!(text.contains("holds nothing"), "{text}");
}

/// An array of one disk with a cache of 1 GB, in front of a load that touches `set`.
fn lab(set: &str) -> String {
    format!(
        "[scenario]\ntitle = \"a cache\"\n[[array]]\nname = \"a\"\ncache = \"1 GB\"\nports = 1\n\
         [[volume]]\nname = \"v\"\narray = \"a\"\nsize = \"100 GB\"\ndisks = 1\nmedia = \"disk\"\n\
         [[host]]\nname = \"h\"\nadapters = [{{ name = \"hba\", part = \"qle2560\" }}]\n\
         [[vm]]\nname = \"vm1\"\nhost = \"h\"\ndisks = [{{ lun = \"a/v\", adapter = \"hba\" }}]\n\
         [workload.w]\nblock = \"8KiB\"\nread = \"100%\"\nrandom = \"100%\"\ndepth = 4\nworking_set = \"{set}\"\n\
         [plan]\nworkload = \"w\"\non = \"vm1\"\nwarmup = \"1s\"\nmeasure = \"5s\"\n"
    )
}

#[test]
fn a_working_set_within_a_simulated_cache_is_a_caution() {
    for (set, cached) in [("500 MB", true), ("20 GB", false)] {
        let bench = Bench::new(&lab(set));
        let text = bench.expect(0, &["simulate", "s.toml", "--quiet"]).stdout;
        let line = text.lines().find(|line| line.starts_with("! The cache of a "));
        assert_eq!(line.is_some(), cached, "{set}: {text}");
    }
}
