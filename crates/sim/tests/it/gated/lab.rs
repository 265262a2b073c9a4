//! A lab on the machine that carries both ends: its threads, and the ports that are token buckets, by closed forms.

use super::{near, responses, simulated};
use scenario::Source;
use sim::estimate::estimate;
use sim::plant::Plant;

/// Waking, a pass of both ends, an I/O, a byte: in seconds.
const COSTS: [f64; 4] = [20e-6, 8e-6, 3e-6, 0.2e-9];

/// The plant of a lab with so many VMs, a port's rate, a workload and further figures of the machine.
fn plant(vms: u32, port: &str, work: &str, figures: &str) -> Plant {
    built(text(vms, port, work, figures))
}

fn text(vms: u32, port: &str, work: &str, figures: &str) -> String {
    format!(
        r#"
[scenario]
title = "A machine"
[[part]]
name = "box"
kind = "hypervisor"
figures = [
  {{ name = "io_cores", value = "2", source = "a test", kind = "assumed" }},
  {{ name = "wake_time", value = "20us", source = "a test", kind = "assumed" }},
  {{ name = "pass_time", value = "8us", source = "a test", kind = "assumed" }},
  {{ name = "cpu_per_io", value = "3us", source = "a test", kind = "assumed" }},
  {{ name = "cpu_per_byte", value = "0.2 ns/B", source = "a test", kind = "assumed" }},
  {figures}
]
[[host]]
name = "here"
hypervisor = "box"
[[array]]
name = "store"
part = "this-target"
embedded = {{ ports = [{{ name = "p1"{port} }}] }}
[[volume]]
name = "disk{{1..4}}"
array = "store"
size = "64MiB"
[[vm]]
name = "vm{{1..{vms}}}"
host = "here"
vcpus = 4
scsi = ["this-initiator"]
disks = [{{ lun = "store/disk{{1..{vms}}}" }}]
[workload.w]
random = 100
{work}
[plan]
workload = "w"
on = "vm*"
warmup = "100ms"
measure = "1s"
"#
    )
}

fn built(text: String) -> Plant {
    let source = Source { name: "machine.toml".to_owned(), text, ..Source::default() };
    let scenario = scenario::load(&source).unwrap_or_else(|wrong| panic!("{wrong}"));
    let topology = scenario.topology().unwrap_or_else(|wrong| panic!("{wrong}"));
    let step = &scenario.steps()[0];
    sim::lab::compile(&scenario, &topology, step).unwrap_or_else(|wrong| panic!("{wrong}"))
}

/// A cycle of one VM with so many I/Os of so many bytes.
fn cycle(depth: f64, bytes: f64) -> f64 {
    let [wake, pass, each, byte] = COSTS;
    2.0 * wake + pass + depth * (each + byte * bytes)
}

#[test]
fn costs_fall_with_depth() {
    for (depth, block, bytes) in
        [(1.0, "8KiB", 8192.0), (2.0, "8KiB", 8192.0), (7.0, "8KiB", 8192.0), (64.0, "512B", 512.0)]
    {
        let plant = plant(1, "", &format!("block = \"{block}\"\ndepth = {depth}"), "");
        let truth = depth / cycle(depth, bytes);
        near("simulated", simulated(&plant.network, 0.2).0, truth, 0.01);
        near("estimated", estimate(&plant).iops, truth, 0.01);
    }
}

/// An initiator that polls is there when the I/Os of its target's pass come, and takes all of them: they have left together, and
/// the nanosecond that the array takes for each does not part them.
#[test]
fn a_thread_that_polls_takes_what_was_sent_together() {
    let polls = r#"
  { name = "poll_time", value = "200us", source = "a test", kind = "assumed" },"#;
    for depth in [1.0, 2.0, 4.0, 7.0] {
        let plant = plant(1, "", &format!("block = \"8KiB\"\ndepth = {depth}"), polls);
        let truth = depth / (cycle(depth, 8192.0) - COSTS[0]);
        near(&format!("simulated {depth}"), simulated(&plant.network, 0.2).0, truth, 0.01);
        near(&format!("estimated {depth}"), estimate(&plant).iops, truth, 0.01);
    }
}

