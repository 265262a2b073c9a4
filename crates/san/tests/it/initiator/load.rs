//! Verified loads: every combination of digests and ways to move data, block sizes, many LUNs and sessions.

use crate::initiator::peer::*;
use clock::Ns;
use san::server::{TargetLimits, TargetServer, TargetSettings};
use std::process::Command;
use workload::{Row, Spec, WorkloadKind};

/// Set where this program runs one test alone.
const ALONE: &str = "WIRESPEED_TEST_ALONE";

/// Every combination of what a session negotiates.
fn combinations() -> impl Iterator<Item = String> {
    let all = (0..16).map(|n| [n & 1, n & 2, n & 4, n & 8].map(|bit| bit != 0));
    all.map(|[header, data, immediate, r2t]| {
        let digest = |on| if on { "crc32c" } else { "none" };
        let flag = |on| if on { "yes" } else { "no" };
        format!(
            "?header_digest={}&data_digest={}&immediate_data={}&initial_r2t={}",
            digest(header),
            digest(data),
            flag(immediate),
            flag(r2t)
        )
    })
}

/// A verified mixed load in small and big blocks: the big ones exceed what goes unasked. On a machine that is busy with
/// other things the first attempt may be too short for a single operation.
#[track_caller]
fn check(url: &str) {
    let load = |ms| run(&step(vec![granted(url)], 1, &small_and_big(), Ns::millis(ms)));
    let outcome = match load(80) {
        Ok(none) if none.ops == 0 && none.errors == 0 => load(8_000),
        outcome => outcome,
    };
    sound(outcome, url);
}

/// Blocks of 4 and of 512 KiB.
fn small_and_big() -> Spec {
    let mut spec = mixed(512 << 10, 50.0, 8);
    if let WorkloadKind::Access(access) = &mut spec.kind {
        let big = Row { share: 20.0, ..access.rows[0] };
        access.rows = vec![Row { size: 4096, share: 80.0, ..big }, big];
    }
    spec
}

#[test]
fn every_way_to_move_data_keeps_it_whole_on_tgt() {
    let Some(tgt) = Tgt::start() else { return };
    for options in combinations() {
        // It does not negotiate digests: it has them or not.
        for name in ["HeaderDigest", "DataDigest"] {
            let key =
                if name == "DataDigest" { "data_digest=crc32c" } else { "header_digest=crc32c" };
            let value = if options.contains(key) { "CRC32C" } else { "None" };
            let update = ["--mode", "target", "--op", "update", "--tid", "1", "--name", name];
            tgt.admin(&[&update[..], &["--value", value]].concat());
        }
        check(&format!("{}{options}", tgt.url(1)));
    }
}

#[test]
fn every_way_to_move_data_keeps_it_whole_on_our_target() {
    let target = ours(&["ram:16MiB"]);
    for options in combinations() {
        check(&format!("{}{options}", url(&target, 0)));
    }
    target.stop().expect("it stops");
}

#[test]
fn a_worker_that_is_pinned_polls_while_answers_come_soon() {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return eprintln!("skipped: a worker polls only where a processor is left for the target");
    }
    // In a process of its own: workers of other tests that are pinned nowhere poll too.
    if std::env::var_os(ALONE).is_none() {
        let name = "initiator::load::a_worker_that_is_pinned_polls_while_answers_come_soon";
        let mut child = Command::new(std::env::current_exe().expect("this program"));
        let ended = child.args(["--exact", name]).env(ALONE, "1").output().expect("it starts");
        return assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stdout));
    }
    let target = ours(&["ram:16MiB"]);
    let reads = mixed(4096, 100.0, 1);
    // Others may need the processors for a while.
    let polled = (0..200).any(|_| {
        sound(run(&step(vec![granted(&url(&target, 0))], 1, &reads, Ns::millis(200))), "reads");
        san::initiator::polled() > Ns::ZERO
    });
    assert!(polled, "it slept through every wait");
    target.stop().expect("it stops");
}

#[test]
fn blocks_of_4096_bytes_and_odd_sizes_are_carried() {
    let target = ours(&["ram:16MiB,block=4096", "ram:16MiB"]);
    check(&url(&target, 0));
    for block in [512, 1024, 12 << 10, 68 << 10, 1 << 20] {
        let lun = granted(&url(&target, 1));
        let step = step(vec![lun], 1, &mixed(block, 50.0, 4), Ns::millis(80));
        sound(run(&step), &format!("blocks of {block}"));
    }
    target.stop().expect("it stops");
    if let Some(tgt) = Tgt::start() {
        check(&tgt.url(2));
    }
}

