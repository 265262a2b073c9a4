//! Any bytes as what lies on a target: the write guard finds the same in them each time, and the same whatever name they
//! have.

#![no_main]

use guard::{Examined, Grants, PathTarget};
use libfuzzer_sys::fuzz_target;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::LazyLock;

/// Long enough for what stands 64 KiB and more from the start, and for copies at the end.
const SIZE: u64 = 320 << 10;

/// One sparse file for each fuzzing process: only what an input covers is written, and the rest cut off again.
static PATH: LazyLock<PathBuf> = LazyLock::new(|| {
    std::env::temp_dir().join(format!("wirespeed-fuzz-medium-{}", std::process::id()))
});

fuzz_target!(|input: (u8, &[u8])| {
    let (place, bytes) = input;
    let file = File::create(&*PATH).expect("a directory for temporary files");
    file.set_len(SIZE).expect("a sparse file");
    // At the start, at the end, or on one of the places between at which structures begin.
    let last = SIZE.saturating_sub(bytes.len() as u64);
    let at = (u64::from(place) << 12).min(last);
    file.write_all_at(bytes, at).expect("room for an input");
    let first = examine();
    assert_eq!(examine(), first, "a second look differs");
    assert!(first.carries.iter().all(|what| !what.is_empty()));
    assert!(!first.token.is_empty());
});

fn examine() -> Examined {
    let found = PathTarget::at(&PATH, true).expect("a path").expect("a file");
    let examined = guard::examine(&found, &Grants::default(), false);
    examined.expect("it is not of Wirespeed's own making").expect("it can be read")
}
