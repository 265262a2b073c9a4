//! `wirespeed disk TARGET…`: load without a scenario file. The options become a scenario, so that the record and its
//! review are those of any other run.

use crate::cli::{DataArgs, DiskArgs, FillChoice, Precondition, QueueChoice};
use crate::commands::plan;
use crate::exit::{Exit, Failure};
use crate::files;
use crate::live::{self, LiveJob};
use crate::present;
use engine::TargetSpec;
use scenario::{Scheme, Source};
use std::fmt::Write as _;

pub fn disk(args: &DiskArgs) -> Result<Exit, Failure> {
    // Before a URL is shown or kept: it may hold a secret.
    for url in args.targets.iter().filter(|target| target.starts_with("iscsi://")) {
        san::initiator::Url::lun(url).map_err(|e| Failure::usage(e.to_string()))?;
    }
    let tokens = tokens(args)?;
    let source = Source {
        name: "<command line>".to_owned(),
        text: scenario_text(args, &tokens),
        ..Source::default()
    };
    if args.verification.verify_state.is_some() && args.targets.len() > 1 {
        return Err(Failure::usage(
            "a verification state is that of one target: name one, or write a scenario with `verify_state` for each",
        ));
    }
    if args.poisson && args.worker_rate().is_none() {
        return Err(Failure::usage("--poisson is for a rate: give --rate or --total-rate"));
    }
    if let Some(contradiction) = args.contradiction() {
        return Err(Failure::usage(contradiction));
    }
    let scenario = scenario::load(&source)?;
    if args.plan {
        return plan::show(&scenario, present::of_plan(args.output.format)?);
    }
    let kept = files::record_path(args.recording.out.as_deref(), "disk")?;
    // Where the user names no place, its writes are no part of the load.
    let off = match args.recording.out {
        None => files::off_the_disks(&kept, &args.targets),
        Some(_) => None,
    };
    let (out, kept) = match off {
        Some(off) => (off, Some(kept)),
        None => (kept, None),
    };
    live::run_and_review(&LiveJob {
        source,
        scenario,
        out,
        agent: args.recording.agent,
        metrics: args.recording.metrics,
        output: args.output.clone(),
        kept,
        facts: Vec::new(),
        control: live::control()?,
    })
}

/// The token of each target. A token belongs to the target whose own it is; where there is but one target it is that
/// one's in any case, so that the guard can say what is wrong with it.
fn tokens(args: &DiskArgs) -> Result<Vec<Option<&str>>, Failure> {
    let mut tokens: Vec<Option<&str>> = vec![None; args.targets.len()];
    for token in &args.write_token {
        let own = |target: &String| {
            let examined =
                live::schemes().inspect(&TargetSpec::new("target", target), true).examined;
            matches!(examined, Some(Ok(found)) if found.token.eq_ignore_ascii_case(token.trim()))
        };
        let place = match args.targets.len() {
            1 => Some(0),
            _ => args.targets.iter().position(own),
        };
        let Some(place) = place else {
            return Err(Failure::Other(
                Exit::Refused,
                format!(
                    "--write-token {token}: it is none of these targets', or its target has changed; --plan prints \
                     their tokens"
                ),
            ));
        };
        tokens[place] = Some(token.trim());
    }
    Ok(tokens)
}

/// The options as a scenario; it stands in the record and can be kept as a file.
fn scenario_text(args: &DiskArgs, tokens: &[Option<&str>]) -> String {
    let mut text = String::new();
    let mut line = |s: String| writeln!(text, "{s}").expect("a String takes every line");
    let targets: Vec<&str> = args.targets.iter().map(String::as_str).collect();
    line(format!("[scenario]\ntitle = {}", quoted(&title(args, &targets))));
    line(format!("seed = {}", args.seed));
    for (n, target) in targets.iter().enumerate() {
        line(format!("\n[[target]]\nname = \"target{}\"", n + 1));
        match *target {
            "null:" => line("url = \"null:\"\nsize = \"1TiB\"".to_owned()),
            url if Scheme::of(url).is_some_and(|scheme| scheme.holds_data) => {
                line(format!("url = {}", quoted(url)))
            }
            path => line(format!("file = {}", quoted(path))),
        }
        if let (Some(size), None) = (args.create, Scheme::of(target)) {
            line(format!("create = \"{size}\""));
        }
        if args.buffered && *target != "null:" {
            line("buffered = true".to_owned());
        }
        if let Some(Some(token)) = tokens.get(n).filter(|_| *target != "null:") {
            line(format!("write_token = {}", quoted(token)));
            if args.overwrite {
                line("overwrite = true".to_owned());
            }
        }
        if let (Some(queue), true) = (queue_word(args.queue), *target != "null:") {
            line(format!("queue = \"{queue}\""));
        }
        if args.polled && *target != "null:" {
            line("polled = true".to_owned());
        }
        if let Some(state) = &args.verification.verify_state {
            line(format!("verify_state = {}", quoted(state)));
            if args.verification.verify_flushed {
                line("verify_flushed = true".to_owned());
            }
        }
        data_lines(&args.data, *target == "null:", &mut line);
    }
    load_lines(args, &mut line);
    if args.verification.verify {
        line("verify = true".to_owned());
    }
    let (warmup, measure) = args.times();
    line(format!(
        "\n[plan]\nworkload = \"load\"\non = \"target*\"\nwarmup = \"{}ns\"\nmeasure = \"{}ns\"",
        warmup.as_nanos(),
        measure.as_nanos()
    ));
    if let Some((key, value)) = args.end() {
        line(format!("{key} = {value}"));
    }
    if let Some(within) = args.steady {
        line(format!("steady = {{ within = \"{}ns\" }}", within.as_nanos()));
    }
    if args.data.precondition == Precondition::SniaPts {
        line("precondition = \"snia-pts\"".to_owned());
    }
    text
}

