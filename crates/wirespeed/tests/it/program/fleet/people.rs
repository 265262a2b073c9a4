//! Who may join, who is obeyed, and what is said to people where something does not fit.

use super::servers::{Client, NatsServer, agent, wait_for};
use super::{agents, check_record, scenario};
use crate::prelude::*;
use crate::program::support::Bench;
use nats::wire::{self, Announcement, CARRIER, Reply};

#[test]
fn wrong_and_missing_credentials_are_said() {
    let users = "authorization { users = [ { user: lab, password: right } ] }\n";
    let Some(server) = NatsServer::start(Some(users)) else { return };
    let bench = Bench::new(&scenario(1, 1, "*"));
    bench.secret("right", "right\n");
    bench.secret("wrong", "wrong\n");
    let url = server.url();
    for (command, flag) in [(["fleet", "ls"], "--fleet"), (["agent", "--name=x"], "--join")] {
        let with = |more: &[&str], code: i32| {
            let args: Vec<&str> = [&command[..], &[flag, &url], more].concat();
            bench.expect(code, &args).stderr
        };
        let none = with(&[], 3);
        assert!(
            none.contains("refuses a client without credentials; give --credentials"),
            "{none}"
        );
        let wrong = with(&["--user", "lab", "--password-file", "wrong"], 3);
        assert!(wrong.contains("refuses user `lab` with the password in wrong"), "{wrong}");
        let missing = with(&["--token-file", "nowhere"], 2);
        assert!(missing.contains("cannot read nowhere"), "{missing}");
        let shown = with(&["--credentials", "right"], 2);
        assert!(shown.contains("right holds no credentials"), "{shown}");
    }
    fs::write(bench.path("open"), "right\n").expect("a scratch file");
    let open = ["fleet", "ls", "--fleet", &url, "--user", "lab", "--password-file", "open"];
    let open = bench.expect(2, &open).stderr;
    assert!(open.contains("lets others than its owner use it: chmod 600 open"), "{open}");
    let open = bench.expect(2, &["fleet", "ls", "--fleet", "nats://lab:right@127.0.0.1:1"]);
    assert!(open.stderr.contains("secrets do not belong"), "{}", open.stderr);
    let nowhere = bench.expect(3, &["fleet", "ls", "--fleet", "nats://127.0.0.1:1"]);
    assert!(nowhere.stderr.contains("no server answers"), "{}", nowhere.stderr);
    bench.expect(0, &["fleet", "ls", "--fleet", &url, "--user", "lab", "--password-file", "right"]);
}

/// The seed of a user, and its public key; a program that shares no code with ours made both.
const SEED: &str = "SUAEZBQISBUE3MB3E62IJR26OVGWQTHZNGMR5RWI3HFEJ7ZR7KCS3MR64Q";
const USER: &str = "UCY4NKXXM52RJWWI7U27HZXEDVJA6LLOH6NT533RF6D2ZGESOG7SH65P";

/// Certificates by `openssl`: an authority of our own, another one, and a server's for loopback.
fn certificates(dir: &Path) {
    let openssl = |args: &str| {
        let made = Command::new("openssl").args(args.split(' ')).current_dir(dir).output();
        let made = made.expect("openssl runs");
        assert!(made.status.success(), "openssl {args}: {}", String::from_utf8_lossy(&made.stderr));
    };
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2";
    for name in ["ca", "other"] {
        openssl(&format!("req -x509 {key} -keyout {name}.key -out {name}.pem -subj /CN={name}"));
    }
    let san = "-addext subjectAltName=IP:127.0.0.1 -addext basicConstraints=CA:FALSE";
    openssl(&format!(
        "req -x509 {key} -CA ca.pem -CAkey ca.key -keyout server.key -out server.pem -subj /CN=server {san}"
    ));
}

