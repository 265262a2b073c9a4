//! Runs with virtual machines: the agents in them, their disks and clocks, and what is left of them, which is nothing.

use crate::prelude::*;
use crate::program::support::{Bench, Ended, ended, open};
use clock::Rng;
use guest::{Accelerator, Kernel};
use record::{CounterId, Source, SourceId};
use std::os::unix::process::ExitStatusExt;
use std::sync::OnceLock;

/// How many runs are killed at random moments beside the other tests, and by `make guests`.
const KILLS: u64 = 2;
const MANY_KILLS: u64 = 50;
/// Killed runs at a time.
const AT_ONCE: u64 = 4;

/// How processors of guests run here; `None` where guests cannot run, which is said.
fn accelerator() -> Option<&'static str> {
    static FOUND: OnceLock<Result<&'static str, String>> = OnceLock::new();
    let look = || {
        guest::process::qemu_version().map_err(|why| why.to_string())?;
        let kernel = Kernel::find(None).map_err(|why| why.to_string())?;
        Ok(Accelerator::best(&kernel).0.name())
    };
    match FOUND.get_or_init(look) {
        Ok(name) => Some(name),
        Err(why) => {
            println!("skipped: {why}");
            assert!(std::env::var_os("CI").is_none(), "{why}");
            None
        }
    }
}

/// A scenario with two guests: one on a volume of an array, behind PVSCSI; one on a file that the run makes, behind SATA.
fn two_guests(names: [&str; 2], measure: &str) -> String {
    let [a, b] = names;
    format!(
        "[scenario]\ntitle = \"guests\"\nseed = 7\n\
         [[array]]\nname = \"store\"\nembedded = {{ ports = [{{ name = \"p1\" }}] }}\n\
         [[volume]]\nname = \"disk\"\narray = \"store\"\nsize = \"4MiB\"\n\
         [[target]]\nname = \"image\"\nfile = \"image.dat\"\ncreate = \"4MiB\"\n\
         [[vm]]\nname = \"{a}\"\nmachine = \"qemu\"\nmemory = \"256MiB\"\nscsi = [\"pvscsi\"]\n\
         disks = [{{ lun = \"store/disk\" }}]\n\
         [[vm]]\nname = \"{b}\"\nmachine = \"qemu\"\nmemory = \"256MiB\"\nscsi = [\"ahci\"]\n\
         disks = [{{ target = \"image\" }}]\n\
         [workload.w]\nblock = \"16KiB\"\nread = 50\nrandom = 100\ndepth = 2\nthink = \"30ms\"\nverify = true\n\
         [[plan]]\nworkload = \"w\"\non = [\"{a}\", \"{b}\"]\nwarmup = \"1s\"\nmeasure = \"{measure}\"\n\
         [[goal]]\nerrors = {{ at_most = 0 }}\n"
    )
}

/// A name of guests that no other test has.
fn name(of: &str) -> String {
    let mut chance = [0; 4];
    clock::unpredictable(&mut chance).expect("random bytes");
    format!("{of}-{:08x}", u32::from_ne_bytes(chance))
}

/// The processes of QEMU that have a guest of this name.
fn machines(name: &str) -> Vec<i32> {
    let processes = fs::read_dir("/proc").expect("/proc").flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let wanted = |pid: &i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        line.contains("qemu") && line.split('\0').any(|word| word.starts_with(name))
    };
    pids.filter(wanted).collect()
}

/// Waits until there are no such processes any more.
#[track_caller]
fn all_gone(name: &str) {
    let deadline = clock::now().plus(Ns::secs(20));
    while !machines(name).is_empty() {
        assert!(clock::now() < deadline, "QEMU outlives its run: {:?}", machines(name));
        clock::sleep_until(clock::now().plus(Ns::millis(50)));
    }
}

/// The sum of a counter over a step, by the names of its sources.
fn sums(record: &Record, counter: CounterId) -> BTreeMap<String, f64> {
    let names: BTreeMap<SourceId, String> =
        record.sources().iter().map(|source: &Source| (source.id, source.name.clone())).collect();
    let mut sums = BTreeMap::new();
    for one in record.counters(Some(0)).expect("counters") {
        if one.kind.id() == Some(counter) {
            *sums.entry(names[&one.source].clone()).or_default() += one.value;
        }
    }
    sums
}