/// The workload, without what is checked.
fn load_lines(args: &DiskArgs, line: &mut impl FnMut(String)) {
    let (read, random) = args.shares();
    let (trim, zeroes) = args.emptied();
    let mut emptied = vec![("trim", trim.0), ("zeroes", zeroes.0)];
    emptied.retain(|(_, share)| *share > 0.0);
    line("\n[workload.load]".to_owned());
    let pauses = args.burst.map(|(count, pause)| {
        [format!("burst = {count}"), format!("delay = \"{}ns\"", pause.as_nanos())]
    });
    match &args.mix {
        None => {
            line(format!("block = \"{}\"", args.block));
            line(format!("read = \"{}%\"\nrandom = \"{}%\"", read.0, random.0));
            emptied.iter().for_each(|(key, share)| line(format!("{key} = \"{share}%\"")));
            pauses.into_iter().flatten().for_each(&mut *line);
        }
        Some(mix) => {
            line("rows = [".to_owned());
            let shares = emptied.iter().map(|(key, share)| format!(", {key} = \"{share}%\""));
            let shares: String = shares.collect();
            let pauses =
                pauses.map_or_else(String::new, |pauses| format!(", {}", pauses.join(", ")));
            for row in &mix.0 {
                let (read, random) = (row.read.unwrap_or(read), row.random.unwrap_or(random));
                line(format!(
                    "  {{ size = \"{}\", share = \"{}%\", read = \"{}%\", random = \"{}%\"{shares}{pauses} }},",
                    row.size, row.share.0, read.0, random.0
                ));
            }
            line("]".to_owned());
        }
    }
    match args.worker_rate() {
        Some(rate) => {
            line(format!("rate = \"{} IOPS\"", rate.0));
            args.depth.iter().for_each(|limit| line(format!("limit = {limit}")));
            if args.poisson {
                line("arrivals = \"poisson\"".to_owned());
            }
        }
        None => line(format!("depth = {}", args.depth.unwrap_or(1))),
    }
    if let Some(think) = args.think {
        line(format!("think = \"{}ns\"", think.as_nanos()));
    }
    args.flush_every.iter().for_each(|every| line(format!("flush_every = {every}")));
    args.fua.iter().for_each(|share| line(format!("fua = \"{}%\"", share.0)));
    if let Some(skew) = &args.skew {
        line(format!("skew = {skew}"));
    }
    if let Some(set) = &args.working_set {
        line(format!("working_set = \"{set}\""));
    }
    line(format!("workers = {}", args.workers));
}

/// What a target holds: only what differs from the defaults.
fn data_lines(data: &DataArgs, null: bool, line: &mut impl FnMut(String)) {
    if (data.compress, data.dedupe) != (1.0, 1.0) {
        line(format!("data = {{ compress = {:?}, dedupe = {:?} }}", data.compress, data.dedupe));
    }
    match data.fill {
        _ if null => {}
        FillChoice::Auto => {}
        FillChoice::Always => line("fill = \"always\"".to_owned()),
        FillChoice::Never => line("fill = \"never\"".to_owned()),
    }
}

/// The scenario's word for a queue; `None` for the one that need not be named.
fn queue_word(queue: QueueChoice) -> Option<&'static str> {
    match queue {
        QueueChoice::Auto => None,
        QueueChoice::Uring => Some("io_uring"),
        QueueChoice::Aio => Some("aio"),
        QueueChoice::Pread => Some("pread"),
    }
}

