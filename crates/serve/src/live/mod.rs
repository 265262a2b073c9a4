//! Runs in progress, each followed by its record on a thread of its own, however many look at it: what was read and drawn once
//! serves all viewers, and the process that runs is never asked.

pub(crate) mod document;
pub(crate) mod parts;
pub(crate) mod state;
pub(crate) mod writer;

use crate::program::Program;
use clock::Ns;
use document::{Around, Live};
use findings::HopLoad;
use findings::map::LabMap;
use parts::Parts;
use record::{Follower, RecordError, Status};
use scenario::{Scenario, Stage};
use state::State;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// How often a record is looked at. A run commits once a second.
const LOOK: Ns = Ns::millis(200);
/// Intervals that one look takes in, of some 8 kB each: a record of hours is read in parts.
const PART: u32 = 2_000;
/// How often such a record is shown while it is read.
const SHOWN: Ns = Ns::millis(400);
/// How long a run is followed after the last viewer has gone.
const LINGER: Ns = Ns::secs(30);
/// How long a run may take from making its file to writing its head into it.
const BEGINS: Ns = Ns::secs(5);
/// How often the process that writes is looked for.
const ALIVE: Ns = Ns::secs(2);
/// Runs that are followed at once.
const RUNS: usize = 32;

/// What viewers get.
#[derive(Clone, Default)]
pub(crate) struct Frame {
    /// Grows with every change; 0: nothing is known yet.
    pub version: u64,
    /// [`Live`] as JSON.
    pub document: Arc<str>,
    /// [`Parts`] as JSON.
    pub parts: Arc<str>,
    /// Whether nothing more will come.
    pub over: bool,
    /// Why it cannot be followed.
    pub failure: Option<Arc<str>>,
}

/// A run that is followed.
pub(crate) struct Followed {
    pub id: String,
    pub path: PathBuf,
    frames: watch::Sender<Frame>,
    state: Mutex<Option<State>>,
    lab: Mutex<Option<LabMap>>,
}

type Registry = Arc<Mutex<BTreeMap<String, Arc<Followed>>>>;

/// All runs that are followed.
pub(crate) struct Hub {
    program: Arc<dyn Program>,
    all: Registry,
}

/// A viewer of a run: as long as it is held, the run is followed.
pub(crate) struct Viewer {
    pub run: Arc<Followed>,
    pub frames: watch::Receiver<Frame>,
}

impl Hub {
    pub fn new(program: Arc<dyn Program>) -> Hub {
        Hub { program, all: Registry::default() }
    }

    /// Follows a record from now on; the same one for all who ask for it. `None` where too many are followed.
    pub fn follow(&self, id: &str, path: &Path) -> Option<Viewer> {
        let mut all = locked(&self.all);
        if let Some(run) = all.get(id) {
            // Under the lock under which a run is given up: it goes on.
            return Some(Viewer { run: Arc::clone(run), frames: run.frames.subscribe() });
        }
        if all.len() >= RUNS {
            return None;
        }
        let run = Arc::new(Followed {
            id: id.to_owned(),
            path: path.to_owned(),
            frames: watch::Sender::new(Frame::default()),
            state: Mutex::default(),
            lab: Mutex::default(),
        });
        let viewer = Viewer { frames: run.frames.subscribe(), run: Arc::clone(&run) };
        let (program, registry) = (Arc::clone(&self.program), Arc::clone(&self.all));
        let mine = Arc::clone(&run);
        let thread = std::thread::Builder::new().name("follow".to_owned());
        thread.spawn(move || mine.run(&*program, &registry)).ok()?;
        all.insert(id.to_owned(), run);
        Some(viewer)
    }
}

/// What the scenario inside a record adds: how many steps there may be, and the lab for the map.
struct Known {
    scenario: Option<Scenario>,
    steps_max: Option<u32>,
    /// Number of sources for which the map was made.
    mapped: usize,
}

impl Followed {
    /// The state as it is now, if there is any yet.
    pub fn with_state<T>(&self, f: impl FnOnce(&State) -> T) -> Option<T> {
        locked(&self.state).as_ref().map(f)
    }

    /// Follows until it has had no viewer for a while.
    fn run(&self, program: &dyn Program, registry: &Registry) {
        if let Err(error) = self.follow(program, registry) {
            let failure = Some(error.to_string().into());
            self.frames.send_replace(Frame { version: 1, over: true, failure, ..Frame::default() });
            while !self.given_up(registry) {
                clock::sleep_until(clock::now().plus(ALIVE));
            }
        }
    }

    /// Whether the last viewer has gone; then the run is forgotten.
    fn given_up(&self, registry: &Registry) -> bool {
        let mut all = locked(registry);
        let gone = self.frames.receiver_count() == 0;
        if gone {
            all.remove(&self.id);
        }
        gone
    }

    /// Opens the record, which may have been made this moment: it is empty until its head is committed.
    fn begun(&self) -> Result<Follower, RecordError> {
        let until = clock::now().plus(BEGINS);
        loop {
            let opened = Follower::open(&self.path);
            let may_begin = || writer::written().iter().any(|one| one.path == self.path);
            if opened.is_ok() || clock::now() >= until || !may_begin() {
                return opened;
            }
            clock::sleep_until(clock::now().plus(LOOK));
        }
    }

