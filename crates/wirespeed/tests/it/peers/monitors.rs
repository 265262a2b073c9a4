//! `iostat`, `sar`, `/proc`, fio and iperf3 beside a load of ours: what they wrote is explained, and says what the record of the
//! same minutes says.

use crate::peers::served::here;
use crate::prelude::*;
use crate::program::devices::Loop;
use crate::program::frames::Wire;
use crate::program::support::{Bench, ended, open};

/// Seconds that the tools look.
const LOOKS: &str = "5";
/// How far outside the record's seconds a tool's mean may lie: the seconds of the tools are not those of the record.
const APART: f64 = 0.02;

/// The lowest and the highest that a second of the record says of a hop's counters, a second.
///
/// What a tool saw of some of these seconds lies among them, however unsteady the machine made them.
fn seconds_of<const N: usize>(
    record: &record::Record,
    device: &str,
    counted: [&str; N],
) -> [[f64; 2]; N] {
    let is = |s: &&record::Source| s.hop().is_some() && s.name.ends_with(device);
    let hop = record.sources().iter().find(is).expect("the device is a hop").id;
    let counters = record.counters(Some(0)).expect("counters are readable");
    counted.map(|name| {
        let of_name = counters.iter().filter(|c| c.source == hop && c.kind.name() == name);
        let rates: Vec<f64> = of_name.map(|c| c.value / c.to.since(c.from).as_secs_f64()).collect();
        assert!(rates.len() >= 5, "{} seconds of {name}", rates.len());
        [rates.iter().copied().fold(f64::MAX, f64::min), rates.iter().copied().fold(0.0, f64::max)]
    })
}

/// Whether a figure lies in a range, or next to it.
#[track_caller]
fn lies(what: &str, seen: f64, [low, high]: [f64; 2]) {
    let fits = seen >= low * (1.0 - APART) && seen <= high * (1.0 + APART);
    assert!(fits, "{what}: {seen} of {low} to {high}");
}

/// What a file of results says of the load that wrote it: operations, bytes written, a second.
fn of_load(bench: &Bench, file: &str) -> [f64; 2] {
    let args = ["explain", file, "--format", "json", "--out", "e.wsr"];
    let review = bench.expect(0, &args).stdout;
    fs::remove_file(bench.path("e.wsr")).expect("its record");
    let review: Value = serde_json::from_str(&review).expect("one document");
    let total = &review["steps"][0]["total"]["write"];
    ["iops", "bytes_per_s"].map(|name| total[name].as_f64().expect("a figure"))
}

/// Looks at `/proc` a second apart, as a shell's loop would write them.
fn looks_at_proc(bench: &Bench) {
    let mut text = String::from("# host near\n");
    for look in 0..6 {
        if look > 0 {
            clock::sleep_until(clock::now().plus(Ns::secs(1)));
        }
        text += &format!("# time {}\n", clock::wall_ns() as f64 / 1e9);
        text += &fs::read_to_string("/proc/diskstats").expect("Linux");
    }
    fs::write(bench.path("proc.txt"), text).expect("room");
}

/// The device in a review: I/Os and bytes a second that it read, the share of its time that it was busy, where that is said; and
/// the limit.
fn of_device(review: &str, device: &str) -> ([f64; 2], Option<f64>, String) {
    let review: Value = serde_json::from_str(review).expect("one document");
    let attribution = &review["steps"][0]["attribution"];
    let hops = attribution["hops"].as_array().expect("hops");
    let is = |hop: &&Value| {
        hop["hop"]
            .as_str()
            .is_some_and(|name| name == device || name.ends_with(&format!(".{device}")))
    };
    let hop = hops.iter().find(is).unwrap_or_else(|| panic!("{device} of {hops:?}"));
    let figure = |name: &str| hop[name].as_f64().unwrap_or_else(|| panic!("{name} of {hop}"));
    let limit = attribution["limit"]["kind"].as_str().expect("a kind").to_owned();
    ([figure("iops"), figure("read_bytes_per_s")], hop["utilization"].as_f64(), limit)
}

/// What a tool's file says of how busy the device was, and of the limit. The tools round a share to a percent or less; of a device
/// that is idle for most of its time nothing is said to be full, and of one that a busy machine kept waiting a share says nothing.
#[track_caller]
fn agrees(file: &str, said: Option<f64>, limit: &str, [low, high]: [f64; 2]) {
    match said {
        Some(share) => {
            assert!((low..=high).contains(&share), "{file}: {share} of {low} to {high}");
            assert!(["none", "unknown"].contains(&limit), "{file}: {limit}");
        }
        None => assert!(high > 0.5, "{file}: it was idle for most of its time: {low} to {high}"),
    }
}