/// Eight reads of 8 KiB and their headers are more than a segment of TCP: seven leave while the eighth is served, which saves
/// what the sender does for one of them. Seven leave together.
#[test]
fn headers_part_eight_reads_of_8_kib() {
    let [_, _, each, byte] = COSTS;
    let one = (each + byte * 8192.0) / 2.0;
    for (depth, saved) in [(7.0, 0.0), (8.0, one), (12.0, one * 5.0)] {
        let plant = plant(1, "", &format!("block = \"8KiB\"\ndepth = {depth}"), "");
        let truth = depth / (cycle(depth, 8192.0) - saved);
        near(&format!("simulated {depth}"), simulated(&plant.network, 0.2).0, truth, 0.005);
        near(&format!("estimated {depth}"), estimate(&plant).iops, truth, 0.005);
    }
}

/// The end that has the data sends the first 64 KiB while it serves the second, and that takes less than the other end needs
/// to wake: a cycle is shorter by what one end does for one I/O.
#[test]
fn a_pass_sends_its_data_in_parts() {
    for read in [100, 0] {
        let work = format!("block = \"64KiB\"\ndepth = 2\nread = {read}");
        let plant = plant(1, "", &work, "");
        let [_, _, each, byte] = COSTS;
        let truth = 2.0 / (cycle(2.0, 65_536.0) - (each + byte * 65_536.0) / 2.0);
        near(&format!("simulated {read}"), simulated(&plant.network, 0.2).0, truth, 0.01);
        near(&format!("estimated {read}"), estimate(&plant).iops, truth, 0.01);
    }
}

/// Bytes cost more while a VM leaves a processor to the other end. With a VM for each, both ends take turns on its own.
#[test]
fn bytes_cost_more_between_two_processors() {
    let apart = r#"
  { name = "cpu_per_byte_apart", value = "0.9 ns/B", source = "a test", kind = "assumed" },
  { name = "cross_time", value = "9us", source = "a test", kind = "assumed" },"#;
    let [wake, pass, each, byte] = COSTS;
    let alone = 1.0 / (2.0 * wake + pass + each + 0.9e-9 * 65_536.0);
    // No processor is idle when a thread wakes, so that no waking is seen: each VM has one of its own.
    let two = 2.0 / (pass + each + byte * 65_536.0);
    // Four share two processors: by chance, every other time, a thread wakes another on the other one, which is busy.
    let four = 2.0 / (pass + 9e-6 / 2.0 + each + (byte + (0.9e-9 - byte) / 2.0) * 65_536.0);
    for (vms, truth, within) in [(1, alone, 0.01), (2, two, 0.06), (4, four, 0.06)] {
        let plant = plant(vms, "", "block = \"64KiB\"\ndepth = 1", apart);
        near(&format!("simulated {vms}"), simulated(&plant.network, 0.2).0, truth, within);
        near(&format!("estimated {vms}"), estimate(&plant).iops, truth, within);
    }
}

/// Two machines with a VM each leave a processor to the other end, as one does, and hold no more bytes.
#[test]
fn each_machine_counts_its_own_vms() {
    let figures = r#"
  { name = "cpu_per_byte_apart", value = "0.9 ns/B", source = "a test", kind = "assumed" },
  { name = "cache", value = "64KiB", source = "a test", kind = "assumed" },
  { name = "cpu_per_byte_uncached", value = "0.4 ns/B", source = "a test", kind = "assumed" },"#;
    let two = text(2, "", "block = \"64KiB\"\ndepth = 1", figures);
    let two = built(two.replace("\"here\"", "\"here{1..2}\""));
    let [wake, pass, each, _] = COSTS;
    let truth = 2.0 / (2.0 * wake + pass + each + 0.9e-9 * 65_536.0);
    near("simulated", simulated(&two.network, 0.2).0, truth, 0.01);
    near("estimated", estimate(&two).iops, truth, 0.01);
}

