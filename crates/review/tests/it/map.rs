//! The map on a page: what of a record is drawn, in which words, and how large it may become.

use crate::support::{Sketch, Work};
use findings::attribution::{Attribution, Gauge, HopLoad, Limiter};
use findings::map::lab_map;
use findings::{Analysis, evidence};
use insta::assert_snapshot;
use record::Record;
use scenario::topology::{Hop, HopId, HopKind, Route, Topology, Way};

const SAN: &str = include_str!("../../../../scenarios/san.toml");

const LAB: &str = r#"
scenario.title = "One VM behind one adapter"
target = [{ name = "disk", url = "null:", size = "1GiB" }]
host = [{ name = "esx" }]
[[vm]]
name = "vm1"
host = "esx"
disks = [{ target = "disk" }]
[workload.mix]
block = "8KiB"
[plan]
workload = "mix"
on = "vm1"
measure = "2s"
sweep = { depth = [1, 2] }
"#;

fn page(record: &Record, analysis: &Analysis) -> String {
    let evidence = evidence(record, analysis).expect("the record is read");
    review::html(analysis, &evidence, &record.head().scenario)
}

#[track_caller]
fn picture(page: &str) -> String {
    let start = page.find("<svg class=\"lab\"").expect("there is a map");
    let end = page[start..].find("</svg>").expect("it ends");
    page[start..start + end].replace("><", ">\n<")
}

/// The words of a picture, in the order in which they are drawn.
fn words(picture: &str) -> Vec<String> {
    let texts = picture.lines().filter(|line| line.starts_with("<text"));
    let words = texts.filter_map(|line| line.split_once('>')?.1.strip_suffix("</text>"));
    words.map(str::to_owned).collect()
}

/// An adapter with so many LUN queues, a cable, and a port with a device for each LUN.
fn topology(luns: usize) -> Topology {
    let mut topology = Topology::default();
    let mut hop = |name: String, kind, device: &str| {
        if let Some(known) = topology.find(&name) {
            return known;
        }
        let (device, part) = (device.to_owned(), None);
        topology.hops.push(Hop { name, kind, device, part, count: 1 });
        HopId(topology.hops.len() as u32 - 1)
    };
    let way = |n: usize| {
        let hops = vec![
            hop("esx.cpu".into(), HopKind::HostCpu, "esx"),
            hop(format!("esx.hba.ssd/lun{n}"), HopKind::LunQueue, "esx"),
            hop("esx.hba".into(), HopKind::Adapter, "esx"),
            hop("cable".into(), HopKind::Link, "cable"),
            hop("ssd:0".into(), HopKind::TargetPort, "ssd"),
            hop(format!("ssd/lun{n}.disks"), HopKind::Disks, "ssd"),
        ];
        let paths = vec![Route { name: None, hops }];
        let (member, volume) = ("vm1".to_owned(), format!("ssd/lun{n}"));
        Way { member, disk: n as u32, volume, policy: scenario::Policy::Fixed, paths }
    };
    topology.ways = (0..luns).map(way).collect();
    topology
}

/// A record and its analysis, as if it had been made on such a lab: the adapter is full, the cable half full each way.
fn on_lab(luns: usize) -> (tempfile::TempDir, Record, Analysis) {
    on(LAB, luns)
}

fn on(lab: &str, luns: usize) -> (tempfile::TempDir, Record, Analysis) {
    let (dir, record) = Sketch::of(lab).record(|_, _| Work { read: 67, ..Work::default() });
    let mut analysis = findings::analyse(&record).expect("the record is analysed");
    let topology = topology(luns);
    let source =
        scenario::Source { name: "lab".into(), text: lab.into(), ..scenario::Source::default() };
    let mut scenario = scenario::load(&source).expect("a right scenario");
    scenario.lab.vms.iter_mut().for_each(|vm| vm.disks.clear());
    analysis.map = lab_map(Some(&scenario), Some(&topology), &[], &[], &[]);
    let hops: Vec<HopLoad> = topology.hops.iter().filter_map(load).collect();
    let hop = "esx.hba".to_owned();
    let limit = Limiter::Hop { hop, why: findings::attribution::HopLimit::Rate, also: vec![] };
    for step in &mut analysis.steps {
        let (limit, hops) = (limit.clone(), hops.clone());
        let (runner_up, turns) = (None, None);
        let clues = vec![];
        let judged = Attribution { limit, probability: 0.9, runner_up, clues, turns, hops };
        step.attribution = Some(judged);
    }
    (dir, record, analysis)
}