#[test]
fn what_the_tools_of_the_system_saw_is_what_the_record_says() {
    if ["iostat", "sar", "sadf", "fio"].map(here).contains(&false) {
        return;
    }
    let bench = Bench::new("");
    // In memory, so that what else is written to the machine's disk does not delay it.
    let memory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("room");
    let image = memory.path().join("image");
    fs::File::create(&image).and_then(|file| file.set_len(64 << 20)).expect("room");
    let Some(device) = Loop::over(&image) else { return };
    let name = device.name().to_owned();
    let tool = |program: &str, args: &[&str], into: &str| {
        let out = fs::File::create(bench.path(into)).expect("room");
        let mut command = Command::new(program);
        command.args(args).env("LC_ALL", "C").env("S_TIME_FORMAT", "ISO").stdout(out);
        command.current_dir(bench.path("")).spawn().expect("it starts")
    };
    let base = ["disk", device.path(), "--block", "16KiB", "--rate", "700 IOPS", "--random", "100"];
    let time = ["--warmup", "1s", "--time", "8s", "--out", "r.wsr", "--quiet", "--format", "json"];
    // Their load writes and ours reads: the record tells them apart.
    let name_of = format!("--filename={}", device.path());
    let fio = ["--name=beside", &name_of, "--rw=randwrite", "--bs=8k", "--rate_iops=200"];
    let rest = ["--direct=1", "--time_based", "--runtime=15", "--output-format=json"];
    let mut fio = tool("fio", &[&fio[..], &rest].concat(), "fio.json");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            clock::sleep_until(clock::now().plus(Ns::millis(2500)));
            looks_at_proc(&bench);
        });
        scope.spawn(|| bench.expect(0, &[&base[..], &time].concat()));
        clock::sleep_until(clock::now().plus(Ns::millis(2500)));
        let iostat = ["-x", "-y", "-t", &name, "1", LOOKS];
        let tools = [
            tool("iostat", &iostat, "io.txt"),
            tool("iostat", &[&["-o", "JSON"], &iostat[..]].concat(), "io.json"),
            tool("sar", &["-o", "sa.bin", "-d", "1", LOOKS], "sar.txt"),
        ];
        for mut tool in tools {
            assert!(tool.wait().expect("it ends").success());
        }
    });
    for (option, into) in [("-j", "sa.json"), ("-x", "sa.xml")] {
        assert!(
            tool("sadf", &[option, "sa.bin", "--", "-d"], into).wait().expect("it ends").success()
        );
    }
    assert!(fio.wait().expect("it ends").success());
    let record = open(&bench.path("r.wsr"));
    let [ios, bytes, busy] = seconds_of(&record, &name, ["read-ops", "read-bytes", "busy"]);
    let written = seconds_of(&record, &name, ["write-ops", "write-bytes"]);
    let [ops, volume] = of_load(&bench, "fio.json");
    lies("fio's operations", ops, written[0]);
    lies("fio's bytes", volume, written[1]);
    for file in ["io.txt", "io.json", "sa.json", "sa.xml", "proc.txt"] {
        let args = ["explain", file, "--keep-first", "--format", "json", "--out", "e.wsr"];
        let (seen, said, limit) = of_device(&bench.expect(0, &args).stdout, &name);
        fs::remove_file(bench.path("e.wsr")).expect("its record");
        lies(file, seen[1], bytes);
        lies(file, seen[0], [ios[0] + written[0][0], ios[1] + written[0][1]]);
        agrees(file, said, &limit, [busy[0] / 1e9 - APART, busy[1] / 1e9 + APART]);
    }
}

const PORT: &str = r#"
[scenario]
title = "A port that another program uses"
[[host]]
name = "near"
adapters = [{ name = "nic", part = "qle3142", ports = 1 }]
counters = "local"
identities = [{ hop = "near.nic:0", is = "wire" }]
[[target]]
name = "nothing"
url = "null:"
size = "1GiB"
[workload.little]
block = "4KiB"
rate = "100 IOPS"
[plan]
workload = "little"
on = "nothing"
warmup = "1s"
measure = "6s"
"#;