/// The sum of what is known of a counter of a source over a step.
fn known_sum(record: &Record, counter: CounterId, source: &str) -> f64 {
    let id = record.sources().iter().find(|of| of.name == source).expect("a source").id;
    let counters = record.counters(Some(0)).expect("counters").into_iter();
    let mine = counters.filter(|one| one.source == id && one.kind.id() == Some(counter));
    mine.map(|one| one.value).filter(|value| !value.is_nan()).sum()
}

#[test]
fn guests_carry_verified_loads_on_what_the_run_made() {
    let Some(accelerator) = accelerator() else { return };
    let (a, b) = (name("a"), name("b"));
    // One of them moves to another QEMU meanwhile.
    let hosts = "[[host]]\nname = \"east\"\n[[host]]\nname = \"west\"\n";
    let first = format!("name = \"{a}\"\nhost = \"east\"\n");
    let moves =
        format!("measure = \"6s\"\nfaults = [{{ at = \"1s\", move = \"{a}\", to = \"west\" }}]");
    let scenario = two_guests([&a, &b], "6s")
        .replace("[[volume]]", &format!("{hosts}[[volume]]"))
        .replace(&format!("name = \"{a}\"\n"), &first)
        .replace("measure = \"6s\"", &moves);
    let bench = Bench::new(&scenario);
    let mut command = bench.command(&["run", "s.toml", "--out", "r.wsr"]);
    let out = command.env("WIRESPEED_ACCELERATOR", accelerator).output().expect("it runs");
    let Ended { code, stdout, stderr } = ended(out);
    assert_eq!(code, 0, "{stdout}\n{stderr}");
    assert!(machines(&a).is_empty() && machines(&b).is_empty(), "QEMU outlives the run");

    let record = open(&bench.path("r.wsr"));
    assert_eq!(record.status(), Status::Complete);
    let moved = record.events().iter().find(|event| event.code == "incident-move");
    let text = format!("{a} moved to west within ");
    assert!(moved.is_some_and(|of| of.text.starts_with(&text)), "{:?}", record.events());
    // What the workers say they did, what each guest's kernel counted at its disk, and what the array counted at its port.
    let mut did: BTreeMap<String, [f64; 2]> = BTreeMap::new();
    for one in record.intervals(0).expect("intervals") {
        let source = record.sources().iter().find(|source| source.id == one.source);
        let sum = did.entry(source.expect("a source").group.clone()).or_default();
        sum[0] += one.read.map_or(0.0, |read| read.bytes as f64);
        sum[1] += one.write.map_or(0.0, |write| write.bytes as f64);
    }
    let (most, bounds) = (2.0 * 16384.0, sums(&record, CounterId::ClockBound));
    for (n, counter) in [CounterId::ReadBytes, CounterId::WriteBytes].into_iter().enumerate() {
        let counted = sums(&record, counter);
        for vm in [&a, &b] {
            let (by_worker, by_kernel) = (did[vm][n], counted[&format!("{vm}.disk0")]);
            assert!(by_worker > 0.0, "{vm} did nothing: {did:?}");
            // On a busy machine the last look at a disk comes before the last I/Os.
            let apart = f64::max(most, 0.1 * by_worker);
            assert!((by_worker - by_kernel).abs() <= apart, "{vm}: {by_worker}, {by_kernel}");
            assert_eq!(by_kernel, counted[&format!("{vm}.scsi0")], "one disk at one adapter");
            // A QEMU counts anew once its guest has moved, and on a busy machine it may not answer in time.
            let by_qemu = format!("{vm}.qemu-disk0");
            let (all, known) = (counted[&by_qemu], known_sum(&record, counter, &by_qemu));
            assert!(known > 0.0 && known <= by_worker + most + 65536.0, "{vm}: {known}");
            assert!(all.is_nan() || (by_worker - all).abs() <= most + 65536.0, "{vm}: {all}");
        }
        // Commands without data, such as INQUIRY, take some bytes at a port; and the guest's step ends later by its clock, which
        // stood still while it moved. The load lasts seven seconds.
        let (port, bound) = (counted["store.p1"], bounds[&format!("{a}.cpu")] / 1e9);
        let beyond = did[&a][n] / 7.0 * 2.0 * bound;
        assert!((did[&a][n] - port).abs() <= most + 65536.0 + beyond, "{} {port}", did[&a][n]);
    }
    // Moments are known within bounds, and hops of both sides are counted.
    for vm in [&a, &b] {
        let bound = bounds[&format!("{vm}.cpu")];
        assert!(bound > 0.0 && bound < 2e9, "{bounds:?}");
        for hop in ["cpu", "qemu", "io-thread"] {
            let busy = sums(&record, CounterId::CpuBusy)[&format!("{vm}.{hop}")];
            assert!(busy > 0.0, "{vm}.{hop}");
        }
    }
    let fact = |key: &str| {
        let facts = record.facts();
        facts.iter().find(|f| f.subject == a && f.key == key).map(|f| f.value.clone())
    };
    assert_eq!(fact("guest-memory").as_deref(), Some("256 MiB"));
    assert!(fact("accelerator").is_some_and(|value| value.starts_with(accelerator)));
}

