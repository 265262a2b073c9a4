//! A stepper that does as its script says, and a record that is a list.

use crate::conformance::{depth, latency_ms};
use campaign::{Campaign, Control, Gauge, Progress, StepEnd, Stepper};
use clock::Ns;
use record::{
    Completed, Event, Interval, Level, Loop, Phase, SourceId, Status, StepHead, StepTimes,
    WorkerLoad,
};
use scenario::{Scenario, Source, Stage, Step};
use std::cell::RefCell;
use std::rc::Rc;

/// What became of a run.
#[derive(Debug, Default)]
pub struct Log {
    /// Steps that were announced, call by call.
    pub ahead: Vec<Vec<u32>>,
    pub steps: Vec<StepHead>,
    pub events: Vec<Event>,
    pub shown: Vec<Progress>,
    pub status: Option<Status>,
}

/// What happens at a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum At {
    /// It fails.
    Fails(u32),
    /// The record takes nothing more.
    Breaks(u32),
    /// The user asks for an early end, and the step ends at once.
    Stops(u32),
    /// The user asks for an early end at the last moment: the step comes to its end.
    StopsLate(u32),
    /// Its worker reports half of the measured time.
    Loses(u32),
}

/// Carries out steps whose latency is that of the conformance test.
#[derive(Clone, Default)]
pub struct Script {
    pub at: Option<At>,
    pub control: Control,
    pub log: Rc<RefCell<Log>>,
    /// Knows means only.
    pub means: bool,
    /// Notes cannot be recorded.
    pub no_notes: bool,
    /// Said before each step in a list that two scripts share.
    pub turns: Option<(&'static str, Rc<RefCell<Vec<String>>>)>,
}

impl Script {
    pub fn at(at: At) -> Script {
        Script { at: Some(at), ..Script::default() }
    }

    /// Runs all stages of a scenario.
    pub fn run(&self, scenario: &Scenario) -> Result<Status, String> {
        let stages = scenario.stages();
        Campaign::new(self.clone(), &stages).run(&stages)
    }

    /// The numbers of the steps that began.
    pub fn steps(&self) -> Vec<u32> {
        self.log.borrow().steps.iter().map(|step| step.index).collect()
    }
}

impl Stepper for Script {
    type Outcome = Status;
    type Error = String;

    fn ahead(&mut self, steps: impl Iterator<Item = Step>) {
        self.log.borrow_mut().ahead.push(steps.map(|step| step.index).collect());
    }

    fn step(&mut self, step: &Step, gauge: Option<&mut Gauge>) -> Result<StepEnd, String> {
        let index = step.index;
        if let Some((side, turns)) = &self.turns {
            turns.borrow_mut().push(format!("{side} {}#{}", depth(step), step.repetition));
        }
        if self.at == Some(At::Breaks(index)) {
            return Err("no space left".to_owned());
        }
        let second = Ns::secs(1);
        let times = StepTimes { start: Ns::ZERO, measure: Ns::ZERO, cooldown: second, end: second };
        let arrivals = Loop::Closed { depth: depth(step), think: false };
        let source = SourceId(0);
        let load =
            WorkerLoad { source, workload: "w".to_owned(), arrivals, ops_per_transaction: 1 };
        self.log.borrow_mut().steps.push(StepHead {
            index,
            plan: step.plan.clone(),
            settings: step.settings.clone(),
            repetition: step.repetition,
            times,
            workers: vec![load.clone()],
            streams: Vec::new(),
        });
        match self.at {
            Some(At::Fails(at)) if at == index => return Ok(StepEnd::Failed),
            Some(At::Stops(at)) if at == index => {
                self.control.stop();
                return Ok(StepEnd::Stopped);
            }
            Some(At::StopsLate(at)) if at == index => self.control.stop(),
            _ => {}
        }
        if let Some(gauge) = gauge {
            let latency = Ns::millis(latency_ms(depth(step)));
            let mut read = Completed::empty(false);
            (0..depth(step)).for_each(|_| read.success(8192, latency, latency));
            let to = if self.at == Some(At::Loses(index)) { Ns::millis(500) } else { second };
            gauge.begin(times.measured(), &[load]);
            gauge.add(&Interval {
                others: Default::default(),
                source,
                step: index,
                phase: Phase::Measure,
                from: Ns::ZERO,
                to,
                read: Some(read),
                write: None,
                testimony: None,
            });
            if self.means {
                gauge.means(Some(latency.0 as f64), Some(latency.0 as f64));
            }
        }
        Ok(StepEnd::Done)
    }

    fn stopped(&mut self) -> bool {
        self.control.stopped()
    }

    fn event(&mut self, level: Level, code: &'static str, text: &str) -> Result<Event, String> {
        if self.no_notes {
            return Err("no space for notes".to_owned());
        }
        let (code, text) = (code.to_owned(), text.to_owned());
        let event = Event { at: Ns::ZERO, step: None, source: None, level, code, text };
        self.log.borrow_mut().events.push(event.clone());
        Ok(event)
    }

    fn show(&mut self, progress: Progress) {
        self.log.borrow_mut().shown.push(progress);
    }

    fn finish(self, status: Status) -> Result<Status, String> {
        self.log.borrow_mut().status = Some(status);
        Ok(status)
    }
}

/// A scenario of one worker on `t0` with these lines of a plan.
pub fn scenario(plan: &str) -> Scenario {
    let text = format!(
        "scenario.title = \"t\"\n[workload.w]\nblock = \"8KiB\"\n[[target]]\nname = \"t0\"\nurl = \"null:\"\n\
         size = \"1GiB\"\n[plan]\nworkload = \"w\"\non = \"t0\"\nwarmup = \"0s\"\nmeasure = \"1s\"\n{plan}\n"
    );
    let source = Source { name: "t.toml".into(), text, ..Source::default() };
    scenario::load(&source).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

/// The stages of a sweep over these depths, each of them so often.
pub fn sweep(depths: &[u32], repeat: u32) -> Vec<Stage> {
    scenario(&format!("sweep = {{ depth = {depths:?} }}\nrepeat = {repeat}")).stages()
}
