//! The language of `--volume`: what is understood, and how mistakes are told.

use san::volume::{VolumeKind, VolumeSpec};

#[track_caller]
fn right(text: &str) -> VolumeSpec {
    text.parse().unwrap_or_else(|e| panic!("{e}"))
}

/// The message holds `said`, and the mark stands under `marked`.
#[track_caller]
fn wrong(text: &str, marked: &str, said: &str) {
    let error = text.parse::<VolumeSpec>().expect_err(text);
    assert_eq!(&text[error.span.clone()], marked, "{error}");
    assert!(error.to_string().contains(said), "{error}");
}

#[test]
fn what_is_understood() {
    let ram = right("ram:1GiB");
    assert_eq!(ram.kind, VolumeKind::Ram { size: 1 << 30 });
    assert_eq!((ram.block, ram.thin, ram.read_only, ram.write_through), (512, false, false, false));
    let file = right("file:/srv/a,,b.img,size=10GiB,thin,block=4096,serial=WS-1,write-through");
    let kind = VolumeKind::File { path: "/srv/a,b.img".to_owned(), size: Some(10 << 30) };
    assert_eq!((file.kind, file.block, file.thin, file.write_through), (kind, 4096, true, true));
    assert_eq!(file.serial.as_deref(), Some("WS-1"));
    let block = right("block:/dev/disk/by-id/x:1,write-token=ws-vg04y-mx10r,overwrite");
    assert_eq!(block.kind, VolumeKind::Block { path: "/dev/disk/by-id/x:1".to_owned() });
    assert_eq!((block.write_token.as_deref(), block.overwrite), (Some("ws-vg04y-mx10r"), true));
    assert!(right("block:/dev/sdb,ro").read_only);
}

#[test]
fn mistakes_are_pointed_at() {
    for (text, marked, said) in [
        ("", "", "a volume is `ram:SIZE`"),
        ("ram", "ram", "a volume is `ram:SIZE`"),
        ("rma:1GiB", "rma", "did you mean `ram`?"),
        ("nbd:x", "nbd", "there are `ram`, `file`, `block`"),
        ("ram:", "ram:", "needs a size, as in `ram:1GiB`"),
        ("file:", "file:", "needs a path"),
        ("block:,ro", "block:", "needs a device"),
        ("ram:1", "ram:1", "has no unit"),
        ("ram:1GiB,thn", "thn", "did you mean `thin`?"),
        ("ram:1GiB,thin=yes", "thin=yes", "takes no value"),
        ("ram:1GiB,block", "block", "as in `block=4096`"),
        ("ram:1GiB,block=520", "block=520", "512 or 4096"),
        ("ram:1GiB,thin,thin", "thin", "given twice"),
        ("ram:1GiB,serial=a b", "serial=a b", "without spaces"),
        ("ram:1GiB,size=2GiB", "size=2GiB", "stands behind `ram:`"),
        ("block:/dev/x,size=2GiB", "size=2GiB", "of its own"),
        ("ram:0B", "ram:0B", "less than one block"),
        ("ram:1000B", "ram:1000B", "512 would be"),
        ("ram:100TiB", "ram:100TiB", "64 TiB"),
        ("ram:1MiB,ro", "ram:1MiB", "leave `ro` out"),
        ("ram:1MiB,write-token=x", "ram:1MiB", "needs no leave"),
        ("file:x,ro,write-token=x", "file:x", "contradict"),
        ("file:x,overwrite", "file:x", "opens nothing without"),
        ("ram:1GiB,", "", "is no option"),
    ] {
        wrong(text, marked, said);
    }
    let shown = "ram:1GiB,thn".parse::<VolumeSpec>().expect_err("wrong").to_string();
    assert!(shown.ends_with("\n  ram:1GiB,thn\n           ^^^"), "{shown}");
}

#[test]
fn no_text_panics() {
    let mut rng = clock::Rng::keyed(3, &[]);
    let parts =
        ["ram:", "file:", "1GiB", ",", ",,", "=", "ü", "thin", "size", "block=", "512", "\0"];
    for _ in 0..20_000 {
        let text: String =
            (0..rng.below(8)).map(|_| parts[rng.below(parts.len() as u64) as usize]).collect();
        if let Err(e) = text.parse::<VolumeSpec>() {
            let _ = e.to_string();
        }
    }
}