/// All guests of a host lose their power under a verified load and boot again: nobody is lost, what was acknowledged before is there,
/// and the step is an outage with a before, a during and an after.
#[test]
#[ignore = "takes a minute: `make guests`"]
fn guests_of_a_host_that_fails_boot_again_and_find_what_they_wrote() {
    let Some(accelerator) = accelerator() else { return };
    let (a, b) = (name("a"), name("b"));
    let faults = "measure = \"90s\"\nfaults = [{ at = \"4s\", kill = \"east\" }, { at = \"7s\", restore = \"east\" }]";
    let mut scenario = two_guests([&a, &b], "90s")
        .replace("[[volume]]", "[[host]]\nname = \"east\"\n[[volume]]")
        .replace("measure = \"90s\"", faults);
    for vm in [&a, &b] {
        let (bare, on_it) =
            (format!("name = \"{vm}\"\n"), format!("name = \"{vm}\"\nhost = \"east\"\n"));
        scenario = scenario.replace(&bare, &on_it);
    }
    let bench = Bench::new(&scenario);
    let mut command = bench.command(&["run", "s.toml", "--out", "r.wsr"]);
    let out = command.env("WIRESPEED_ACCELERATOR", accelerator).output().expect("it runs");
    let Ended { code, stdout, stderr } = ended(out);
    assert_eq!(code, 0, "{stdout}\n{stderr}");
    assert!(machines(&a).is_empty() && machines(&b).is_empty(), "QEMU outlives the run");
    let record = open(&bench.path("r.wsr"));
    assert_eq!(record.status(), Status::Complete);
    let texts = |code: &str| -> Vec<&str> {
        let mine = record.events().iter().filter(|event| event.code == code);
        mine.map(|event| event.text.as_str()).collect()
    };
    assert_eq!(texts("agent-lost"), [""; 0]);
    let both = format!("east is killed: its guests have lost their power ({a}, {b})");
    assert_eq!(texts("incident-kill"), [both]);
    assert_eq!(texts("incident-restore").len(), 1);
    for vm in [&a, &b] {
        let back = texts("agent-returned");
        let mine =
            back.iter().find(|text| text.starts_with(&format!("`{vm}` is back and goes on")));
        assert!(mine.is_some(), "{back:?}");
    }
    // Both knew what they had written, and read it.
    let known = texts("verify-state");
    assert_eq!(known.len(), 2, "{known:?}");
    assert!(known.iter().all(|text| !text.contains("knows 0 blocks")), "{known:?}");
    assert!(stdout.contains("none wrong"), "{stdout}");
    let json = bench.expect(0, &["review", "r.wsr", "--format", "json"]).stdout;
    let review: Value = serde_json::from_str(&json).expect("JSON");
    let fault = &review["steps"][0]["faults"][0];
    assert_eq!((&fault["part"], &fault["kind"]), (&"east".into(), &"killed".into()), "{fault}");
    let rate = |when: &str| fault[when]["bytes_per_s"].as_f64().unwrap_or(f64::NAN);
    assert!(rate("before") > 0.0 && rate("after") > 0.0, "{fault}");
    assert!(rate("during") < rate("before") / 2.0, "{fault}");
}

