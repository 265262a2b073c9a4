//! Random labs: none makes the compiler panic, and the simulation obeys the laws of any queueing network.

use super::rig::{Rig, Seen};
use super::{array, volume};
use proptest::prelude::*;
use sim::Ps;
use sim::model::{PoolId, Station, StationId};
use sim::plant::HopElement;

/// Figures of an array and of the volume on it, and the load.
#[derive(Clone, Debug)]
struct Case {
    figures: Vec<(&'static str, String)>,
    volume: String,
    disks: u32,
    work: String,
}

/// Some of these figures.
fn figures() -> impl Strategy<Value = Vec<(&'static str, String)>> {
    let rate = |name: &'static str| (20_u32..2000).prop_map(move |mb| (name, format!("{mb} MB/s")));
    let time = |name: &'static str| (1_u32..500).prop_map(move |us| (name, format!("{us} us")));
    let count = |name: &'static str| (1_u32..9).prop_map(move |count| (name, count.to_string()));
    let flag = |name: &'static str| {
        any::<bool>().prop_map(move |yes| (name, if yes { "yes" } else { "no" }.to_owned()))
    };
    let all = vec![
        rate("rate_max").boxed(),
        rate("read_rate").boxed(),
        rate("write_rate").boxed(),
        rate("backend_port_rate").boxed(),
        time("controller_time_per_io").boxed(),
        time("cache_hit_time").boxed(),
        count("controller_cores").boxed(),
        count("backend_ports").boxed(),
        flag("write_back").boxed(),
        flag("cache_mirrored").boxed(),
        (1_u32..60).prop_map(|k| ("iops_max", format!("{k}k IOPS"))).boxed(),
        (1_u32..40_000).prop_map(|mb| ("cache", format!("{mb} MB"))).boxed(),
        (0_u32..101).prop_map(|share| ("hit_share", format!("{share}%"))).boxed(),
    ];
    proptest::sample::subsequence(all, 0..13).prop_flat_map(|some| some)
}

fn case() -> impl Strategy<Value = Case> {
    let media = prop::sample::select(vec!["ram", "ssd", "disk", "file", "disk-15k"]);
    let raid = prop::sample::select(vec![
        ("raid-0", 1_u32),
        ("raid-1", 2),
        ("raid-10", 4),
        ("raid-5", 3),
        ("raid-6", 4),
    ]);
    let mode = prop::sample::select(vec!["", "none", "write-through", "write-back"]);
    let volume = (media, raid, 0_u32..12, 1_u32..4, mode);
    let block = prop::sample::select(vec!["512B", "4KiB", "8KiB", "64KiB", "256KiB", "1MiB"]);
    let arrivals = prop_oneof![
        (1_u32..33).prop_map(|depth| format!("depth = {depth}")),
        (10_u32..3000).prop_map(|rate| format!("rate = \"{rate} IOPS\"")),
    ];
    let work = (block, 0_u32..101, 0_u32..101, arrivals, 1_u32..4);
    (figures(), volume, work).prop_map(|(figures, volume, work)| {
        let (media, (raid, least), more, luns, mode) = volume;
        let disks = (least + more) * luns;
        let disks = if raid.starts_with("raid-1") { disks.next_multiple_of(2 * luns) } else { disks };
        let mode = if mode.is_empty() { String::new() } else { format!("cache = \"{mode}\"\n") };
        let volume = format!(
            "media = \"{media}\"\nraid = \"{raid}\"\ndisks = {disks}\nluns = {luns}\n{mode}"
        );
        let (block, read, random, arrivals, workers) = work;
        let work = format!(
            "[workload.w]\nblock = \"{block}\"\nread = \"{read}%\"\nrandom = \"{random}%\"\n{arrivals}\nworkers = {workers}\n"
        );
        Case { figures, volume, disks, work }
    })
}

/// Little's law, conservation and capacity, from the beginning of time on.
fn check(seen: &Seen) {
    let span = u128::from(seen.counts.at.0);
    let law = |what: String, tally: &sim::statistics::Tally, servers: Option<u32>| {
        let present = u64::from(tally.level.present);
        assert_eq!(tally.arrivals, tally.departures + tally.lost + present, "{what}: I/Os");
        // The integral of I/Os present is the residence time of those that left, plus the time so far of those that did
        // not.
        assert!(tally.present >= tally.stayed, "{what}: stayed longer than present");
        assert!(tally.present - tally.stayed <= u128::from(present) * span, "{what}: Little");
        if let Some(servers) = servers {
            assert!(tally.busy <= u128::from(servers) * span, "{what}: busier than it can be");
        }
    };
    let network = &seen.plant.network;
    for (number, (station, tally)) in
        network.stations().iter().zip(&seen.counts.stations).enumerate()
    {
        let servers = match station {
            Station::Queue { servers, .. } | Station::Sorted { servers, .. } => Some(*servers),
            _ => None,
        };
        law(format!("station {number}"), tally, servers);
    }
    for (number, class) in seen.counts.classes.iter().enumerate() {
        law(format!("class {number}"), &class.tally, None);
    }
    for (number, (pool, tally)) in network.pools().iter().zip(&seen.counts.pools).enumerate() {
        assert!(tally.level.busy <= pool.tokens, "pool {number}");
        assert!(tally.busy <= u128::from(pool.tokens) * span, "pool {number}");
    }
    for hop in &seen.plant.hops {
        for place in &hop.places {
            let known = match place {
                HopElement::Station(StationId(station))
                | HopElement::ReadLink(StationId(station), _)
                | HopElement::WriteLink(StationId(station), _)
                | HopElement::BothLink(StationId(station), _) => {
                    network.stations().len() > *station as usize
                }
                HopElement::Pool(PoolId(pool)) => network.pools().len() > *pool as usize,
            };
            assert!(known, "{} has a place that is not there", hop.name);
        }
        if let Some(ops) = hop.limits.ops_rate.filter(|_| hop.name == "a.controller0") {
            assert!(seen.iops() <= ops * 1.001 + 100.0, "{} carries {}", hop.name, seen.iops());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn labs_obey_the_laws(case in case()) {
        let figures: Vec<(&str, &str)> =
            case.figures.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let lab = array(&figures, &volume(&case.volume));
        let lab = lab.replace("1 ns", "100 us");
        let rig = Rig { lab: &lab, work: &case.work, disks: case.disks, ..Rig::default() };
        check(&rig.run_for(Ps::ZERO, Ps::millis(100)));
    }
}
