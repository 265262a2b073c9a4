//! Threads with gated batch service that share processors: the throughput of a population by the recursion of their
//! passes, with mean demands.
//!
//! A pass takes what is present when it begins, so a closed population moves through the threads in clumps, which merge
//! where one overtakes another and never divide. From pass to pass everything is determined; the rates are those of
//! the orbit that this ends in.

/// A queue of a thread: the costs of a pass in seconds, as in [`crate::model::Gated`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gate {
    /// The thread.
    pub thread: usize,
    /// Of every pass.
    pub pass: f64,
    /// Of waking on an idle processor.
    pub wake: f64,
    /// How long it polls at most.
    pub spin: f64,
}

/// One way through a stage of a load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GateVisit {
    /// The queue.
    pub gate: usize,
    /// The share of the load's I/Os that come here.
    pub share: f64,
    /// Seconds of service of each.
    pub demand: f64,
}

/// A closed load: so many I/Os circulate through its stages, one visit in each.
#[derive(Clone, Debug, PartialEq)]
pub struct GateLoad {
    /// How many I/Os.
    pub customers: u32,
    /// Ways through each stage.
    pub stages: Vec<Vec<GateVisit>>,
}

/// The throughput of loads.
#[derive(Clone, Debug, PartialEq)]
pub struct GateRates {
    /// I/Os a second, by load.
    pub rates: Vec<f64>,
    /// The share of the processors that is in passes.
    pub busy: f64,
}

/// Cycles of every load before rates are taken, and those that they are taken over.
const CYCLES: (f64, f64) = (64.0, 96.0);
/// Passes at most.
const PASSES_MAX: usize = 20_000;
/// As the engine weighs recent waits.
const RECENT: f64 = 8.0;
const LONGEST: f64 = 16.0;

/// I/Os of a load that wait at a queue together.
#[derive(Clone, Copy, Debug)]
struct Clump {
    load: usize,
    stage: usize,
    ios: u32,
    work: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Asleep,
    Polls,
    Ready,
    Wakes,
    Runs,
}

struct QueueState {
    mode: Mode,
    line: Vec<Clump>,
    batch: Vec<Clump>,
    /// When its pass or its polling ends.
    due: f64,
    began: f64,
    wait: f64,
    idle_since: f64,
    /// It slept when its first I/O came, and does not run yet.
    woken: bool,
}

struct Recursion<'a> {
    processors: usize,
    gates: &'a [Gate],
    loads: &'a [GateLoad],
    now: f64,
    queues: Vec<QueueState>,
    ready: Vec<usize>,
    /// By load and stage, by way: I/Os that are owed to it.
    owed: Vec<Vec<Vec<f64>>>,
    done: Vec<f64>,
    busy: f64,
}

/// The rates at which these loads circulate over `processors`.
pub fn gated(processors: u32, gates: &[Gate], loads: &[GateLoad]) -> GateRates {
    let mut recursion = Recursion::new(processors, gates, loads);
    let customers: Vec<f64> = loads.iter().map(|load| f64::from(load.customers)).collect();
    let cycles = |done: &[f64]| {
        let of = done.iter().zip(&customers).filter(|(_, n)| **n > 0.0);
        of.map(|(done, n)| done / n).fold(f64::INFINITY, f64::min)
    };
    let mut start: Option<(f64, f64, Vec<f64>)> = None;
    for _ in 0..PASSES_MAX {
        if !recursion.step() {
            break;
        }
        let reached = cycles(&recursion.done);
        match &start {
            None if reached >= CYCLES.0 => {
                start = Some((recursion.now, recursion.busy, recursion.done.clone()));
            }
            Some(_) if reached >= CYCLES.0 + CYCLES.1 => break,
            _ => {}
        }
    }
    let (from, busy, done) = start.unwrap_or((0.0, 0.0, vec![0.0; loads.len()]));
    let span = (recursion.now - from).max(f64::MIN_POSITIVE);
    let rates = recursion.done.iter().zip(done).map(|(now, then)| (now - then) / span).collect();
    let busy = (recursion.busy - busy) / span / f64::from(processors.max(1));
    GateRates { rates, busy: busy.min(1.0) }
}