#[test]
fn a_server_with_tls_is_believed_by_its_authority_and_a_user_by_a_key() {
    let bench = Bench::new(&scenario(1, 1, "*"));
    certificates(&bench.path(""));
    let file = |name: &str| bench.path(name).display().to_string();
    let config = format!(
        "tls {{ cert_file: \"{}\", key_file: \"{}\" }}\nauthorization {{ users = [ {{ nkey: {USER} }} ] }}\n",
        file("server.pem"),
        file("server.key")
    );
    let Some(server) = NatsServer::start(Some(&config)) else { return };
    let url = server.url();
    bench.secret("seed", &format!("{SEED}\n"));
    bench.secret("wrong", &SEED.replace("BQIS", "BQIT"));
    let ls = |code: i32, more: &[&str]| {
        bench.expect(code, &[&["fleet", "ls", "--fleet", &url], more].concat())
    };
    let unknown = ls(3, &["--credentials", "seed"]).stderr;
    assert!(unknown.contains("TLS failed") && unknown.contains("--ca FILE"), "{unknown}");
    let other = ls(3, &["--credentials", "seed", "--ca", "other.pem"]).stderr;
    assert!(other.contains("TLS failed"), "{other}");
    let anyone = ls(3, &["--ca", "ca.pem"]).stderr;
    assert!(anyone.contains("refuses a client without credentials"), "{anyone}");
    let wrong = ls(2, &["--ca", "ca.pem", "--credentials", "wrong"]).stderr;
    assert!(wrong.contains("wrong holds no credentials"), "{wrong}");
    let with = ["--ca", "ca.pem", "--credentials", "seed"];
    let _agent = agent(&bench, &url, "a", &with);
    wait_for("the agent", || ls(0, &with).stdout.contains("waits").then_some(()));
    let run = ["run", "s.toml", "--fleet", &url, "--out", "r.wsr", "--quiet"];
    bench.expect(0, &[&run[..], &with].concat());
    check_record(&bench.path("r.wsr"), 1, &[]);
}

#[test]
fn agents_of_another_group_are_neither_seen_nor_obeyed() {
    let Some(server) = NatsServer::start(None) else { return };
    let bench = Bench::new(&scenario(1, 1, "*"));
    let url = server.url();
    let _mine = agent(&bench, &url, "mine", &["--group", "blue", "--label", "site=a"]);
    let _others = agent(&bench, &url, "other", &["--group", "red"]);
    let seen = |group: &str| {
        let args = ["fleet", "ls", "--fleet", &url, "--group", group, "--format", "json"];
        let list: Value = serde_json::from_str(&bench.expect(0, &args).stdout).expect("JSON");
        let list = list["agents"].as_array().expect("a list").clone();
        list.iter().map(|one| one["name"].as_str().expect("a name").to_owned()).collect::<Vec<_>>()
    };
    wait_for("both agents", || {
        (seen("blue") == ["mine"] && seen("red") == ["other"]).then_some(())
    });
    assert!(seen("green").is_empty());
    // The name of an agent is taken in its group alone.
    let twice = ["agent", "--join", &url, "--name", "mine", "--group", "blue"];
    let twice = bench.expect(2, &twice).stderr;
    assert!(twice.contains("an agent `mine` is already in group `blue`"), "{twice}");
    let show = ["fleet", "show", "mine", "--fleet", &url, "--group", "blue"];
    let show = bench.expect(0, &show).stdout;
    for word in
        ["cpu-count", "addresses", "clock-source", "clock-discipline", "label site", "waits"]
    {
        assert!(show.contains(word), "{word}: {show}");
    }
    check_clock_state(&show);
    let near = bench.expect(2, &["fleet", "show", "mind", "--fleet", &url, "--group", "blue"]);
    assert!(near.stderr.contains("did you mean `mine`?"), "{}", near.stderr);
}

/// What the kernel says of its clock, asked by a program that shares no code with ours.
#[track_caller]
fn check_clock_state(show: &str) {
    const ASK: &str = "import ctypes\nstate = (ctypes.c_long * 64)()\n\
        clock = ctypes.CDLL(None).adjtimex(state)\n\
        print(clock == 5 or ctypes.cast(state, ctypes.POINTER(ctypes.c_int))[10] & 64 != 0, '%+.3f' % (state[2] / 65536))";
    let asked = Command::new("python3").args(["-c", ASK]).output().expect("Python runs");
    let said = String::from_utf8(asked.stdout).expect("text");
    let (unsynchronized, frequency) = said.trim().split_once(' ').expect("two words");
    let state = show.lines().find(|line| line.contains("clock-state")).expect("the state");
    assert_eq!(state.contains("not synchronized"), unsynchronized == "True", "{state}: {said}");
    assert!(state.contains(&format!("frequency {frequency} ppm")), "{state}: {said}");
}