fn load(hop: &Hop) -> Option<HopLoad> {
    let (name, device) = (hop.name.clone(), hop.device.clone());
    let counted = HopLoad { hop: name, device, queue: Some(2.0), ..HopLoad::default() };
    match hop.kind {
        HopKind::Adapter => Some(HopLoad { utilization: Some(0.99), ..counted }),
        HopKind::Link => Some(HopLoad {
            read_bytes_per_s: Some(400e6),
            write_bytes_per_s: Some(200e6),
            read_rate_bytes_per_s: Some(800e6),
            write_rate_bytes_per_s: Some(800e6),
            utilization: Some(0.5),
            of: Some(Gauge::Receive),
            ..counted
        }),
        // The port does not count.
        HopKind::TargetPort => None,
        _ => Some(HopLoad { utilization: Some(0.1), ..counted }),
    }
}

#[test]
fn a_lab_is_drawn_from_the_host_to_the_array() {
    let (_dir, record, analysis) = on_lab(2);
    let page = page(&record, &analysis);
    let picture = picture(&page);
    assert_eq!(
        words(&picture),
        [
            "esx",
            "ssd",
            "vm1",
            "CPU",
            "10%",
            "hba.ssd/lun0",
            "10%",
            "hba.ssd/lun1",
            "10%",
            "hba",
            "99%",
            "port 0",
            "–",
            "lun0",
            "10%",
            "lun1",
            "10%",
            "I/O",
            "8.19 MB/s",
            "cable",
            "◂",
            "400 MB/s",
            "50%",
            "▸",
            "200 MB/s",
            "25%",
        ]
    );
    assert_eq!(picture.matches(" limit\"").count(), 1, "{picture}");
    assert!(page.contains("Limited by esx.hba (probability 0.90)."), "the line of the step");
    assert_snapshot!(picture);
}

#[test]
fn who_is_idle_does_not_limit() {
    let idle =
        "[[vm]]\nname = \"idle\"\nhost = \"esx\"\ndisks = [{ target = \"disk\" }]\n[workload.mix]";
    let (_dir, record, mut analysis) = on(&LAB.replace("[workload.mix]", idle), 1);
    for judged in analysis.steps.iter_mut().filter_map(|step| step.attribution.as_mut()) {
        judged.limit = Limiter::Depth;
    }
    let picture = picture(&page(&record, &analysis));
    assert!(words(&picture).contains(&"idle".to_owned()), "{picture}");
    assert_eq!(picture.matches(" limit\"").count(), 1, "{picture}");
}

#[test]
fn an_array_in_small_has_ports_and_volumes_and_nothing_that_it_lacks() {
    let sketch = Sketch::of(SAN).passed("store.p1", 0.5).passed("store.p2", 0.5);
    let sketch = ["store/disk1", "store/disk2"].iter().fold(sketch, |s, v| s.passed(v, 0.5));
    let (_dir, record) = sketch.record(|_, _| Work { read: 70, ..Work::default() });
    let analysis = findings::analyse(&record).expect("the record is analysed");
    let drawn = picture(&page(&record, &analysis));
    let words = words(&drawn);
    assert_snapshot!(
        words.join(" · "),
        @"store · vm1, vm2 ×2 · p1 · 7.6% · p2 · 7.1% · disk1 · 8.19 MB/s · disk2 · 8.19 MB/s · I/O · 16.4 MB/s"
    );
}