/// Bytes in flight on a processor that do not fit into its caches.
#[test]
fn bytes_cost_more_once_they_exceed_the_caches() {
    let caches = r#"
  { name = "cache", value = "32KiB", source = "a test", kind = "assumed" },
  { name = "cpu_per_byte_uncached", value = "0.4 ns/B", source = "a test", kind = "assumed" },"#;
    let [wake, pass, each, byte] = COSTS;
    // Of the 56 KiB that are in flight on a processor 24 do not fit.
    let served = pass + 7.0 * (each + (byte + 0.4e-9 * 24.0 / 56.0) * 8192.0);
    for (vms, truth, within) in [(1, 7.0 / (2.0 * wake + served), 0.01), (2, 14.0 / served, 0.03)] {
        let plant = plant(vms, "", "block = \"8KiB\"\ndepth = 7", caches);
        near(&format!("simulated {vms}"), simulated(&plant.network, 0.2).0, truth, within);
        near(&format!("estimated {vms}"), estimate(&plant).iops, truth, within);
    }
    // What fits costs no more.
    let plant = plant(1, "", "block = \"8KiB\"\ndepth = 4", caches);
    near("within", simulated(&plant.network, 0.2).0, 4.0 / cycle(4.0, 8192.0), 0.01);
}

/// An I/O every 5 ms finds both processors halted: its target wakes late. Its initiator does as well, before it issues it, which
/// only the response time has.
#[test]
fn processors_halt_between_ios() {
    let halts = r#"
  { name = "halt_time", value = "100us", source = "a test", kind = "assumed" },
  { name = "halt_wake_time", value = "35us", source = "a test", kind = "assumed" },"#;
    let plant = plant(1, "", "block = \"8KiB\"\nrate = \"200 IOPS\"\nlimit = 8", halts);
    let truth = cycle(1.0, 8192.0) + 35e-6;
    near("latency", simulated(&plant.network, 20.0).1, truth, 0.02);
    let [wake, pass, ..] = COSTS;
    let responds = truth + wake + 35e-6 + pass / 2.0;
    near("response", responses(&plant.network, 20.0), responds, 0.02);
    near("estimated", estimate(&plant).latency().expect("a latency"), truth, 0.02);
}

/// A port that is full gives its rate; one that is not costs nothing, whatever its wire would take.
#[test]
fn a_paced_port_is_a_bucket_beside_the_processors() {
    for (port, depth, block) in
        [("150 MB/s", 1.0, 8192.0), ("50 MB/s", 1.0, 8192.0), ("150 MB/s", 32.0, 8192.0)]
    {
        let work = format!("block = {block:.0}\ndepth = {depth}")
            .replace("block = 8192", "block = \"8KiB\"");
        let plant = plant(1, &format!(", rate = \"{port}\""), &work, "");
        let rate: f64 = port.trim_end_matches(" MB/s").parse::<f64>().expect("a rate") * 1e6;
        let truth = (depth / cycle(depth, block)).min(rate / block);
        near(&format!("simulated {port} {depth}"), simulated(&plant.network, 1.0).0, truth, 0.01);
        near(&format!("estimated {port} {depth}"), estimate(&plant).iops, truth, 0.02);
    }
    // 16 KiB take 819 us of a wire of 20 MB/s, which has 20,000 bytes for it at once.
    let work = "block = \"16KiB\"\nrate = \"200 IOPS\"\nlimit = 8";
    let plant = plant(1, ", rate = \"20 MB/s\"", work, "");
    let truth = cycle(1.0, 16_384.0);
    near("simulated burst", simulated(&plant.network, 20.0).1, truth, 0.02);
    let told = estimate(&plant).latency().expect("a latency");
    near("estimated burst", told, truth, 0.1);
}

