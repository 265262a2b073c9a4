//! diskspd's command lines and profiles, by its own help and parser.

use crate::{Severity, holds, imported, noted, refused, scenario};

#[test]
fn defaults_are_those_of_diskspd() {
    holds(
        "diskspd /data/x.dat",
        &[
            "file = \"/data/x.dat\"",
            "buffered = true",
            "block = \"64KiB\"",
            "read = 100",
            "random = 0",
            "depth = 2",
            "warmup = \"5s\"",
            "measure = \"10s\"",
        ],
    );
}

#[test]
fn options() {
    for (options, expected) in [
        (
            "-b8K -o32 -t4 -r -w30 -Sh",
            &["block = \"8KiB\"", "depth = 32", "workers = 4", "random = 100", "read = 70"][..],
        ),
        ("-b4K -r64K", &["align = \"64KiB\""]),
        ("-b4K -s64K", &["stride = \"64KiB\"", "random = 0"]),
        ("-b4K -s16b", &["stride = \"64KiB\""]),
        ("-b4K -rs30", &["random = 30"]),
        ("-b64K -si -t4 -o2", &["depth = 8"]),
        ("-d60 -W1 -C3", &["measure = \"60s\"", "warmup = \"1s\"", "cooldown = \"3s\""]),
        ("-b4K -g4096", &["rate = 1000", "limit = 2"]),
        ("-b4K -g500i", &["rate = 500"]),
        ("-c2G -f1G", &["create = \"2GiB\"", "working_set = \"1GiB\""]),
        ("-r -rdpct90/10", &["skew = { hot = 10, accesses = 90 }"]),
        ("-i8 -j20 -o1", &["burst = 8", "delay = \"20ms\""]),
        ("-w100 -Z -Su", &["data = { compress = 16.00 }"]),
        ("-F8 -O4", &["workers = 8", "depth = 4"]),
    ] {
        holds(&format!("diskspd -b64K {options} /data/x.dat"), expected);
    }
}

#[test]
fn each_line_is_a_test() {
    let text = "@echo off\r\nrem tests\r\n\"C:\\tools\\diskspd.exe\" -b4K -d1 \"D:\\my data\\a.dat\" > out.txt\r\n\
                diskspd.exe -b8K ^\r\n  -d2 D:\\b.dat D:\\c.dat\r\n";
    let scenario = scenario(text);
    assert_eq!(scenario.plans.len(), 2);
    assert_eq!(scenario.lab.targets.len(), 3);
}

#[test]
fn profiles() {
    let text = "\u{feff}<?xml version=\"1.0\"?>\n<Profile><TimeSpans><TimeSpan><Duration>60</Duration><Warmup>7</Warmup>\n\
        <Targets><Target><Path>*1</Path><BlockSize>8192</BlockSize><Random>4096</Random><WriteRatio>30</WriteRatio>\n\
        <RequestCount>16</RequestCount><ThreadsPerFile>2</ThreadsPerFile><Throughput unit=\"IOPS\">250</Throughput>\n\
        <DisableOSCache>true</DisableOSCache><Distribution><Percent><Range IO=\"90\">10</Range></Percent></Distribution>\n\
        </Target></Targets></TimeSpan></TimeSpans></Profile>";
    holds(
        text,
        &[
            "block = \"8KiB\"",
            "align = \"4KiB\"",
            "read = 70",
            "random = 100",
            "rate = 250",
            "limit = 16",
            "workers = 2",
            "skew = { hot = 10, accesses = 90 }",
            "measure = \"60s\"",
            "warmup = \"7s\"",
        ],
    );
    assert!(
        refused(None, &text.replace("BlockSize", "BlokSize")).contains("did you mean `BlockSize`?")
    );
    assert!(
        refused(None, &text[..text.len() - 40]).contains("XML")
            || refused(None, &text[..text.len() - 40]).contains("cut off")
    );
}

/// A profile as VMFleet's are: two kinds of access on one target, each with its area, its rate and its distribution.
#[test]
fn two_loads_of_a_fleets_profile_are_on_one_target() {
    let target = |of: &str| format!("<Target><Path>*1</Path>{of}</Target>");
    let oltp = "<BlockSize>8192</BlockSize><BaseFileOffset>5368709120</BaseFileOffset>\n<MaxFileSize>0</MaxFileSize>\
        <DisableOSCache>true</DisableOSCache><WriteThrough>true</WriteThrough><Random>8192</Random>\n\
        <Distribution><Percent><Range IO=\"95\">5</Range><Range IO=\"4\">10</Range></Percent></Distribution>\n\
        <RequestCount>32</RequestCount><WriteRatio>30</WriteRatio><ThreadsPerFile>4</ThreadsPerFile>\
        <Throughput unit=\"IOPS\">1500</Throughput>";
    let log = "<BlockSize>32768</BlockSize><BaseFileOffset>0</BaseFileOffset><MaxFileSize>5368709120</MaxFileSize>\n\
        <StrideSize>32768</StrideSize><RequestCount>1</RequestCount><WriteRatio>100</WriteRatio>\
        <Throughput>60</Throughput>";
    let text = format!(
        "<Profile><TimeSpans><TimeSpan><Duration>60</Duration><Targets>\n{}\n{}\n</Targets></TimeSpan></TimeSpans></Profile>",
        target(oltp),
        target(log)
    );
    holds(
        &text,
        &[
            // Beyond the 5 GiB at which the first begins.
            "create = \"6GiB\"",
            "skew = { hot = 5, accesses = 95 }",
            // Of each of four threads.
            "rate = 1500",
            "workers = 4",
            // 60 bytes a millisecond.
            "rate = \"1.831 IOPS\"",
            "working_set = \"5GiB\"",
        ],
    );
    let written = imported(None, &text).scenario;
    assert!(written.contains("# approximated: Distribution (line"), "{written}");
    let notes = noted(&text, Severity::Approximated);
    assert!(notes.contains(&"6 *1".to_owned()), "one with and one without the cache: {notes:?}");
}

#[test]
fn mistakes_and_losses() {
    for (line, expected) in [
        ("diskspd -b4K", "no target"),
        ("diskspd -q4 x", "unknown option `-q`"),
        ("diskspd -b4q x", "expected a size"),
        ("diskspd -t2 -F4 x", "exclude each other"),
        ("diskspd -si -rs50 x", "`-si` excludes `-rs`"),
        ("diskspd -T1M -r x", "`-T` excludes `-r`"),
        ("diskspd -Xprofile.xml x", "import that file"),
        ("diskspd -d10 x\nformat c:", "`format` is no command line of diskspd"),
    ] {
        let said = refused(None, line);
        assert!(said.contains(expected), "{line}: {said}");
    }
    assert_eq!(noted("diskspd -p -I1 -o4 -Su x", Severity::Lost), ["1 -I1", "1 -p"]);
}
