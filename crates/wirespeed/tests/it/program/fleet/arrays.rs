//! Embedded arrays under a fleet: they stand on the coordinator's machine, and agents of any machine load them.

use super::page::Machines;
use super::servers::{Keeper, NatsServer, wait_for};
use super::{agents, check_record};
use crate::prelude::*;
use crate::program::support::{Bench, ended, open, program};

/// VMs that write volumes of their own and check them, and two that read one volume.
fn scenario(seconds: u64) -> String {
    format!(
        "[scenario]\ntitle = \"array\"\n\
         [[array]]\nname = \"store\"\nembedded = {{ ports = [{{ name = \"p1\" }}, {{ name = \"p2\" }}] }}\n\
         [[volume]]\nname = \"v{{1..2}}\"\narray = \"store\"\nsize = \"4MiB\"\n\
         [[volume]]\nname = \"golden\"\narray = \"store\"\nsize = \"4MiB\"\n\
         [[vm]]\nname = \"vm{{1..2}}\"\nagents = \"*\"\ndisks = [{{ lun = \"store/v{{1..2}}\" }}]\n\
         [[vm]]\nname = \"boot{{1..2}}\"\nagents = \"2\"\ndisks = [{{ lun = \"store/golden\" }}]\n\
         [workload.w]\nblock = \"4KiB\"\nread = 50\nrandom = 100\nworking_set = \"64KiB\"\nverify = true\nrate = \"100 IOPS\"\nlimit = 4\n\
         [workload.r]\nblock = \"4KiB\"\nrate = \"100 IOPS\"\nlimit = 4\n\
         [plan]\nwarmup = \"0s\"\nmeasure = \"{seconds}s\"\ncooldown = \"1s\"\n\
         [[plan.load]]\nworkload = \"w\"\non = \"vm*\"\n[[plan.load]]\nworkload = \"r\"\non = \"boot*\"\n"
    )
}

/// Every interval of all four is in the record; what was read is what was written, and nobody read what was not filled yet.
#[track_caller]
fn check_run(bench: &Bench, record: &str) {
    check_record(&bench.path(record), 4, &[]);
    let review = bench.expect(0, &["review", record, "--format", "json"]).stdout;
    let review: Value = serde_json::from_str(&review).expect("JSON");
    let verified = &review["verification"];
    assert!(verified["checked"].as_u64().is_some_and(|blocks| blocks > 0), "{verified}");
    assert_eq!(verified["wrong"], 0, "{verified}");
    let record = open(&bench.path(record));
    let hops = record.sources().iter().filter(|source| source.agent == "store");
    let hops: BTreeSet<&str> = hops.map(|source| source.name.as_str()).collect();
    assert!(["store.p1", "store.p2", "store/v1", "store/golden"].iter().all(|h| hops.contains(h)));
    let sampled = record
        .facts()
        .iter()
        .any(|fact| fact.subject == "store/golden" && fact.key == record::Sampling::FACT);
    assert!(!sampled, "a volume was looked at while another agent filled it");
}