#[test]
fn what_iperf3_sent_is_what_the_record_says_of_the_port() {
    if !here("iperf3") {
        return;
    }
    let Some(wire) = Wire::up() else { return };
    let bench = Bench::new("");
    fs::write(bench.path("port.toml"), PORT).expect("room");
    let iperf3 = |end: &str, args: &[&str], into: &str| {
        let out = fs::File::create(bench.path(into)).expect("room");
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &wire.namespace(end), "iperf3"]).args(args).stdout(out);
        command.spawn().expect("it starts")
    };
    let mut server = iperf3("b", &["-s", "-1"], "server.txt");
    // It listens when it does; a client that is refused tries again.
    let mut tries = 0;
    let mut client = loop {
        let args = ["-c", "192.0.2.2", "-b", "200M", "-t", "14", "-J"];
        let mut client = iperf3("a", &args, "iperf3.json");
        clock::sleep_until(clock::now().plus(Ns::millis(500)));
        match client.try_wait().expect("it can be asked") {
            None => break client,
            Some(_) => tries += 1,
        }
        assert!(tries < 60, "iperf3 finds its server");
    };
    let run = wire.command("a", &bench, &["run", "port.toml", "--out", "p.wsr"]).output();
    assert_eq!(ended(run.expect("it starts")).code, 0);
    assert!(client.wait().expect("it ends").success() && server.wait().expect("it ends").success());
    let [sent] = seconds_of(&open(&bench.path("p.wsr")), "near.nic:0", ["write-bytes"]);
    let [_, said] = of_load(&bench, "iperf3.json");
    // The port counts the headers of frames, which the program does not: 66 bytes of up to 1514, fewer where segments are left whole.
    lies("iperf3", said, [sent[0] * (1448.0 / 1514.0), sent[1]]);
}

/// A folder of HCIBench: the summary without times stands beside results with times, which say more.
#[test]
fn a_folder_with_a_summary_beside_its_results_is_explained() {
    let bench = Bench::new("");
    std::fs::create_dir(bench.path("hci")).expect("a folder");
    let side = r#"{"io_bytes":40960000,"bw":4000,"runtime":10000,"total_ios":10000,"lat_ns":{"mean":2000000.0}}"#;
    let result = format!(
        r#"{{"fio version":"fio-3.28","timestamp_ms":1700000030000,"jobs":[{{"jobname":"a","groupid":0,"error":0,"eta":0,"elapsed":11,"read":{side},"write":{side}}}]}}"#
    );
    std::fs::write(bench.path("hci/vm-1.json"), result).expect("a file");
    let summary = "JOB_NAME\t= a\nVMs\t\t= 1\nIOPS\t\t= 9.00 IO/S\nTHROUGHPUT\t= 1.00 MB/s\nR_LATENCY\t= 2.00 ms\n";
    std::fs::write(bench.path("hci-res.txt"), summary).expect("a file");
    std::fs::copy(bench.path("hci-res.txt"), bench.path("hci/case-res.txt")).expect("a copy");
    let said = bench.expect(0, &["explain", "hci", "--out", "hci.wsr"]);
    assert!(
        said.stderr.contains("the results beside them say more: hci/case-res.txt"),
        "{}",
        said.stderr
    );
    assert!(said.stdout.contains("2,000 IOPS"), "{}", said.stdout);
    // Alone it is all there is.
    let said = bench.expect(0, &["explain", "hci-res.txt", "--out", "sum.wsr"]);
    assert!(said.stdout.contains("9.00 IOPS") || said.stdout.contains("9 IOPS"), "{}", said.stdout);
}

