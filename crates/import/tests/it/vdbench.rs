//! vdbench's parameter files, by its documentation and its own scan of parameters.

use crate::{Severity, holds, noted, refused, scenario};

const STORAGE: &str = "sd=sd1,lun=/data/a,size=1g,threads=4,openflags=o_direct\n";

fn file(workload: &str, run: &str) -> String {
    format!("{STORAGE}wd=wd1,sd=sd1{workload}\nrd=rd1,wd=wd1{run}\n")
}

#[test]
fn defaults_are_those_of_vdbench() {
    holds(
        &file("", ",iorate=max"),
        &[
            "block = \"4KiB\"",
            "read = 100",
            "random = 100",
            "depth = 4",
            "measure = \"30s\"",
            "warmup = \"0s\"",
        ],
    );
}

#[test]
fn workloads() {
    for (workload, expected) in [
        (",xfersize=64k,rdpct=30,seekpct=0", &["block = \"64KiB\"", "read = 30", "random = 0"][..]),
        (",seekpct=seq", &["random = 0"]),
        (
            ",xfersize=(4k,50,8k,50)",
            &["{ size = \"4KiB\", share = 50, read = 100, random = 100 },"],
        ),
        (",xfersize=(4k,8k,4k)", &["{ size = \"8KiB\", share = 50, read = 100, random = 100 },"]),
        (",range=(0,20)", &["working_set = \"20%\""]),
        (",rhpct=50,hitarea=256m", &["skew = { hot = 25, accesses = 50 }"]),
        (",threads=9", &["depth = 9"]),
    ] {
        holds(&file(workload, ",iorate=max"), expected);
    }
}

#[test]
fn a_workload_uses_of_its_storages_what_they_say() {
    let of =
        |storages: &str| format!("{storages}wd=w,sd=(sd1,sd10)\nrd=r,wd=w,iorate=max,elapsed=30\n");
    let both = "sd=sd1,lun=/dev/b{1}\nsd=sd10,lun=/dev/c{10}\n";
    let storages = |one: &str, ten: &str| of(&both.replace("{1}", one).replace("{10}", ten));
    // A device is larger than what is used of it.
    holds(&storages(",size=10g", ",size=10g"), &["working_set = \"10GiB\""]);
    holds(&storages(",size=10g,range=(0,50)", ",size=5g"), &["working_set = \"5GiB\""]);
    let differ = storages(",size=10g", ",size=20g");
    holds(&differ, &["working_set = \"10GiB\""]);
    assert_eq!(noted(&differ, Severity::Approximated), ["1 size=10g", "2 size=20g"]);
    // The range of a storage is neither another's nor dropped in silence.
    let one = storages("", ",range=(10,50)");
    assert_eq!(noted(&one, Severity::Lost), ["2 range=(10,50)"]);
    assert!(!crate::imported(None, &one).scenario.contains("\nworking_set"));
}

#[test]
fn rates_are_of_all_storages_and_workloads() {
    let text = "sd=default,size=1m,threads=2\nsd=a,lun=/a\nsd=b,lun=/b\nwd=x,sd=*,skew=75\nwd=y,sd=a\n\
                rd=r,wd=(x,y),iorate=1000,elapsed=2m,warmup=9,interval=1\n";
    holds(
        text,
        &[
            "rate = 375",
            "rate = 250",
            "arrivals = \"poisson\"",
            "measure = \"120s\"",
            "warmup = \"9s\"",
        ],
    );
    let fixed = file("", ",iorate=100,distribution=deterministic");
    assert!(!crate::imported(None, &fixed).scenario.contains("poisson"));
}

#[test]
fn loops_nest_as_they_are_written() {
    let text = file("", ",iorate=max,forxfersize=(4k,8k),forthreads=(1-4,d)");
    holds(&text, &["sweep = { block = [\"4KiB\", \"8KiB\"], depth = [1, 2, 4] }"]);
    let text = file("", ",forrdpct=(0,100),iorate=(100,200)");
    holds(&text, &["sweep = { read = [0, 100], rate = [100, 200] }"]);
    // Several sizes at once are no axis: each test is written out, the last loop innermost.
    let text = file(",xfersize=(4k,50,8k,50)", ",iorate=max,forrdpct=(0,50,100),forthreads=(1,2)");
    let names: Vec<String> = scenario(&text).steps().into_iter().map(|step| step.plan).collect();
    assert_eq!(names.len(), 6);
    assert_eq!(names[..2], ["rd1-rdpct-0-threads-1", "rd1-rdpct-0-threads-2"]);
}

#[test]
fn a_curve_is_a_maximum_and_a_search() {
    let text = file("", ",iorate=curve");
    holds(&text, &["search = \"knee\""]);
    assert_eq!(scenario(&text).plans.len(), 2);
    assert_eq!(noted(&text, Severity::Approximated), ["3 iorate=curve"]);
}

#[test]
fn lists_counts_and_remarks() {
    let text = "* remark\nsd=sd,lun=/dev/dm-*,count=(1,3),openflags=directio\nwd=w1,sd=sd1-2 a remark\nwd=w2,\n  sd=(sd3),\n  rdpct=0\n\
                rd=r,wd=w*,iorate=max\n";
    holds(text, &["device = \"/dev/dm-3\""]);
    assert_eq!(scenario(text).steps()[0].loads.len(), 2);
}

#[test]
fn mistakes_point_at_their_place() {
    for (text, expected) in [
        (
            file(",xfersiz=4k", ",iorate=max"),
            "file:2:15: unknown parameter of a workload definition `xfersiz`",
        ),
        (file("", ",iorate=fast"), "expected a rate, `max` or `curve`"),
        (file(",sd=sd9", ",iorate=max"), "unknown storage `sd9`"),
        (file(",xfersize=(4k,50,8k,20)", ",iorate=max"), "add up to 70%"),
        (file(",rdpct=200", ",iorate=max"), "expected a share from 0 to 100"),
        (STORAGE.to_owned() + "fwd=x,fsd=y\n", "files and replays"),
        (STORAGE.to_owned(), "no run"),
        (file("", ",iorate=$rate"), "a variable of the command line"),
        (file("", ",forxfersize=(4k"), "without its `)`"),
    ] {
        let said = refused(None, &text);
        assert!(said.contains(expected), "{expected}: {said}");
    }
}