fn title(args: &DiskArgs, targets: &[&str]) -> String {
    let (read, random) = args.shares();
    let mix = match (read.0, random.0) {
        (100.0, 0.0) => "sequential reads".to_owned(),
        (100.0, 100.0) => "random reads".to_owned(),
        (0.0, 0.0) => "sequential writes".to_owned(),
        (0.0, 100.0) => "random writes".to_owned(),
        (read, random) => format!("{read}% reads, {random}% random"),
    };
    let (trim, zeroes) = args.emptied();
    let kinds = [(trim.0, "trims"), (zeroes.0, "zeroes")];
    let mix = match kinds.iter().find(|(share, _)| *share >= 100.0) {
        Some((_, kind)) if random.0 > 0.0 => format!("random {kind}"),
        Some((_, kind)) => format!("sequential {kind}"),
        None => {
            let some = kinds.iter().filter(|(share, _)| *share > 0.0);
            some.fold(mix, |mix, (share, kind)| format!("{mix}, {share}% {kind}"))
        }
    };
    let size = match &args.mix {
        None => args.block.to_string(),
        Some(mix) => {
            let sizes: Vec<String> = mix.0.iter().map(|row| row.size.to_string()).collect();
            sizes.join("/")
        }
    };
    format!("{size} {mix} on {}", targets.join(", "))
}

