//! Targets to try the initiator on, and steps in few words.

use crate::prelude::*;
use disk::{Arena, DiskEngine, RemoteAccess, Resolver, Schemes};
use engine::{Engine, EngineError, Output, Pinning, StepSpec, Stop, TargetSpec, WorkerSpec};
use workload::{Arrivals, IoDemand, Regions, Row, Spec};

/// Nothing here takes longer; whoever waits this long hangs.
pub const HANG: Duration = Duration::from_secs(60);

pub const MIB: u64 = 1 << 20;

const NAME: &str = "iqn.2026-11.example.wirespeed:initiator";

/// A port that is free now.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("bound").port()
}

/// Debian's `tgtd`, with a control port of its own. LUN 1 has blocks of 512 bytes, LUN 2 of 4096.
pub struct Tgt {
    daemon: Child,
    control: String,
    port: u16,
    _folder: tempfile::TempDir,
}

impl Tgt {
    /// `None`, with a line that says so, where there is none.
    pub fn start() -> Option<Tgt> {
        let port = free_port();
        let control = (1000 + u32::from(port) % 30_000).to_string();
        let portal = format!("portal=127.0.0.1:{port}");
        let daemon = Command::new("tgtd")
            .args(["-f", "-C", &control, "--iscsi", &portal])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(daemon) = daemon else {
            println!("skipped: tgtd is not installed (package tgt) or may not run");
            return None;
        };
        let folder = tempfile::tempdir().expect("a directory");
        let tgt = Tgt { daemon, control, port, _folder: folder };
        tgt.until_ready();
        tgt.admin(&["--mode", "target", "--op", "new", "--tid", "1", "-T", NAME]);
        for (lun, block) in [("1", "512"), ("2", "4096")] {
            let path = tgt._folder.path().join(lun);
            let file = std::fs::File::create(&path).expect("room");
            file.set_len(16 * MIB).expect("room");
            let path = path.to_str().expect("UTF-8");
            let lun = ["--tid", "1", "--lun", lun, "-b", path, "--blocksize", block];
            tgt.admin(&[&["--mode", "logicalunit", "--op", "new"][..], &lun].concat());
        }
        tgt.admin(&["--mode", "target", "--op", "bind", "--tid", "1", "-I", "ALL"]);
        Some(tgt)
    }

    fn until_ready(&self) {
        let limit = clock::now().plus(Ns::secs(10));
        while clock::now() < limit {
            let show = ["--mode", "sys", "--op", "show"];
            if self.command(&show).is_some_and(|status| status) {
                return;
            }
            clock::sleep_until(clock::now().plus(Ns::millis(50)));
        }
        panic!("tgtd does not come up");
    }

    fn command(&self, args: &[&str]) -> Option<bool> {
        let mut command = Command::new("tgtadm");
        command.args(["-C", &self.control, "--lld", "iscsi"]).args(args);
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.ok().map(|status| status.success())
    }

    pub fn admin(&self, args: &[&str]) {
        assert_eq!(self.command(args), Some(true), "tgtadm {args:?}");
    }

    pub fn url(&self, lun: u16) -> String {
        format!("iscsi://127.0.0.1:{}/{NAME}/{lun}", self.port)
    }
}