#[test]
fn what_is_missing_is_said_before_anything_runs() {
    let Some(server) = NatsServer::start(None) else { return };
    let bench = Bench::new(&scenario(3, 1, "site=a && cores>=1"));
    let url = server.url();
    let _one = agent(&bench, &url, "a1", &["--label", "site=a"]);
    let _two = agent(&bench, &url, "a2", &["--label", "site=a"]);
    let _far = agent(&bench, &url, "b1", &["--label", "site=b"]);
    let ls = || bench.expect(0, &["fleet", "ls", "--fleet", &url]).stdout;
    wait_for("three agents", || ["a1", "a2", "b1"].iter().all(|n| ls().contains(n)).then_some(()));
    let wants = bench.expect(0, &["plan", "s.toml"]).stdout;
    assert!(wants.contains("vm1          on site=a && cores>=1"), "{wants}");
    let plan = bench.expect(3, &["plan", "s.toml", "--fleet", &url, "--patience", "1s"]).stdout;
    let why = "missing: `vm3` needs an agent with `site=a && cores>=1`: `a1` carries `vm1`, `a2` carries `vm2`";
    assert!(plan.contains(why), "{plan}");
    let run = ["run", "s.toml", "--fleet", &url, "--patience", "1s", "--out", "r.wsr"];
    let run = bench.expect(3, &run).stderr;
    assert!(run.contains("`vm3` needs an agent") && !bench.path("r.wsr").exists(), "{run}");
    let short = ["run", "s.toml", "--fleet", &url, "--wait", "9", "--patience", "1s"];
    assert!(bench.expect(3, &short).stderr.contains("3 of 9 agents came within"));
    // With one more it is bound.
    let _three = agent(&bench, &url, "a3", &["--label", "site=a"]);
    let plan = bench.expect(0, &["plan", "s.toml", "--fleet", &url]).stdout;
    for bound in
        ["a1                   vm1", "a2                   vm2", "a3                   vm3"]
    {
        assert!(plan.contains(bound), "{plan}");
    }
    let local = bench.expect(2, &["run", "s.toml"]).stderr;
    assert!(
        local.contains("`vm1` is carried by agents with") && local.contains("--fleet"),
        "{local}"
    );
}

/// An agent of an older release, by a client of our own: it announces itself, and is refused by name.
#[test]
fn an_agent_of_another_release_is_refused_by_name() {
    let Some(server) = NatsServer::start(None) else { return };
    let bench = Bench::new(&scenario(1, 1, "*"));
    let mut old = Client::new(server.port);
    old.subscribe("wirespeed.default.who");
    let port = server.port;
    let (url, older) = (server.url(), fleet::message::PROTOCOL - 1);
    std::thread::spawn(move || {
        loop {
            let (_, reply, _) = old.next();
            let one = Announcement {
                carrier: CARRIER,
                protocol: older,
                release: "0.0.9".to_owned(),
                name: "relic".to_owned(),
                group: "default".to_owned(),
                instance: 1,
                labels: Vec::new(),
                facts: Vec::new(),
                busy: None,
                now: Ns::ZERO,
            };
            let bytes = wire::encode(&one).expect("it can be encoded");
            old.publish(&reply.expect("an answer is wanted"), &bytes);
        }
    });
    let run = ["run", "s.toml", "--fleet", &url, "--patience", "2s", "--out", "r.wsr"];
    let run = bench.expect(3, &run).stderr;
    assert!(run.contains("agent `relic` is of release 0.0.9 and speaks version"), "{run}");
    // And a coordinator of another release by the agent.
    let _young = agent(&bench, &url, "young", &[]);
    let mut client = Client::new(port);
    client.subscribe("answers");
    let engage = wire::Call::Engage {
        carrier: CARRIER,
        protocol: older,
        group: "default".to_owned(),
        run: "r".to_owned(),
        title: "t".to_owned(),
        instance: None,
    };
    let engage = wire::encode(&engage).expect("it can be encoded");
    wait_for("the agent", || {
        bench.expect(0, &["fleet", "ls", "--fleet", &url]).stdout.contains("young").then_some(())
    });
    client.request("wirespeed.default.agent.young", "answers", &engage);
    let (_, _, answer) = client.next();
    let Ok(Reply::Refused(why)) = wire::decode::<Reply>(&answer) else { panic!("{answer:?}") };
    assert!(why.contains(&format!("the coordinator speaks version {older}")), "{why}");
}

