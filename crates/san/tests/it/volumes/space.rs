//! Thin volumes take space when it is written and give it back; full ones have it from the start.

use crate::prelude::*;
use crate::volumes::bench::{Bench, Loop, extent, open, token};

const MIB: u64 = 1 << 20;

/// Writes, gives back, and looks at what is taken after each step. `text` makes a volume of 64 MiB in blocks of 512.
#[track_caller]
fn thin(text: &str) {
    let mut bench = Bench::of(text);
    let taken = |bench: &Bench| bench.volume.taken().expect("told");
    let first = taken(&bench);
    assert!(first < MIB, "{first} bytes are taken before anything is written");
    // Reading holes takes nothing, and neither do comparing and verifying them.
    for lba in (0..131_072).step_by(8192) {
        assert!(bench.read(lba, 4096).iter().all(|byte| *byte == 0));
    }
    bench.good(Medium::Verify(extent(0, 131_072)), &[]);
    bench.good(Medium::Compare { with: extent(0, 131_072), one: true }, &[0; 512]);
    assert_eq!(taken(&bench), first, "reading took space");
    let data = vec![1; MIB as usize];
    for lba in (0..32_768).step_by(2048) {
        bench.write(lba, &data);
    }
    let full = taken(&bench);
    assert!((16 * MIB..17 * MIB).contains(&(full - first)), "{full} bytes for 16 MiB");
    // Blocks 3 to 2047 and a bit: whole pages go, parts of pages are zeros.
    bench.good(Medium::Unmap(vec![extent(3, 2048)]), &[]);
    assert_eq!(full - taken(&bench), MIB - 4096);
    let there = bench.read(0, 2056);
    assert!(there[..1536].iter().all(|byte| *byte == 1), "too much was given back");
    assert!(there[1536..2051 * 512].iter().all(|byte| *byte == 0));
    assert!(there[2051 * 512..].iter().all(|byte| *byte == 1), "too much was given back");
    // Block 0 to the first whole page: mapped, then a hole, then mapped to the end of what was written, then a hole.
    assert_eq!(
        status(&mut bench, 0),
        [(0, 8, 0), (8, 2040, 1), (2048, 30_720, 0), (32_768, 98_304, 1)]
    );
    assert_eq!(status(&mut bench, 9), [(9, 2039, 1), (2048, 30_720, 0), (32_768, 98_304, 1)]);
    let same = |unmap| Medium::Same { to: extent(0, 16_384), zero: true, unmap, durable: false };
    bench.good(same(true), &[]);
    assert!(taken(&bench) - first <= 9 * MIB, "WRITE SAME gave nothing back");
    bench.good(same(false), &[]);
    assert!(taken(&bench) - first >= 16 * MIB, "written zeros took no space");
    bench.good(Medium::Sanitize { pattern: Vec::new() }, &[]);
    assert!(taken(&bench) <= first + 4096 * 4, "SANITIZE left {} bytes", taken(&bench));
    assert_eq!(status(&mut bench, 0), [(0, 131_072, 1)]);
}

/// First block, blocks, provisioning status.
#[track_caller]
fn status(bench: &mut Bench, lba: u64) -> Vec<(u64, u32, u8)> {
    let done = bench.good(Medium::LbaStatus { lba, len: 4096 }, &[]);
    let data = crate::volumes::bench::bytes(&done.data);
    let number = |at: &[u8]| at.iter().fold(0, |n, byte| n << 8 | u64::from(*byte));
    assert_eq!(number(&data[..4]) as usize, data.len() - 4);
    data[8..].chunks(16).map(|d| (number(&d[..8]), number(&d[8..12]) as u32, d[12])).collect()
}

#[test]
fn memory() {
    thin("ram:64MiB,thin");
}

#[test]
fn files() {
    for place in [std::env::temp_dir(), "/dev/shm".into()] {
        let folder = tempfile::tempdir_in(place).expect("a directory");
        thin(&format!("file:{}/data,size=64MiB,thin", folder.path().display()));
    }
}

#[test]
fn a_device_passes_it_on() {
    let folder = tempfile::tempdir().expect("a directory");
    let image = folder.path().join("image");
    std::fs::File::create(&image).and_then(|f| f.set_len(64 * MIB)).expect("a file");
    let Some(device) = Loop::over(&image, 512) else { return };
    let token = token(&device.0);
    let mut bench = Bench::of(&format!("block:{},thin,write-token={token}", device.0));
    let taken = || {
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata(&image).expect("there").blocks() * 512
    };
    let first = taken();
    for lba in (0..32_768).step_by(2048) {
        bench.write(lba, &vec![1; MIB as usize]);
    }
    bench.good(Medium::Sync(extent(0, 0)), &[]);
    assert!(taken() - first >= 16 * MIB);
    bench.good(Medium::Unmap(vec![extent(0, 16_384), extent(16_384, 16_384)]), &[]);
    assert!(taken() <= first + 65_536, "{} bytes are left", taken() - first);
    assert_eq!(
        status(&mut bench, 0),
        [(0, 131_072, 0)],
        "nobody knows what a device has given back"
    );
}

#[test]
fn full_volumes_have_their_space() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = format!("file:{}/data,size=8MiB", folder.path().display());
    for text in ["ram:8MiB", &file] {
        let mut bench = Bench::of(text);
        assert!(bench.volume.taken().expect("told") >= 8 * MIB);
        assert_eq!(status(&mut bench, 5), [(5, 16_379, 0)]);
        bench.good(Medium::Unmap(vec![extent(0, 16_384)]), &[]);
        assert!(
            bench.volume.taken().expect("told") >= 8 * MIB,
            "{text} gave back what it promised"
        );
    }
}

#[test]
fn lba_status_is_cut_where_it_is_asked_to_be() {
    let mut bench = Bench::new(open("ram:1MiB,thin"), crate::volumes::bench::quick());
    bench.write(8, &[1; 4096]);
    for (len, got) in [(0, 0), (4, 4), (8, 8), (24, 24), (39, 24), (40, 40), (4096, 56)] {
        let done = bench.run(Medium::LbaStatus { lba: 0, len }, Data::None);
        assert_eq!(done.data.len(), got, "allocation length {len}");
    }
}

#[test]
fn the_last_page_may_be_one_in_part() {
    let mut bench = Bench::of("ram:9216B,thin");
    bench.write(16, &[1; 1024]);
    assert_eq!(bench.volume.taken(), Some(4096));
    bench.good(Medium::Unmap(vec![extent(16, 2)]), &[]);
    assert_eq!(bench.volume.taken(), Some(0));
    assert_eq!(bench.read(16, 2), [0; 1024]);
}