#[test]
fn agents_load_an_array_that_their_coordinator_serves() {
    let Some(server) = NatsServer::start(None) else { return };
    let bench = Bench::new(&scenario(2));
    let _agents = agents(&bench, &server, 4);
    let (url, fleet) = (server.url(), ["--wait", "4 agents", "--fleet"]);
    let plan = bench.expect(0, &[&["plan", "s.toml"], &fleet[..], &[&url]].concat()).stdout;
    assert!(plan.contains("an array, served by the coordinator on loopback"), "{plan}");
    bench.expect(0, &[&["run", "s.toml", "--out", "r.wsr"], &fleet[..], &[&url]].concat());
    check_run(&bench, "r.wsr");

    // It is gone with its coordinator: the run does not go on, and its agents are free.
    fs::write(bench.path("s.toml"), scenario(60)).expect("a scenario");
    let mut run =
        bench.command(&[&["run", "s.toml", "--out", "k.wsr"], &fleet[..], &[&url]].concat());
    let run = Keeper(run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts"));
    let begun = || Record::open(&bench.path("k.wsr")).ok().filter(|r| !r.steps().is_empty());
    wait_for("the step", || begun().map(drop));
    drop(run);
    let resumed = bench.expect(3, &["fleet", "resume", "k.wsr"]).stderr;
    assert!(
        resumed.contains("the embedded array `store` was memory of the coordinator"),
        "{resumed}"
    );
    let list = ["fleet", "ls", "--fleet", &url, "--format", "json"];
    wait_for("the agents", || {
        let list: Value = serde_json::from_str(&bench.expect(0, &list).stdout).expect("JSON");
        let all = list["agents"].as_array().expect("a list");
        (all.len() == 4 && all.iter().all(|one| one["problem"].is_null())).then_some(())
    });
}

#[test]
fn agents_of_other_machines_log_in_to_an_array_with_a_secret() {
    let there = Command::new("nats-server").arg("--version").stdout(Stdio::null()).status();
    if there.is_err() {
        assert!(std::env::var_os("CI").is_none(), "there is no nats-server here");
        println!("skipped: there is no nats-server here");
        return;
    }
    let Some(machines) = Machines::new() else { return };
    let bench = Bench::new(&scenario(4));
    let on = |place: usize, program: &Path, args: &[&str]| {
        let mut run = Command::new("ip");
        bench.surround(run.args(["netns", "exec", &machines.0[place]]).arg(program).args(args));
        run
    };
    let mut services = Vec::new();
    let mut serve = |name: &str, mut command: Command, word: &str| {
        let log = bench.path(&format!("{name}.log"));
        let out = File::create(&log).expect("a log");
        command.stdout(out.try_clone().expect("a descriptor")).stderr(out);
        services.push(Keeper(command.spawn().expect("it starts")));
        wait_for(name, || fs::read_to_string(&log).is_ok_and(|t| t.contains(word)).then_some(()));
    };
    let nats = ["-js", "-a", "10.9.0.1", "-sd", "store"];
    serve("nats", on(0, Path::new("nats-server"), &nats), "Server is ready");
    let (url, program) = ("nats://10.9.0.1:4222", program());
    for (name, place) in [("a1", 1), ("a2", 2), ("a3", 1), ("a4", 2)] {
        let join = ["agent", "--join", url, "--name", name, "--spool", "."];
        serve(name, on(place, &program, &join), "waits at");
    }
    let run = [
        "run",
        "s.toml",
        "--out",
        "r.wsr",
        "--fleet",
        url,
        "--wait",
        "4",
        "--arrays-at",
        "10.9.0.1",
    ];
    let log = File::create(bench.path("run.log")).expect("a log");
    let mut run = on(0, &program, &run);
    let mut run = Keeper(run.stdout(Stdio::null()).stderr(log).spawn().expect("it starts"));
    // Who does not know the secret is told nothing.
    let portal = wait_for("the array", || {
        let record = Record::open(&bench.path("r.wsr")).ok()?;
        let mut facts =
            record.facts().iter().filter(|f| f.subject == "store.p1" && f.key == "portal");
        facts.next().map(|fact| fact.value.clone())
    });
    assert!(portal.starts_with("10.9.0.1:"), "{portal}");
    let asked = on(1, &program, &["target", "ls", &format!("iscsi://{portal}")]).output();
    let asked = ended(asked.expect("it runs"));
    assert_ne!(asked.code, 0, "{}", asked.stdout);
    assert!(!asked.stdout.contains("iqn."), "{}", asked.stdout);
    let code = wait_for("the end", || run.0.try_wait().expect("it is ours")).code();
    assert_eq!(code, Some(0), "{}", fs::read_to_string(bench.path("run.log")).unwrap_or_default());
    check_run(&bench, "r.wsr");
}