impl<'a> Recursion<'a> {
    fn new(processors: u32, gates: &'a [Gate], loads: &'a [GateLoad]) -> Recursion<'a> {
        let queue = |gate: &Gate| QueueState {
            mode: Mode::Asleep,
            line: Vec::new(),
            batch: Vec::new(),
            due: f64::INFINITY,
            began: 0.0,
            wait: LONGEST * gate.spin,
            idle_since: 0.0,
            woken: false,
        };
        let owed = loads.iter().map(|load| {
            load.stages.iter().map(|ways| vec![0.0; ways.len()]).collect::<Vec<Vec<f64>>>()
        });
        let mut recursion = Recursion {
            processors: processors as usize,
            gates,
            loads,
            now: 0.0,
            queues: gates.iter().map(queue).collect(),
            ready: Vec::new(),
            owed: owed.collect(),
            done: vec![0.0; loads.len()],
            busy: 0.0,
        };
        for (load, of) in loads.iter().enumerate() {
            recursion.enter(load, 0, of.customers);
        }
        recursion
    }

    /// I/Os come to a stage, and divide among its ways as whole ones.
    fn enter(&mut self, load: usize, stage: usize, ios: u32) {
        let Some(ways) = self.loads[load].stages.get(stage) else { return };
        let mut left = ios;
        for owed in self.owed[load][stage].iter_mut().zip(ways) {
            *owed.0 += owed.1.share * f64::from(ios);
        }
        while left > 0 {
            let owed = &mut self.owed[load][stage];
            let Some(way) = (0..owed.len()).max_by(|a, b| owed[*a].total_cmp(&owed[*b])) else {
                return;
            };
            // All that is owed at once, but at least one.
            let ios = (owed[way].max(1.0) as u32).min(left);
            owed[way] -= f64::from(ios);
            left -= ios;
            let GateVisit { gate, demand, .. } = ways[way];
            let work = demand * f64::from(ios);
            self.queues[gate].line.push(Clump { load, stage, ios, work });
            if matches!(self.queues[gate].mode, Mode::Asleep | Mode::Polls) {
                self.rouse(gate);
            }
        }
    }

    fn at_work(&self) -> usize {
        self.queues.iter().filter(|queue| !matches!(queue.mode, Mode::Asleep | Mode::Ready)).count()
    }

    fn thread_runs(&self, gate: usize) -> bool {
        let mut queues = self.queues.iter().zip(self.gates);
        let runs = |mode| matches!(mode, Mode::Wakes | Mode::Runs);
        queues.any(|(q, g)| runs(q.mode) && g.thread == self.gates[gate].thread)
    }

    fn rouse(&mut self, gate: usize) {
        if self.queues[gate].mode == Mode::Polls {
            self.waited(gate);
            return self.pass(gate, 0.0);
        }
        self.queues[gate].woken = true;
        if !self.thread_runs(gate) {
            if self.at_work() < self.processors {
                return self.pass(gate, self.gates[gate].wake);
            }
            let polls = (0..self.queues.len()).filter(|q| self.queues[*q].mode == Mode::Polls);
            if let Some(poller) =
                polls.min_by(|a, b| self.queues[*a].due.total_cmp(&self.queues[*b].due))
            {
                self.queues[poller].mode = Mode::Asleep;
                return self.pass(gate, 0.0);
            }
        }
        self.queues[gate].mode = Mode::Ready;
        self.ready.push(gate);
    }

    /// Notes how long the thread of a queue waited until it runs.
    fn waited(&mut self, gate: usize) {
        let queue = &mut self.queues[gate];
        let span = (self.now - queue.idle_since).min(LONGEST * self.gates[gate].spin);
        queue.wait += (span - queue.wait) / RECENT;
    }

    fn pass(&mut self, gate: usize, wake: f64) {
        let queue = &mut self.queues[gate];
        (queue.mode, queue.began, queue.due) = (Mode::Wakes, self.now, self.now + wake);
    }

    /// The next end of a pass or of polling; whether there is one.
    fn step(&mut self) -> bool {
        let due = |q: &usize| match self.queues[*q].mode {
            Mode::Wakes | Mode::Runs | Mode::Polls => self.queues[*q].due,
            Mode::Asleep | Mode::Ready => f64::INFINITY,
        };
        let next = (0..self.queues.len()).min_by(|a, b| due(a).total_cmp(&due(b)));
        let Some(gate) = next.filter(|gate| due(gate).is_finite()) else { return false };
        self.now = self.queues[gate].due;
        if self.queues[gate].mode == Mode::Wakes && std::mem::take(&mut self.queues[gate].woken) {
            self.waited(gate);
        }
        let queue = &mut self.queues[gate];
        match queue.mode {
            Mode::Polls => queue.mode = Mode::Asleep,
            Mode::Wakes => {
                queue.mode = Mode::Runs;
                std::mem::swap(&mut queue.batch, &mut queue.line);
                let work: f64 = queue.batch.iter().map(|clump| clump.work).sum();
                queue.due = self.now + self.gates[gate].pass + work;
            }
            _ => self.end(gate),
        }
        true
    }

    fn end(&mut self, gate: usize) {
        self.busy += self.now - self.queues[gate].began;
        let mut batch = std::mem::take(&mut self.queues[gate].batch);
        for Clump { load, stage, ios, .. } in batch.drain(..) {
            match stage + 1 < self.loads[load].stages.len() {
                true => self.enter(load, stage + 1, ios),
                false => {
                    self.done[load] += f64::from(ios);
                    self.enter(load, 0, ios);
                }
            }
        }
        // Its memory serves the next pass.
        self.queues[gate].batch = batch;
        self.after(gate);
        self.assign();
    }

    fn after(&mut self, gate: usize) {
        let (now, spin, wanted) = (self.now, self.gates[gate].spin, !self.ready.is_empty());
        let queue = &mut self.queues[gate];
        (queue.mode, queue.idle_since) = (Mode::Asleep, now);
        if !queue.line.is_empty() {
            queue.mode = Mode::Ready;
            self.ready.push(gate);
        } else if queue.wait < spin && !wanted {
            (queue.mode, queue.due) = (Mode::Polls, now + spin);
        }
    }

    fn assign(&mut self) {
        let mut at = 0;
        while self.at_work() < self.processors
            && let Some(gate) = self.ready.get(at).copied()
        {
            if self.thread_runs(gate) {
                at += 1;
                continue;
            }
            self.ready.remove(at);
            self.pass(gate, 0.0);
        }
    }
}
