//! `iostat` and `sar` beside a load of ours: what they wrote is explained, and says what the record of the same minutes says.

use crate::peers::served::here;
use crate::prelude::*;
use crate::program::devices::Loop;
use crate::program::support::{Bench, open};

/// Seconds that the tools look.
const LOOKS: &str = "5";
/// How far outside the record's seconds a tool's mean may lie: the seconds of the tools are not those of the record.
const APART: f64 = 0.02;

/// The lowest and the highest that a second of the record says of the device, a second: of I/Os, of bytes, of busy time.
///
/// What a tool saw of some of these seconds lies among them, however unsteady the machine made them.
fn seconds_of(record: &record::Record, device: &str) -> [[f64; 2]; 3] {
    let is = |s: &&record::Source| s.hop().is_some() && s.name.ends_with(device);
    let hop = record.sources().iter().find(is).expect("the device is a hop").id;
    let counters = record.counters(Some(0)).expect("counters are readable");
    ["read-ops", "read-bytes", "busy"].map(|name| {
        let of_name = counters.iter().filter(|c| c.source == hop && c.kind.name() == name);
        let rates: Vec<f64> = of_name.map(|c| c.value / c.to.since(c.from).as_secs_f64()).collect();
        assert!(rates.len() >= 6, "{} seconds of {name}", rates.len());
        [rates.iter().copied().fold(f64::MAX, f64::min), rates.iter().copied().fold(0.0, f64::max)]
    })
}

/// The device in a review: I/Os and bytes a second that it read, the share of its time that it was busy; and the limit.
fn of_device(review: &str, device: &str) -> ([f64; 2], f64, String) {
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
    ([figure("iops"), figure("read_bytes_per_s")], figure("utilization"), limit)
}

#[test]
fn what_the_tools_of_the_system_saw_is_what_the_record_says() {
    if !here("iostat") || !here("sar") || !here("sadf") {
        return;
    }
    let bench = Bench::new("");
    let image = bench.path("image");
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
    std::thread::scope(|scope| {
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
    let [ios, bytes, busy] = seconds_of(&open(&bench.path("r.wsr")), &name);
    for file in ["io.txt", "io.json", "sa.json", "sa.xml"] {
        let args = ["explain", file, "--keep-first", "--format", "json", "--out", "e.wsr"];
        let (seen, utilization, limit) = of_device(&bench.expect(0, &args).stdout, &name);
        fs::remove_file(bench.path("e.wsr")).expect("its record");
        for (seen, [low, high]) in seen.into_iter().zip([ios, bytes]) {
            let fits = seen >= low * (1.0 - APART) && seen <= high * (1.0 + APART);
            assert!(fits, "{file}: {seen} of {low} to {high}");
        }
        // The tools round it to a percent or less; of a device that is idle for most of its time nothing is said to be full.
        let [low, high] = [busy[0] / 1e9 - APART, busy[1] / 1e9 + APART];
        assert!((low..=high).contains(&utilization), "{file}: {utilization} of {low} to {high}");
        assert!(["none", "unknown"].contains(&limit.as_str()), "{file}: {limit}");
    }
}