/// A TOML basic string: a JSON string is one, whatever it holds.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;
    use workload::{Arrivals, Process, WorkloadKind};

    #[track_caller]
    fn loads(args: &[&str]) -> scenario::Scenario {
        let all = ["wirespeed", "disk"].iter().chain(args).copied();
        let Command::Disk(disk) = Cli::try_parse_from(all).unwrap().command else { panic!() };
        let tokens = vec![None; disk.targets.len()];
        let text = scenario_text(&disk, &tokens);
        let source = Source { name: "x".into(), text: text.clone(), ..Source::default() };
        scenario::load(&source).unwrap_or_else(|e| panic!("{e}\n{text}"))
    }

    #[test]
    fn every_combination_of_options_is_a_scenario() {
        loads(&["null:"]);
        loads(&["null:", "--depth", "32", "--random", "100", "--block", "8KiB"]);
        loads(&["a file \"with\" \\ odd\tname", "--create", "1GiB", "--read", "67", "--buffered"]);
        loads(&["null:", "--rate", "5000 IOPS", "--depth", "64", "--workers", "4"]);
        loads(&["null:", "--total-rate", "5k IOPS", "--poisson", "--burst", "8/5ms"]);
        loads(&["null:", "--mix", "4k/60:64k/40/100/0", "--burst", "8/5ms", "--skew", "zipf:1.1"]);
        loads(&["null:", "--think", "5ms", "--working-set", "20%", "--skew", "hot:80/20"]);
        loads(&["x", "--trim", "5", "--zeroes", "5%", "--read", "50", "--flush-every", "32"]);
        loads(&["x", "--mix", "4k/60:64k/40", "--read", "0", "--trim", "10", "--fua", "100"]);
        loads(&["x", "--queue", "io_uring", "--polled"]);
        loads(&["null:", "x", "--queue", "pread"]);
        let verifies = |scenario: &scenario::Scenario| {
            scenario.workloads.iter().any(|w| w.disk().is_some_and(|w| w.verify))
        };
        let verified =
            loads(&["x", "--verify", "--verify-state", "a \"state\"", "--verify-flushed"]);
        assert_eq!(verified.lab.targets[0].verify_state.as_deref(), Some("a \"state\""));
        assert!(verified.lab.targets[0].verify_flushed);
        assert!(verifies(&verified) && !verifies(&loads(&["x"])));
        loads(&["null:", "x", "--warmup", "0s", "--time", "250ms"]);
        loads(&["x", "--mix", "4k/60:64k/40", "--size-limit", "10GiB", "--time", "1min"]);
        let steady = |args: &[&str]| loads(args).steps()[0].steady.map(|s| s.within.as_secs());
        assert_eq!(steady(&["x"]), None);
        assert_eq!(steady(&["--steady", "x"]), Some(60), "what follows is a target");
        assert_eq!(steady(&["x", "--steady=20min"]), Some(1200));
        assert_eq!(loads(&["null:", "x"]).lab.targets.len(), 2);
        let reducible =
            loads(&["null:", "x", "--compress", "2", "--dedupe", "1.5", "--fill", "never"]);
        assert!(
            reducible.lab.targets.iter().all(|t| (t.data.compress, t.data.dedupe) == (2.0, 1.5))
        );
        assert_eq!(reducible.lab.targets[1].fill, scenario::Fill::Never);
        assert!(
            loads(&["x", "--precondition", "snia-pts", "--fill", "always"]).plans[0].precondition
        );
    }
    fn spec(args: &[&str]) -> workload::Spec {
        loads(args).workloads[0].disk().expect("a disk workload").spec.clone()
    }

    #[test]
    fn what_fio_calls_otherwise_is_the_same_load() {
        let ours =
            ["null:", "--block", "8KiB", "--read", "70%", "--random", "100%", "--depth", "32"];
        let fio = ["null:", "--bs=8k", "--rw=randrw", "--rwmixread=70", "--iodepth=32"];
        assert_eq!(spec(&ours), spec(&fio));
        let scenario = loads(&["null:", "--numjobs=4", "--runtime=60", "--ramp_time=5"]);
        let step = &scenario.steps()[0];
        assert_eq!((step.warmup.as_secs(), step.measure.as_secs()), (5, 60));
        assert_eq!(scenario.workloads[0].disk().map(|w| w.workers), Some(4));
    }

    /// The end of the load: bytes, and passes.
    #[track_caller]
    fn check_end(args: &[&str], amount: Option<u64>, passes: Option<u32>) {
        let scenario = loads(args);
        let phase = scenario.plans[0].loads[0].phase.clone().expect("it ends");
        assert_eq!((phase.amount.map(|bytes| bytes.0), phase.passes), (amount, passes), "{args:?}");
    }

    #[test]
    fn a_load_ends_by_bytes_or_passes_and_fio_counts_each_worker() {
        let gib = 1 << 30;
        check_end(&["x", "--size-limit", "10GiB"], Some(10 * gib), None);
        check_end(&["x", "y", "--workers", "3", "--size-limit", "10GiB"], Some(10 * gib), None);
        check_end(&["x", "y", "--numjobs=3", "--io_size=1g"], Some(6 * gib), None);
        check_end(&["x", "--passes", "2", "--workers", "3"], None, Some(2));
        check_end(&["x", "--loops=2", "--numjobs=3"], None, Some(6));
        let times = |args: &[&str]| {
            let step = loads(args).steps()[0].clone();
            (step.warmup.as_secs(), step.measure.as_secs())
        };
        assert_eq!(times(&["x"]), (1, 10));
        assert_eq!(times(&["x", "--passes", "1"]), (0, 86_400));
        assert_eq!(times(&["x", "--passes", "1", "--runtime=60", "--ramp_time=5"]), (5, 60));
    }

    #[test]
    fn trims_zeroes_flushes_and_fua_have_options_and_fios_names() {
        let row = |args: &[&str]| match spec(args).kind {
            WorkloadKind::Access(access) => access.rows[0],
            WorkloadKind::Transaction(_) => panic!("a plain load"),
        };
        let some = row(&["x", "--trim", "20", "--zeroes", "5"]);
        assert_eq!((some.read, some.trim, some.zeroes, some.write()), (75.0, 20.0, 5.0, 0.0));
        let all = row(&["x", "--rw=randtrim", "--bs=64k"]);
        assert_eq!((all.read, all.trim, all.random), (0.0, 100.0, 100.0));
        let ours = ["x", "--read", "0", "--flush-every", "32", "--fua", "50%"];
        let durability = spec(&ours).durability;
        assert_eq!((durability.flush_every, durability.fua), (32, 50.0));
        assert_eq!(spec(&["x", "--rw=write", "--fdatasync=32"]).durability.flush_every, 32);
    }

    #[test]
    fn a_total_rate_is_shared_by_all_workers_of_all_targets() {
        let args = ["null:", "x", "--workers", "5", "--total-rate", "20000 IOPS", "--poisson"];
        let Arrivals::Open { process, limit } = spec(&args).arrivals else { panic!() };
        assert_eq!((process, limit), (Process::Poisson { rate: 2000.0 }, 256));
    }

    #[test]
    fn each_row_of_a_mix_has_the_shares_of_all_unless_it_has_its_own() {
        let args = ["null:", "--mix", "4k/60:64k/40/100/0", "--read", "70", "--random", "50"];
        let WorkloadKind::Access(access) = spec(&args).kind else { panic!() };
        let rows: Vec<_> =
            access.rows.iter().map(|r| (r.size, r.share, r.read, r.random)).collect();
        assert_eq!(rows, [(4096, 60.0, 70.0, 50.0), (65536, 40.0, 100.0, 0.0)]);
    }
}
