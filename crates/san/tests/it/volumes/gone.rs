//! A file that is removed or cut while it is served: nothing is acknowledged as durable any more.

use crate::prelude::*;
use crate::volumes::bench::{Bench, extent};
use std::fs;
use std::path::Path;

/// WRITE ERROR.
const LOST: Sense = Sense::new(SenseKey::MediumError, 0x0c00);

/// After `harm` a write with FUA and a sync fail at once and for good, and soon a plain write too.
#[track_caller]
fn check(options: &str, harm: impl Fn(&Path)) {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("volume");
    let mut bench = Bench::of(&format!("file:{},size=1MiB{options}", path.display()));
    let write = |bench: &mut Bench, durable| {
        let medium = Medium::Write { to: extent(0, 8), durable };
        let data = Data::Buffer(bench.buffer(&[7; 4096]));
        bench.run(medium, data).ending
    };
    assert_eq!(write(&mut bench, true), Ending::GOOD);
    harm(&path);
    let fails = |ending: Ending| {
        let sense = ending.sense.expect("it fails");
        assert_eq!((sense.key, sense.code), (LOST.key, LOST.code), "{options}");
    };
    fails(write(&mut bench, true));
    fails(bench.run(Medium::Sync(extent(0, 0)), Data::None).ending);
    fails(write(&mut bench, true));
    let limit = clock::now().plus(Ns::secs(10));
    while write(&mut bench, false) == Ending::GOOD {
        assert!(clock::now() < limit, "plain writes go on");
    }
    fails(write(&mut bench, false));
}

#[test]
fn nothing_is_durable_in_a_file_without_a_name() {
    for options in ["", ",thin", ",write-through", ",block=4096"] {
        check(options, |path| fs::remove_file(path).expect("ours"));
    }
}

#[test]
fn nothing_is_durable_in_a_file_that_was_cut() {
    let cut = |path: &Path| {
        let file = fs::File::options().write(true).open(path).expect("ours");
        file.set_len(8192).expect("shorter");
    };
    for options in ["", ",thin"] {
        check(options, cut);
    }
}