/// Tests of fio that waited for each other: nothing of the one is missing in the other, and what a generator's own processor
/// leaves is no promise of the disk.
#[test]
fn of_a_test_nothing_is_asked_that_belongs_to_another() {
    let bench = Bench::new("");
    let job = |name: &str, group: u32, cpu: f64| {
        format!(
            r#"{{"jobname":"{name}","groupid":{group},"error":0,"elapsed":21,"usr_cpu":{cpu},"sys_cpu":0.0,"read":{{"io_bytes":40960000,"runtime":10000,"total_ios":10000,"lat_ns":{{"mean":4000000.0}}}},"write":{{"io_bytes":0,"runtime":0,"total_ios":0}}}}"#
        )
    };
    let jobs = [job("seq", 0, 20.0), job("rand", 1, 40.0)].join(",");
    let text =
        format!(r#"{{"fio version":"fio-3.28","timestamp_ms":1700000030000,"jobs":[{jobs}]}}"#);
    std::fs::write(bench.path("fio.json"), text).expect("a file");
    let said = bench.expect(0, &["explain", "fio.json", "--out", "fio.wsr"]).stdout;
    let said = said.split_whitespace().collect::<Vec<&str>>().join(" ");
    for wrong in ["ot the whole time", "counters of", "less than specified", "did not report"] {
        assert!(!said.contains(wrong), "{wrong}: {said}");
    }
    // 20% of a processor, and 4 in flight.
    assert!(said.contains("may become 5 times as many until it is full"), "{said}");
    assert!(said.contains("would carry up to") && said.contains("if nothing else holds"), "{said}");
}

/// Of what NTttcp moved nobody counted the operations: they are not none.
#[test]
fn of_a_load_of_bytes_alone_no_operations_are_said() {
    let bench = Bench::new("");
    let result = "<ntttcps computername=\"A\">\n<total_bytes metric=\"MB\">90000.0</total_bytes>\n<realtime metric=\"s\">60.0</realtime>\n<throughput metric=\"mbps\">12000.000</throughput>\n</ntttcps>\n";
    std::fs::write(bench.path("sent.xml"), result).expect("a file");
    let said = bench.expect(0, &["explain", "sent.xml", "--out", "sent.wsr"]);
    assert!(said.stdout.contains("1500 MB/s (observed load)"), "{}", said.stdout);
    let row = said.stdout.lines().find(|line| line.trim_start().starts_with("whole"));
    let cells: Vec<&str> = row.expect("a row").split_whitespace().collect();
    assert_eq!(cells[..3], ["whole", "-", "1,500"], "{}", said.stdout);
    bench.expect(0, &["review", "sent.wsr", "--out", "sent.html"]);
    let page = std::fs::read_to_string(bench.path("sent.html")).expect("a page");
    assert!(!page.contains("0 IOPS"), "a page says IOPS");
    for wrong in ["scenario inside this record", "the scenario sets"] {
        assert!(!page.contains(wrong), "nobody planned what was observed: {wrong}");
    }
}

/// What is to be collected on the places that are named, and mistakes that point.
#[test]
fn what_to_collect_is_said_of_the_places_named() {
    let bench = Bench::new("");
    let all = bench.expect(0, &["explain", "--collect"]).stdout;
    assert!(all.contains("Brocade switch (brocade:NAME)") && all.contains("Prometheus"), "{all}");
    let some =
        bench.expect(0, &["explain", "--collect", "esxi:esx1", "brocade:sw1", "linux:db1"]).stdout;
    for command in
        ["ssh root@esx1 'esxtop", "echo 'sw1:admin> date'; ssh admin@sw1", "> iostat-db1.txt"]
    {
        assert!(some.contains(command), "{command}: {some}");
    }
    assert!(!some.contains("NAME") && !some.contains("Prometheus"), "{some}");
    let wrong = bench.expect(2, &["explain", "--collect", "db1"]).stderr;
    assert!(wrong.contains("linux:db1") && wrong.contains("brocade"), "{wrong}");
    let wrong = bench.expect(2, &["explain", "--collect", "linux:db1; reboot"]).stderr;
    assert!(wrong.contains("no name"), "{wrong}");
}

/// A file that gzip packed is read as it is, also where it is cut off; what it does not unpack is said.
#[test]
fn packed_files_are_read() {
    let bench = Bench::new("");
    let mut text = "Linux 6.1 (db1) \t2024-05-07 \t_x86_64_\t(2 CPU)\n\n".to_owned();
    for at in 0..600 {
        text += &format!(
            "2024-05-07 09:{:02}:{:02}\nDevice r/s w/s rkB/s wkB/s r_await w_await aqu-sz %util\nsda {}.00 0.00 400.00 0.00 2.00 0.00 0.20 50.00\n\n",
            at / 60,
            at % 60,
            100 + at % 7
        );
    }
    std::fs::write(bench.path("io.txt"), &text).expect("a file");
    let gzip = Command::new("gzip").arg("-k").arg(bench.path("io.txt")).status();
    assert!(gzip.is_ok_and(|status| status.success()), "gzip");
    let plain = bench.expect(0, &["explain", "io.txt", "--out", "a.wsr"]).stdout;
    let packed = bench.expect(0, &["explain", "io.txt.gz", "--out", "b.wsr"]).stdout;
    let figures = |text: &str| {
        let lines =
            text.lines().filter(|line| line.contains("IOPS") || line.starts_with("  whole"));
        lines.map(str::to_owned).collect::<Vec<String>>()
    };
    assert_eq!(figures(&plain), figures(&packed));
    let bytes = std::fs::read(bench.path("io.txt.gz")).expect("a file");
    std::fs::write(bench.path("cut.gz"), &bytes[..bytes.len() / 2]).expect("a file");
    let cut = bench.expect(0, &["explain", "cut.gz", "--out", "c.wsr"]).stdout;
    assert!(cut.contains("cut off"), "{cut}");
    let mut broken = bytes;
    let middle = broken.len() / 2;
    broken[middle..middle + 64].fill(0xff);
    std::fs::write(bench.path("broken.gz"), &broken).expect("a file");
    let said = bench.expect(2, &["explain", "broken.gz", "--out", "d.wsr"]).stderr;
    assert!(said.contains("broken.gz"), "{said}");
}

const LAB: &str = r#"
[scenario]
title = "What stands there"
[[part]]
name = "sw-8gb"
kind = "switch"
figures = [{ name = "port_rate", value = "8gfc", source = "its data sheet", kind = "data-sheet" }]
[[host]]
name = "esx1"
adapters = [{ name = "vmhba2", part = "qle2560" }]
[[switch]]
name = "sw1"
part = "sw-8gb"
[[array]]
name = "fa1"
part = "ramsan-400"
[[vm]]
name = "vm"
host = "esx1"
disks = [{ lun = "fa1/auto", map = "rdm" }]
[workload.any]
block = "64KiB"
read = 100
depth = 8
[plan]
workload = "any"
on = "vm"
measure = "5s"
"#;

/// A scenario that stands for the lab tells what no file says: how fast ports are.
#[test]
fn a_scenario_tells_the_speeds_of_ports() {
    let bench = Bench::new("");
    std::fs::write(bench.path("lab.toml"), LAB).expect("a file");
    let counters = ["Reads/sec", "Writes/sec", "MBytes Read/sec", "MBytes Written/sec"];
    let names = counters.map(|of| format!(",\"\\\\esx1\\Physical Disk Adapter(vmhba2)\\{of}\""));
    let rows: String = (0..4)
        .map(|at| format!("\r\n\"11/24/2026 10:0{at}:00\",\"8000\",\"0\",\"500\",\"0\""))
        .collect();
    let esx = format!("\"(PDH-CSV 4.0) (UTC)(0)\"{}{rows}\r\n", names.concat());
    std::fs::write(bench.path("esx.csv"), esx).expect("a file");
    let look = |at: u64| {
        let words = 500 * 1_048_576 / 4 * 60 * at;
        format!(
            "sw1:admin> date\nTue Nov 24 10:0{at}:00 UTC 2026\nsw1:admin> portstats64show 0\nstat64_wtx {} top_int : 4-byte words transmitted\n {} bottom_int : 4-byte words transmitted\nstat64_wrx 0 top_int : 4-byte words received\n 0 bottom_int : 4-byte words received\n",
            words >> 32,
            words & 0xffff_ffff
        )
    };
    std::fs::write(bench.path("sw.txt"), (0..4).map(look).collect::<String>()).expect("a file");
    let explain = ["explain", "esx.csv", "sw.txt", "--clocks", "keep", "--format", "json"];
    let unknown = bench.expect(0, &[&explain[..], &["--out", "a.wsr"]].concat()).stdout;
    let known = [&explain[..], &["--out", "b.wsr", "--topology", "lab.toml"]].concat();
    let known = bench.expect(0, &known).stdout;
    let full = |text: &str, name: &str| {
        let review: Value = serde_json::from_str(text).expect("one document");
        let hops = review["steps"][0]["attribution"]["hops"].as_array().expect("hops").clone();
        let hop = hops.into_iter().find(|hop| hop["hop"] == name);
        hop.unwrap_or_else(|| panic!("no {name}: {text}"))["utilization"].as_f64()
    };
    // 500 MiB/s of the payload that a line of 8 Gb/s carries.
    for port in ["esx1/vmhba2", "sw1/port 0"] {
        assert_eq!(full(&unknown, port), None);
        let share = full(&known, port).unwrap_or_else(|| panic!("{port}: {known}"));
        assert!((share - 0.634).abs() < 0.01, "{port}: {share}");
    }
    std::fs::write(bench.path("bad.toml"), "[scenario]\ntitel = \"x\"\n").expect("a file");
    let bad = [&explain[..], &["--out", "c.wsr", "--topology", "bad.toml"]].concat();
    let said = bench.expect(2, &bad).stderr;
    assert!(said.contains("bad.toml:2") && said.contains("titel"), "{said}");
}
