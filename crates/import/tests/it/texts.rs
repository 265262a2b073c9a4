//! Encodings, line ends, whose file it is, and files that are none.

use crate::{Format, around, imported, refused};
use import::{ImportError, import};

const JOB: &str = "[j]\nsize=1m\nruntime=1\ntime_based\n";

#[test]
fn encodings_and_line_ends_are_the_same_text() {
    let plain = imported(None, JOB).scenario;
    let windows = JOB.replace('\n', "\r\n");
    let units =
        |bytes: fn(u16) -> [u8; 2]| windows.encode_utf16().flat_map(bytes).collect::<Vec<u8>>();
    let little = units(u16::to_le_bytes);
    for bytes in [
        windows.clone().into_bytes(),
        [&b"\xEF\xBB\xBF"[..], windows.as_bytes()].concat(),
        [&b"\xFF\xFE"[..], &little].concat(),
        [&b"\xFE\xFF"[..], &units(u16::to_be_bytes)].concat(),
        little,
    ] {
        let same = import("file", &bytes, None, &around()).expect("the same text");
        assert_eq!(same.scenario, plain);
    }
    let western = [JOB.as_bytes(), b"description=Gr\xF6\xDFe\n"].concat();
    import("file", &western, None, &around()).expect("a code page of Windows");
}

#[test]
fn formats_are_seen_by_content() {
    for (text, format) in [
        (JOB, Format::Fio),
        ("diskspd.exe -b4k -c1m -d1 x.dat\n", Format::Diskspd),
        ("-b4k -t2 -d1 -c1m x.dat\n", Format::Diskspd),
        ("* remark\nsd=a,lun=/x,size=1m\nwd=w,sd=a\nrd=r,wd=w,iorate=9\n", Format::Vdbench),
        (
            "Version 1.1.0\n'ACCESS SPECIFICATIONS\n'Access specification name,default assignment\na,ALL\n'size\n512,100,100,0,0,1,0,0\n'END access specifications\n",
            Format::Iometer,
        ),
    ] {
        assert_eq!(imported(None, text).format, format, "{text}");
    }
}

#[test]
fn what_is_no_workload_is_refused() {
    assert!(refused(None, " \n\n").contains("the file is empty"));
    assert!(refused(None, "Dear Sir,\nhello\n").contains("not a workload file that is known"));
    assert!(refused(None, "\u{1}\u{2}[x]").contains("control character"));
    assert!(
        refused(None, "sd=a,lun=/x\n[job]\nsize=1m\n").contains("`--as fio` or `--as vdbench`")
    );
    let large = vec![b'#'; (1 << 20) + 1];
    let error = import("file", &large, None, &around()).expect_err("too large");
    assert!(matches!(error, ImportError::Unreadable(text) if text.contains("1 MiB")));
    let odd = import("file", b"\xFF\xFEa", None, &around()).expect_err("cut off");
    assert!(odd.to_string().contains("cut off"));
}

/// A file cut off anywhere, with a line left out or twice, or with a character changed, is imported or refused: nothing panics.
#[test]
fn damaged_files_are_answered() {
    let seeds: [&[u8]; 5] = [
        include_bytes!("../../../../fuzz/seeds/import/fio"),
        include_bytes!("../../../../fuzz/seeds/import/icf"),
        include_bytes!("../../../../fuzz/seeds/import/vdbench"),
        include_bytes!("../../../../fuzz/seeds/import/diskspd"),
        include_bytes!("../../../../fuzz/seeds/import/profile"),
    ];
    for (seed, format) in seeds.into_iter().zip([
        Format::Fio,
        Format::Iometer,
        Format::Vdbench,
        Format::Diskspd,
        Format::Diskspd,
    ]) {
        let whole = &seed[1..];
        let mut damaged: Vec<Vec<u8>> =
            (0..whole.len()).step_by(29).map(|end| whole[..end].to_vec()).collect();
        let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
        for n in 0..lines.len() {
            damaged.push([&lines[..n], &lines[n + 1..]].concat().concat());
            damaged.push([&lines[..=n], &lines[n..]].concat().concat());
        }
        for (n, with) in (0..whole.len()).step_by(31).zip(b"0-9,=/()'%<\n\t ".iter().cycle()) {
            let mut changed = whole.to_vec();
            changed[n] = *with;
            damaged.push(changed);
        }
        for bytes in damaged {
            match import("file", &bytes, Some(format), &around()) {
                Ok(imported) => assert_eq!(imported.format, format),
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
    }
}