/// The guest's kernel is the initiator: what its workers did is what the array's port counted.
#[test]
#[ignore = "boots a guest: `make guests`"]
fn a_disk_is_reached_by_the_guests_kernel() {
    let Some(accelerator) = accelerator() else { return };
    let (a, b) = (name("a"), name("b"));
    let scenario = two_guests([&a, &b], "6s")
        .replace("lun = \"store/disk\"", "lun = \"store/disk\", initiator = \"kernel\"")
        .replace(&format!("on = [\"{a}\", \"{b}\"]"), &format!("on = [\"{a}\"]"));
    let bench = Bench::new(&scenario);
    let planned = bench.expect(0, &["plan", "s.toml"]).stdout;
    assert!(planned.contains("disks by its kernel's own iSCSI initiator"), "{planned}");
    let mut command = bench.command(&["run", "s.toml", "--out", "r.wsr"]);
    let out = command.env("WIRESPEED_ACCELERATOR", accelerator).output().expect("it runs");
    let Ended { code, stdout, stderr } = ended(out);
    assert_eq!(code, 0, "{stdout}\n{stderr}");
    assert!(stdout.contains("none wrong"), "{stdout}");
    let record = open(&bench.path("r.wsr"));
    let disks = record.facts().iter().find(|fact| fact.subject == a && fact.key == "disks");
    assert!(disks.is_some_and(|fact| fact.value.ends_with("by the kernel's initiator")));
    for counter in [CounterId::ReadBytes, CounterId::WriteBytes] {
        let counted = sums(&record, counter);
        let (disk, port) = (counted[&format!("{a}.disk0")], counted["store.p1"]);
        assert!(disk > 0.0 && (disk - port).abs() <= 4.0 * 16384.0 + 65536.0, "{disk} {port}");
    }
}

#[test]
fn a_guest_whose_machine_dies_is_an_event_with_its_console() {
    let Some(accelerator) = accelerator() else { return };
    let (a, b) = (name("a"), name("b"));
    let bench = Bench::new(&two_guests([&a, &b], "6s"));
    let mut command = bench.command(&["run", "s.toml", "--out", "r.wsr"]);
    command.env("WIRESPEED_ACCELERATOR", accelerator);
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stderr.take().expect("its output")).lines();
    let mut said = Vec::new();
    let started = lines.by_ref().map_while(Result::ok).any(|line| {
        said.push(line);
        said.last().is_some_and(|line| line.contains(" s  "))
    });
    assert!(started, "the load never began: {said:?}");
    let machine = machines(&b);
    assert_eq!(machine.len(), 1, "one machine of the guest");
    let pid = rustix::process::Pid::from_raw(machine[0]).expect("a process");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("it is killed");
    lines.for_each(drop);
    let out = ended(child.wait_with_output().expect("it ends"));
    assert_ne!(out.code, 0, "{}", out.stdout);
    let record = open(&bench.path("r.wsr"));
    let events = record.events();
    let lost = events.iter().find(|event| event.code == "agent-lost").expect("an event");
    for word in [&*b, "signal: 9", "its console"] {
        assert!(lost.text.contains(word), "{word}: {}", lost.text);
    }
    // The other one finished its step.
    let of_a = record.sources().iter().find(|source| source.group == a).expect("its worker").id;
    let intervals = record.intervals(0).expect("intervals");
    let end = intervals.iter().filter(|one| one.source == of_a).map(|one| one.to).max();
    assert_eq!(end, record.steps().first().map(|step| step.times.end));
    all_gone(&a);
    all_gone(&b);
}

#[test]
fn nothing_is_left_of_a_run_that_is_killed() {
    kill_runs(KILLS);
}

#[test]
#[ignore = "takes minutes: `make guests`"]
fn nothing_is_left_of_fifty_runs_that_are_killed() {
    kill_runs(MANY_KILLS);
}

/// Kills runs at random moments, from before their guests start until these carry a load.
fn kill_runs(kills: u64) {
    let Some(accelerator) = accelerator() else { return };
    let mut with_machines = 0;
    for first in (0..kills).step_by(AT_ONCE as usize) {
        let last = (first + AT_ONCE).min(kills);
        let attempts: Vec<_> = (first..last)
            .map(|seed| std::thread::spawn(move || kill_one(seed, accelerator)))
            .collect();
        for attempt in attempts {
            with_machines += u64::from(attempt.join().expect("the attempt holds"));
        }
    }
    assert!(with_machines > 0, "no run got as far as its guests");
}

