//! What may be written: what Wirespeed made, and what is named with its token. Everything else is served read-only, or not
//! at all where a token was given that does not open it.

use crate::volumes::bench::{Bench, Loop, extent, open, token};
use iscsi::scsi::{Medium, Sense, SenseKey};
use san::volume::{Data, Volume, VolumeError, VolumeSpec};
use std::fs;
use std::path::Path;

#[track_caller]
fn refused(text: &str, said: &str) -> VolumeError {
    let spec: VolumeSpec = text.parse().unwrap_or_else(|e| panic!("{e}"));
    let error = Volume::open(&spec, "WS").expect_err(text);
    assert!(error.to_string().contains(said), "{error}");
    error
}

/// It is served, but not for writing, and says why.
#[track_caller]
fn only_read(text: &str, why: &str) {
    let mut bench = Bench::of(text);
    assert!(bench.volume.attributes().read_only);
    let said = bench.volume.why_read_only().expect("a reason").to_owned();
    assert!(said.contains(why), "{said}");
    bench.read(0, 1);
    let protected = Some(Sense::new(SenseKey::DataProtect, 0x2700));
    let to = extent(0, 1);
    for medium in [
        Medium::Write { to, durable: false },
        Medium::WriteVerify { to, compare: true },
        Medium::CompareAndWrite { at: to, durable: true },
        Medium::Or { at: to, durable: false },
        Medium::Same { to, zero: true, unmap: true, durable: false },
        Medium::Unmap(vec![to]),
        Medium::Sanitize { pattern: Vec::new() },
    ] {
        let data = Data::Bytes(vec![0xff; 1024].into());
        assert_eq!(bench.run(medium.clone(), data).ending.sense, protected, "{medium:?}");
    }
    bench.good(Medium::Sync(extent(0, 0)), &[]);
}

fn foreign(path: &Path, byte: u8) -> String {
    fs::write(path, vec![byte; 1 << 20]).expect("a file");
    path.display().to_string()
}

#[test]
fn a_foreign_file_is_read_only_without_its_token() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = foreign(&folder.path().join("precious"), 7);
    only_read(&format!("file:{path}"), "did not make");
    assert!(fs::read(&path).expect("there").iter().all(|byte| *byte == 7), "it was changed");
    let token = token(&path);
    let error = refused(&format!("file:{path},write-token={token}"), "overwrite");
    assert!(matches!(error, VolumeError::Refused(_)));
    refused(&format!("file:{path},write-token=ws-00000-00000"), "stale");
    refused(&format!("file:{path},write-token=yes"), "no token");
    let mut bench = Bench::of(&format!("file:{path},write-token={token},overwrite"));
    bench.write(2, &[9; 512]);
    assert_eq!(bench.read(2, 1), [9; 512]);
}

#[test]
fn what_was_made_is_ours_again_and_serves_one_at_a_time() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("own").display().to_string();
    refused(&format!("file:{path}"), "give a size to make it");
    refused("block:/dev/there-is-none", "`lsblk` lists the devices");
    refused(&format!("file:{path},ro,size=1MiB"), "holds nothing");
    let mut bench = Bench::of(&format!("file:{path},size=1MiB"));
    bench.write(5, &[3; 1024]);
    refused(&format!("file:{path}"), "locked by another program");
    drop(bench);
    let mut bench = Bench::of(&format!("file:{path}"));
    assert_eq!(bench.volume.attributes().blocks, 2048);
    assert_eq!(bench.read(5, 2), [3; 1024]);
    drop(bench);
    refused(&format!("file:{path},size=2MiB"), "leave `size` out");
    only_read(&format!("file:{path},ro"), "asked to be");
    // A copy is somebody else's, whatever its attributes say.
    let copy = folder.path().join("copy");
    fs::copy(&path, &copy).expect("a copy");
    only_read(&format!("file:{}", copy.display()), "did not make");
}

#[test]
fn what_is_no_volume_is_not_served() {
    let folder = tempfile::tempdir().expect("a directory");
    let folder = folder.path().display();
    refused(&format!("file:{folder}"), "a directory");
    refused(&format!("file:{folder}/no/such,size=1MiB"), "not a directory");
    refused(&format!("file:{folder}/no/such,size=1MiB,thin"), "nothing can be created");
    refused(&format!("file:{folder}/huge,size=16TiB"), "make room");
    refused("block:/dev/no-such", "does not exist");
    refused("ram:60TiB", "`thin`");
    assert_eq!(
        fs::read_dir(folder.to_string()).expect("there").count(),
        0,
        "something was left behind"
    );
}

#[test]
fn devices_want_a_token_and_are_held() {
    let folder = tempfile::tempdir().expect("a directory");
    let image = folder.path().join("image");
    fs::File::create(&image).and_then(|f| f.set_len(4 << 20)).expect("a file");
    let Some(device) = Loop::over(&image, 4096) else { return };
    let path = &device.0;
    refused(&format!("block:{path}"), "say `block=4096`");
    refused(&format!("block:{path},thin,block=4096,write-token=x"), "no token");
    refused(&format!("file:{path},block=4096"), "say `block:`");
    only_read(&format!("block:{path},block=4096"), "no write token");
    let token = token(path);
    let text = format!("block:{path},block=4096,write-token={token}");
    let held = open(&text);
    assert!(!held.attributes().read_only);
    refused(&text, "refused");
    drop(held);
    open(&text);
}