impl Drop for Tgt {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

/// Our own target with these volumes.
pub fn ours(volumes: &[&str]) -> TargetServer {
    ours_with(volumes, |config| config)
}

/// The same, configured otherwise.
pub fn ours_with(
    volumes: &[&str],
    configure: impl FnOnce(TargetSettings) -> TargetSettings,
) -> TargetServer {
    let volume = |(n, spec): (usize, &&str)| {
        let spec = spec.parse().expect("a volume");
        Volume::open(&spec, &format!("serial-{n}")).expect("room")
    };
    let volumes: Vec<Arc<Volume>> = volumes.iter().enumerate().map(volume).collect();
    let portal = PortalConfig::new("127.0.0.1:0".parse().expect("an address"));
    TargetServer::start(configure(TargetSettings::new(NAME, vec![portal], volumes)))
        .expect("it starts")
}

/// The URL of a LUN of a target of ours.
pub fn url(target: &TargetServer, lun: u16) -> String {
    url_at(target.addresses()[0], lun)
}

/// The URL of its LUN by another way.
pub fn url_at(address: SocketAddr, lun: u16) -> String {
    format!("iscsi://{address}/{NAME}/{lun}")
}

pub fn schemes() -> Schemes {
    let initiator = Initiator::named("iqn.2026-11.example.wirespeed:tests");
    let initiator = initiator.silence(Ns::millis(600));
    Schemes::default().with(SCHEME, Arc::new(initiator))
}

/// What a worker's queue to a LUN says of its sessions.
pub fn how(url: &str) -> String {
    let initiator = Initiator::named("iqn.2026-11.example.wirespeed:tests");
    let lun = initiator.find(url, None).unwrap_or_else(|e| panic!("{url}: {e}"));
    let opener = initiator.opener(vec![RemoteAccess::Read(lun)]).expect("a LUN");
    let arena = Arena::new(4, 4096).expect("memory");
    let queue = opener.open(&arena).unwrap_or_else(|e| panic!("{url}: {e}"));
    queue.how().to_owned()
}

/// Random access in blocks of `size`, with a share of reads in percent.
pub fn mixed(size: u32, read: f64, depth: u32) -> Spec {
    let arrivals = Arrivals::closed(depth);
    Spec::access(vec![Row::new(size, read, 100.0)], arrivals, Regions::Own)
}

/// What names a target for writing, as the plan says it.
pub fn granted(url: &str) -> TargetSpec {
    let plain = TargetSpec::new("lun", url);
    let report = schemes().inspect(&plain, true);
    let examined = report.examined.unwrap_or_else(|| panic!("{url}: {:?}", report.fate));
    let token = Some(examined.unwrap_or_else(|e| panic!("{url}: {e}")).token);
    TargetSpec { write_token: token, ..plain }
}

/// A step of `measure` with one worker on all targets.
pub fn step(targets: Vec<TargetSpec>, workers: u32, spec: &Spec, measure: Ns) -> StepSpec {
    let demand = IoDemand::of(spec);
    let worker = |i| WorkerSpec {
        sharer: i,
        sharers: workers,
        verify: demand.writes,
        ..WorkerSpec::new(i, format!("lun/{i}"), (0..targets.len() as u16).collect(), spec.clone())
    };
    StepSpec {
        index: 1,
        seed: 1,
        warmup: Ns::ZERO,
        measure,
        cooldown: Ns::ZERO,
        slice: Ns::ZERO,
        workers: (0..workers).map(worker).collect(),
        loads: Vec::new(),
        attended: Vec::new(),
        counted: None,
        lab: None,
        targets: targets.into_iter().map(|target| TargetSpec { demand, ..target }).collect(),
    }
}

/// What came out of a step.
#[derive(Debug, Default)]
pub struct Outcome {
    pub ops: u64,
    pub errors: u64,
    /// Trims, zeroes and flushes.
    pub without_data: [u64; 3],
    /// Codes and texts of events above information.
    pub events: Vec<(String, String)>,
    pub counters: Vec<(String, f64)>,
}

pub fn run(step: &StepSpec) -> Result<Outcome, EngineError> {
    run_on(&mut DiskEngine::new(Pinning::Never).with(schemes()), step)
}

pub fn run_on(engine: &mut DiskEngine, step: &StepSpec) -> Result<Outcome, EngineError> {
    let (out, outputs) = mpsc::channel();
    let prepared = engine.prepare(step, &out, &Stop::default())?;
    let now = clock::now();
    let _running = prepared.start(now, now.plus(Ns::millis(20)), out);
    let mut outcome = Outcome::default();
    loop {
        match outputs.recv_timeout(HANG).expect("a verdict in bounded time") {
            Output::Interval(interval) => {
                for tally in [&interval.read, &interval.write].into_iter().flatten() {
                    outcome.ops += tally.ops;
                    outcome.errors += tally.errors;
                }
                for (count, tally) in outcome.without_data.iter_mut().zip(&interval.others) {
                    *count += tally.as_ref().map_or(0, |tally| tally.ops);
                    outcome.errors += tally.as_ref().map_or(0, |tally| tally.errors);
                }
            }
            Output::Event(event) if event.level > record::Level::Info => {
                outcome.events.push((event.code, event.text));
            }
            Output::Event(_) | Output::Ended(..) => {}
            Output::Counter(counter) => {
                outcome.counters.push((counter.kind.name().to_owned(), counter.value))
            }
            Output::Finished => return Ok(outcome),
            Output::Failed(e) => return Err(e),
        }
    }
}

/// A verified load went through without a single fault.
#[track_caller]
pub fn sound(outcome: Result<Outcome, EngineError>, what: &str) -> Outcome {
    let outcome = outcome.unwrap_or_else(|e| panic!("{what}: {e}"));
    assert!(outcome.ops > 0 && outcome.errors == 0, "{what}: {outcome:?}");
    let bad = outcome.events.iter().find(|(code, _)| code.starts_with("verify"));
    assert!(bad.is_none(), "{what}: {bad:?}");
    outcome
}