    fn follow(&self, program: &dyn Program, registry: &Registry) -> Result<(), RecordError> {
        let mut follower = self.begun()?;
        *locked(&self.state) = Some(State::new(follower.head().clone()));
        let mut known = Known::of(follower.head());
        let (mut stamp, mut seen, mut looked) = (Stamp::default(), clock::now(), Ns::ZERO);
        let (mut alive, mut over) = (true, false);
        loop {
            let now = clock::now();
            if !over && now.since(looked.min(now)) >= ALIVE {
                let writing = writer::written().iter().any(|one| one.path == self.path);
                if alive && !writing {
                    // It may just have ended: what it wrote last counts.
                    stamp = Stamp::default();
                }
                (alive, looked) = (writing, now);
            }
            let current = Stamp::of(&self.path);
            if !over && current != stamp {
                stamp = current;
                over = self.look(&mut follower, &mut known, program, alive)?;
            }
            if self.frames.receiver_count() > 0 {
                seen = now;
            } else if now.since(seen.min(now)) > LINGER && self.given_up(registry) {
                return Ok(());
            }
            clock::sleep_until(clock::now().plus(LOOK));
        }
    }

    /// Takes in all that is new and shows it; whether the run is over.
    fn look(
        &self,
        follower: &mut Follower,
        known: &mut Known,
        program: &dyn Program,
        alive: bool,
    ) -> Result<bool, RecordError> {
        let (mut due, mut unshown) = (Ns::ZERO, false);
        loop {
            let news = follower.look(PART)?;
            let more = news.more;
            let mut held = locked(&self.state);
            let Some(state) = held.as_mut() else { return Ok(true) };
            unshown |= state.take(news);
            let ended = state.status != Status::Running || !alive;
            // A run that was killed says so nowhere.
            unshown |= !alive;
            if unshown && (!more || clock::now() >= due) {
                (due, unshown) = (clock::now().plus(SHOWN), false);
                known.map(state, &self.lab);
                let mut frame = self.frame(state, known, program, alive);
                // The last word is said when everything is read.
                frame.over = ended && !more;
                self.frames.send_replace(frame);
            }
            if !more {
                return Ok(ended);
            }
        }
    }

    fn frame(&self, state: &State, known: &Known, program: &dyn Program, alive: bool) -> Frame {
        let limit = program.limit(&state.hops);
        let around = Around { id: &self.id, alive, steps_max: known.steps_max, limit };
        let live = Live::of(state, around);
        let lab = locked(&self.lab);
        let parts = Parts::of(&live, state, lab.as_ref().map(|lab| map(lab, state)));
        Frame {
            version: state.version,
            document: serde_json::to_string(&live).unwrap_or_default().into(),
            parts: parts.document().to_string().into(),
            over: false,
            failure: None,
        }
    }
}

impl Known {
    fn of(head: &record::RunHead) -> Known {
        let text = &head.scenario;
        let source = scenario::Source {
            name: text.name.clone(),
            text: text.text.clone(),
            overrides: text.overrides.clone(),
            ..scenario::Source::default()
        };
        let scenario = scenario::load(&source).ok();
        let steps = scenario.as_ref().map(|s| s.stages().iter().map(Stage::steps_max).sum());
        Known { scenario, steps_max: steps, mapped: usize::MAX }
    }

    /// Makes the map again where sources were added.
    fn map(&mut self, state: &State, lab: &Mutex<Option<LabMap>>) {
        if self.mapped == state.sources.len() {
            return;
        }
        self.mapped = state.sources.len();
        let topology = self.scenario.as_ref().and_then(|s| s.topology().ok());
        *locked(lab) = findings::map::lab_map(
            self.scenario.as_ref(),
            topology.as_ref(),
            &state.sources,
            &[],
            &[],
        );
    }
}

/// The map of the lab with the loads of the last second.
fn map(lab: &LabMap, state: &State) -> String {
    let load = |name: &str| {
        if let Some(hop) = state.hops.iter().find(|hop| hop.name == name) {
            let utilization = Some(hop.share.clamp(0.0, 1.0));
            return Some(HopLoad { hop: name.to_owned(), utilization, ..HopLoad::default() });
        }
        let group = state.groups.get(name)?;
        Some(HopLoad {
            hop: name.to_owned(),
            read_bytes_per_s: Some(group.read),
            write_bytes_per_s: Some(group.write),
            iops: Some(group.iops),
            ..HopLoad::default()
        })
    };
    review::live_map(
        lab,
        &load,
        "The lab with the load of the latest second; the table of hops has the figures",
    )
}

/// What changes with every commit to a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Stamp([u64; 4]);

impl Stamp {
    fn of(path: &Path) -> Stamp {
        use std::os::unix::fs::MetadataExt as _;
        let of = |path: &Path| {
            let meta = std::fs::metadata(path).ok()?;
            let ns = meta.mtime().unsigned_abs() * 1_000_000_000 + meta.mtime_nsec().unsigned_abs();
            Some([ns, meta.len()])
        };
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        let [a, b] = of(path).unwrap_or_default();
        let [c, d] = of(Path::new(&log)).unwrap_or_default();
        Stamp([a, b, c, d])
    }
}

/// A lock whose holder cannot have left it in the middle of anything that matters: it is replaced as a whole.
pub(crate) fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