#[test]
fn one_worker_has_many_luns_and_many_workers_have_one() {
    let target = ours(&["ram:8MiB"; 6]);
    let luns: Vec<_> = (0..6).map(|lun| granted(&url(&target, lun))).collect();
    let all = step(luns, 1, &mixed(8192, 60.0, 32), Ns::millis(200));
    sound(run(&all), "six LUNs");
    let one = step(vec![granted(&url(&target, 0))], 4, &mixed(8192, 60.0, 8), Ns::millis(200));
    sound(run(&one), "four workers");
    target.stop().expect("it stops");
}

/// Verified mixed loads in turn, for as long as somebody wants them to be: `WIRESPEED_SOAK` says for how many seconds.
#[track_caller]
fn go_on(urls: &[String], what: &str) {
    let seconds = std::env::var("WIRESPEED_SOAK").ok().and_then(|text| text.parse().ok());
    let measure = seconds.map_or(Ns::millis(300), |seconds: u64| Ns::secs(seconds.clamp(1, 20)));
    let end = clock::now().plus(Ns::secs(seconds.unwrap_or(0)));
    let mut rounds = 0;
    let mut ops = 0;
    while rounds == 0 || clock::now() < end {
        let luns = urls.iter().map(|url| granted(url)).collect();
        let block = [4096, 8192, 65536, 512 << 10][rounds % 4];
        let depth = if block > 65536 { 4 } else { 16 };
        let step = step(luns, 2, &mixed(block, 67.0, depth), measure);
        ops += sound(run(&step), &format!("{what}, round {rounds}")).ops;
        rounds += 1;
    }
    println!("{what}: {ops} I/Os in {rounds} rounds, all of them as they should be");
}

#[test]
fn a_verified_load_goes_on_and_on_on_our_target() {
    let target = ours(&["ram:64MiB,thin", "ram:64MiB"]);
    let digests = "?header_digest=crc32c&data_digest=crc32c&connections=2";
    go_on(&[url(&target, 0), format!("{}{digests}", url(&target, 1))], "our target");
    target.stop().expect("it stops");
}

#[test]
fn a_verified_load_goes_on_and_on_on_tgt() {
    let Some(tgt) = Tgt::start() else { return };
    go_on(&[tgt.url(1), tgt.url(2)], "tgt");
}

/// The connections that a session has of so many that the URL asks for.
#[track_caller]
fn check_connections(target: &TargetServer, asked: &str, told: &str) {
    let url = format!("{}?connections={asked}&header_digest=crc32c", url(target, 0));
    assert!(how(&url).contains(told), "{asked}: {}", how(&url));
    // The longer blocks exceed what goes unasked.
    for (block, depth) in [(4096, 16), (512 << 10, 4)] {
        let step = step(vec![granted(&url)], 2, &mixed(block, 50.0, depth), Ns::millis(200));
        sound(run(&step), &format!("{asked} connections, blocks of {block}"));
    }
}

#[test]
fn a_session_has_as_many_connections_as_the_target_allows() {
    let target = ours(&["ram:16MiB"]);
    check_connections(&target, "4", "1 session, 4 connections, header digests");
    target.stop().expect("it stops");
    let limits = TargetLimits { connections_per_session: 1, ..TargetLimits::default() };
    let target = ours_with(&["ram:16MiB"], |config| TargetSettings { limits, ..config });
    check_connections(&target, "4", "1 session, 1 connection of 4 (the target allows 1)");
    target.stop().expect("it stops");
    // What was agreed on cannot always be had.
    let limits = TargetLimits { connections: 3, ..TargetLimits::default() };
    let target = ours_with(&["ram:16MiB"], |config| TargetSettings { limits, ..config });
    let how = how(&format!("{}?connections=4", url(&target, 0)));
    assert!(how.contains("connections of 4 (127.0.0.1:"), "{how}");
    target.stop().expect("it stops");
    if let Some(tgt) = Tgt::start() {
        let how = self::how(&format!("{}?connections=2", tgt.url(1)));
        assert!(how.contains("1 connection of 2 (the target allows 1)"), "{how}");
    }
}