#[test]
fn an_agent_writes_nothing_without_a_token_of_its_own_machine() {
    let Some(server) = NatsServer::start(None) else { return };
    let bench = Bench::new(
        "[scenario]\ntitle = \"writes\"\n[[target]]\nname = \"f\"\nfile = \"precious\"\n\
         [workload.w]\nblock = \"4KiB\"\nread = 0\n\
         [plan]\nworkload = \"w\"\non = \"f\"\nwarmup = \"0s\"\nmeasure = \"1s\"\n",
    );
    let precious = vec![7; 1 << 20];
    fs::write(bench.path("precious"), &precious).expect("a file");
    let _agent = agents(&bench, &server, 1);
    let url = server.url();
    for token in ["", "write_token = \"0123456789abcdef\"\n"] {
        let text = fs::read_to_string(bench.path("s.toml")).expect("the scenario");
        let text = text.replace("file = \"precious\"\n", &format!("file = \"precious\"\n{token}"));
        fs::write(bench.path("t.toml"), text).expect("the scenario");
        let refused = bench.expect(4, &["run", "t.toml", "--fleet", &url, "--wait", "1"]);
        assert!(
            refused.stderr.contains("f:") || refused.stderr.contains("precious"),
            "{}",
            refused.stderr
        );
        assert_eq!(fs::read(bench.path("precious")).expect("the file"), precious);
    }
}

#[test]
fn a_service_is_installed_as_it_was_shown() {
    let bench = Bench::new("");
    bench.secret("token", "secret\n");
    let args = |more: &[&'static str]| {
        let base = ["agent", "install", "--join", "nats://192.0.2.1:4222", "--label", "site=a b"];
        [&base[..], &["--token-file", "token", "--root", "image"], more].concat()
    };
    let shown = bench.expect(0, &args(&["--dry-run"])).stdout;
    assert!(!bench.path("image").exists());
    bench.expect(0, &args(&[]));
    let unit = bench.path("image/etc/systemd/system/wirespeed-agent.service");
    let unit = fs::read_to_string(unit).expect("the unit");
    assert!(shown.contains(&unit), "{shown}");
    for word in [
        "--join nats://192.0.2.1:4222",
        "\"site=a b\"",
        "--token-file %d/token-file",
        "User=wirespeed",
    ] {
        assert!(unit.contains(word), "{word}: {unit}");
    }
    assert!(!unit.contains("secret"));
    assert!(
        bench
            .path("image/etc/systemd/system/multi-user.target.wants/wirespeed-agent.service")
            .symlink_metadata()
            .is_ok()
    );
    let missing = bench.expect(2, &["agent", "install", "--dry-run"]).stderr;
    assert!(missing.contains("--join nats://"), "{missing}");
}

/// The words of a command in a file of packaging/fleet: a line `- [wirespeed, agent, …]` of cloud-init, or the items of `args`.
fn packaged(file: &str) -> Vec<String> {
    let path = format!("{}/../../packaging/fleet/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(&path).expect("the file");
    let unquoted = |word: &str| word.trim().trim_matches('"').to_owned();
    let command = text.lines().find_map(|line| line.trim().strip_prefix("- [wirespeed, "));
    match command {
        Some(words) => words.trim_end_matches(']').split(',').map(unquoted).collect(),
        None => {
            let args = text.lines().filter_map(|line| line.trim().strip_prefix("- --"));
            let args = args.map(|arg| format!("--{arg}"));
            std::iter::once("agent".to_owned()).chain(args).collect()
        }
    }
}

#[test]
fn what_is_packaged_calls_the_program_as_it_is() {
    let bench = Bench::new("");
    bench.secret("token", "secret\n");
    let token = bench.path("token").display().to_string();
    let here = |words: &[String]| -> Vec<String> {
        let one = |word: &String| {
            let word = word.replace("/etc/wirespeed/token", &token);
            let word = word.replace("/run/secrets/nats/token", &token);
            word.replace("nats://192.0.2.1:4222", "nats://127.0.0.1:1").replace("$(NODE)", "n1")
        };
        words.iter().map(one).collect()
    };
    for file in ["cloud-init.yaml", "kubevirt.yaml"] {
        let words = here(&packaged(file));
        let words: Vec<&str> = words.iter().map(String::as_str).chain(["--dry-run"]).collect();
        let unit = bench.expect(0, &words).stdout;
        assert!(unit.contains("--join nats://127.0.0.1:1") && unit.contains("site="), "{unit}");
    }
    let words = here(&packaged("daemonset.yaml"));
    assert!(words.len() > 4, "{words:?}");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let nowhere = bench.expect(3, &words).stderr;
    assert!(nowhere.contains("no server answers"), "{nowhere}");
    // A service that accepts updates runs a copy of its user's.
    let install = ["agent", "install", "--join", "nats://h:1", "--accept-updates", "--dry-run"];
    let unit = bench.expect(0, &install).stdout;
    assert!(unit.contains("ExecStart=/var/lib/wirespeed/wirespeed agent --join"), "{unit}");
    assert!(unit.contains("/var/lib/wirespeed/wirespeed\nExecStart"), "{unit}");
}