#[test]
fn words_of_a_record_are_no_markup() {
    let (_dir, record, mut analysis) = on_lab(1);
    let hostile = "</title><script>alert(1)</script>";
    for hop in &mut analysis.map.as_mut().expect("a map").hops {
        hop.name = format!("{}{hostile}", hop.name);
    }
    for device in &mut analysis.map.as_mut().expect("a map").devices {
        device.name = hostile.to_owned();
        device.part = Some(hostile.to_owned());
    }
    let page = page(&record, &analysis);
    assert!(!page.contains("<script>alert"), "it would be run");
    assert!(picture(&page).contains("&lt;/title&gt;"), "and is shown");
}

/// The map of the largest lab adds at most so much to a page.
#[test]
fn there_is_an_end_to_the_size_of_a_map() {
    let (_dir, record, mut analysis) = on_lab(5000);
    let map = analysis.map.as_ref().expect("a map");
    assert_eq!(map.hops.len(), findings::map::HOPS_MAX);
    assert!(map.left_out > 5000);
    let with = page(&record, &analysis).len();
    analysis.map = None;
    let without = page(&record, &analysis).len();
    assert!(with - without < 3_000_000, "{} bytes", with - without);
}

#[test]
fn the_terminal_and_markdown_name_the_fullest_hops() {
    let (_dir, _record, analysis) = on_lab(2);
    let text = review::terminal(&analysis, review::Style { color: false, width: 100 });
    let hops = text.split("\n\n").find(|part| part.starts_with("Hops")).unwrap_or_default();
    assert_snapshot!(hops, @r#"
Hops
  depth  limited by  sure    fullest        second        third
                        %              %             %              %
      1  esx.hba       90  ◆ esx.hba  99    cable   50    esx.cpu  10
      2  esx.hba       90  ◆ esx.hba  99    cable   50    esx.cpu  10
"#);
    let markdown = review::markdown(&analysis);
    let hops = markdown.split("### ").find(|part| part.starts_with("Hops")).unwrap_or_default();
    assert_snapshot!(hops.trim_end(), @r#"
Hops

| step | limited by | sure % | fullest hops |
| --- | --- | --: | --- |
| depth 1 | esx.hba | 90 | **esx.hba** 99%, cable 50%, esx.cpu 10% |
| depth 2 | esx.hba | 90 | **esx.hba** 99%, cable 50%, esx.cpu 10% |
"#);
}

/// Quick up to a depth of 5, slow beyond; the step that moves most is not the answer.
#[test]
fn the_map_of_a_search_opens_on_the_step_of_its_answer() {
    let lab = LAB
        .replace(
            "sweep = { depth = [1, 2] }",
            "search = { most = \"iops\", while = \"service mean <= 5 ms\", to = 16 }",
        )
        .replace("\"2s\"", "\"10s\"");
    let tried = [(1.0, 0), (2.0, 0), (4.0, 0), (8.0, 0), (6.0, 0), (5.0, 0), (6.0, 1), (5.0, 1)];
    let (_dir, record) = Sketch::of(&lab).tried(&tried).record(|step, _| {
        let workload::Arrivals::Closed { depth, .. } =
            step.loads[0].workload.disk().expect("of disks").spec.arrivals
        else {
            panic!("a closed loop")
        };
        let (service_ns, ops) = if depth <= 5 { (2e6, 500 * depth) } else { (8e6, 4000) };
        Work { ops: ops.into(), service_ns, ..Work::default() }
    });
    let analysis = findings::analyse(&record).expect("the record is analysed");
    assert!(analysis.searches[0].answer.contains("at depth 5"), "{}", analysis.searches[0].answer);
    let page = page(&record, &analysis);
    let (_, label) = page.split_once("id=\"map-label\"").expect("a label");
    assert!(label[..60].contains("depth 5"), "{}", &label[..60]);
}