/// Kills one run; whether it had machines.
fn kill_one(seed: u64, accelerator: &str) -> bool {
    let own = name("kill");
    let (a, b) = (format!("{own}-a"), format!("{own}-b"));
    let bench = Bench::new(&two_guests([&a, &b], "30s"));
    let mut command = bench.command(&["run", "s.toml", "--out", "r.wsr", "--quiet"]);
    command.env("WIRESPEED_ACCELERATOR", accelerator).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("it starts");
    // Half of the runs are killed before their guests are there, half while these boot or carry a load.
    let mut rng = Rng::keyed(seed, &[]);
    let deadline = clock::now().plus(Ns::secs(120));
    let mut waits = seed % 2 == 1;
    while waits && clock::now() < deadline {
        clock::sleep_until(clock::now().plus(Ns::millis(20)));
        waits = machines(&own).is_empty();
    }
    clock::sleep_until(clock::now().plus(Ns(rng.below(8_000_000_000))));
    let had = !machines(&own).is_empty();
    child.kill().expect("a running child can be killed");
    assert_eq!(child.wait().expect("it is reaped").signal(), Some(9), "it ended by itself");
    all_gone(&own);
    had
}

/// A run with this much changed ends before any load, and says why.
#[track_caller]
fn refuse(scenario: &str, set: &[&str], kernel: Option<&Path>, says: &[&str]) {
    let bench = Bench::new(scenario);
    let mut args = vec!["run", "s.toml", "--out", "r.wsr"];
    set.iter().for_each(|set| args.extend(["--set", set]));
    let mut command = bench.command(&args);
    command.env("WIRESPEED_ACCELERATOR", "tcg");
    kernel.map(|path| command.env("WIRESPEED_KERNEL", path));
    let Ended { code, stderr, .. } = ended(command.output().expect("it runs"));
    assert_eq!(code, 2, "{stderr}");
    says.iter().for_each(|says| assert!(stderr.contains(says), "{says}: {stderr}"));
    assert!(!bench.path("r.wsr").exists(), "a record was made");
}

#[test]
fn what_cannot_be_a_guest_is_refused_before_any_load() {
    if accelerator().is_none() {
        return;
    }
    let good = two_guests(["a", "b"], "1s");
    refuse(&good, &["vm.a.memory=32MiB"], None, &["32MiB is too little", "96 MiB"]);
    refuse(&good, &["vm.a.memory=97MiB"], None, &["has 97 MiB of memory and needs"]);
    refuse(&good, &["vm.a.memory=64TiB"], None, &["are free"]);
    refuse(&good, &["vm.a.vcpus=300"], None, &["255 at most"]);
    refuse(&good, &["vm.a.scsi=[\"qle2560\"]"], None, &["qle2560"]);
    let shared = good.replace("{ target = \"image\" }", "{ lun = \"store/disk\" }");
    refuse(&shared, &[], None, &["`store/disk`, which is written", "a disk of its own"]);
    let local = good.replace("\"a\"", "\"local\"");
    refuse(&local, &[], None, &["cannot be called `local`"]);
    let state = good.replace("create = \"4MiB\"", "create = \"4MiB\"\nverify_state = \"x\"");
    refuse(&state, &[], None, &["`verify_state` of `image`"]);
    // A file that is no kernel, a kernel without modules, and one without the driver of an adapter.
    let root = tempfile::tempdir().expect("a directory");
    let (boot, modules) = (root.path().join("boot"), root.path().join("lib/modules/6.0/kernel"));
    fs::create_dir_all(&boot).expect("a directory");
    let image = boot.join("vmlinuz-6.0");
    fs::write(&image, vec![0; 4096]).expect("a file");
    refuse(&good, &[], Some(&image), &["has no modules"]);
    fs::create_dir_all(&modules).expect("a directory");
    refuse(&good, &[], Some(&image), &["is no Linux kernel image"]);
    let mut kernel = vec![0; 4096];
    kernel[0x202..0x206].copy_from_slice(b"HdrS");
    fs::write(&image, kernel).expect("a file");
    refuse(&good, &[], Some(&image), &["the kernel 6.0 has no module", "linux-image-amd64"]);
}