#[test]
fn what_lies_beyond_the_fit_is_said() {
    let range = r#"
  { name = "fitted_depth_max", value = "32", source = "a test", kind = "assumed" },
  { name = "fitted_block_min", value = "8KiB", source = "a test", kind = "assumed" },
  { name = "fitted_block_max", value = "64KiB", source = "a test", kind = "assumed" },
  { name = "fitted_vms_max", value = "2", source = "a test", kind = "assumed" },
  { name = "fitted_rate_max", value = "9000 IOPS", source = "a test", kind = "assumed" },"#;
    let said = |vms, work: &str| -> Vec<String> {
        let notes = plant(vms, "", work, range).notes;
        let of = |note: &sim::plant::PlantNote| {
            let (what, _) = note.text.strip_prefix("extrapolated: a ")?.split_once(" is ")?;
            Some(what.rsplit_once(" of ")?.0.to_owned())
        };
        notes.iter().filter_map(of).collect()
    };
    assert_eq!(said(2, "block = \"8KiB\"\ndepth = 32"), Vec::<String>::new());
    assert_eq!(said(1, "block = \"8KiB\"\ndepth = 33"), ["depth"]);
    assert_eq!(said(3, "block = \"128KiB\"\ndepth = 1"), ["block size", "number of VMs"]);
    assert_eq!(said(1, "block = \"4KiB\"\ndepth = 1"), ["block size"]);
    assert_eq!(said(1, "block = \"8KiB\"\nrate = \"9001 IOPS\"\nlimit = 64"), ["rate"]);
}

/// An open loop that a machine carries, and one that it does not.
#[test]
fn overload_is_told() {
    // A closed loop of 64 has 402,000 a second.
    for (rate, limit, busy) in [
        (10_000, 64, 0.025),
        (150_000, 64, 0.373),
        (390_000, 64, 0.97),
        (500_000, 64, 0.99),
        (900_000, 64, 0.99),
        (900_000, 1000, 0.99),
    ] {
        let work = format!("block = \"8KiB\"\nrate = \"{rate} IOPS\"\nlimit = {limit}");
        let plant = plant(1, "", &work, "");
        let (iops, latency) = simulated(&plant.network, 0.3);
        let told = estimate(&plant);
        let at = plant.hops.iter().position(|hop| hop.name == "here.cpu").expect("a hop");
        let what = format!("{rate} with {limit} outstanding");
        near(&what, told.iops, iops, 0.06);
        // What waits to be issued is outstanding as well, and the estimate does not tell it from the others.
        if iops > 0.97 * f64::from(rate) {
            near(&what, told.latency().expect("a latency"), latency, 0.1);
        }
        let used = told.hops[at].utilization;
        assert!((used - busy).abs() < 0.02, "{what}: {used}");
    }
}

/// A closed loop of one VM and an open one of another: both are answered at once, and the open one's rate is carried. How much
/// the closed one gains by threads that the other keeps awake the estimate does not know, and says so.
#[test]
fn closed_and_open_loops_share_a_machine() {
    for (depth, rate) in [(1, 1_000), (1, 20_000), (8, 1_000), (8, 20_000), (32, 100_000)] {
        let work = format!(
            "block = \"8KiB\"\ndepth = {depth}\n[workload.o]\nblock = \"8KiB\"\nrate = \"{rate} IOPS\""
        );
        let two = "load = [{ workload = \"w\", on = \"vm1\" }, { workload = \"o\", on = \"vm2\" }]";
        let plant = built(text(2, "", &work, "").replace("workload = \"w\"\non = \"vm*\"", two));
        let (iops, _) = simulated(&plant.network, 0.2);
        let told = estimate(&plant);
        let what = format!("a depth of {depth} beside {rate}");
        assert!(
            told.iops >= 0.6 * iops && told.iops <= 1.1 * iops,
            "{what}: {} of {iops}",
            told.iops
        );
        near(&what, told.issuers[1].flows[0].ops, f64::from(rate), 0.01);
        assert!(told.left_out.iter().any(|of| of.contains("awake")), "{:?}", told.left_out);
    }
}
