//! Iometer's configuration files (`.icf`), and the access specifications in its results.

mod mapping;
mod read;

use crate::draft::Draft;
use crate::mistake::Mistakes;
use crate::note::Notes;
use scenario::Diagnostics;
use std::ops::Range;

/// A configuration as a scenario.
pub(crate) fn read(name: &str, text: &str) -> Result<(Draft, Notes), Diagnostics> {
    let (mut notes, mut mistakes) = (Notes::default(), Mistakes::new(text));
    let config = read::config(text, &mut notes, &mut mistakes);
    if !mistakes.is_empty() {
        mistakes.finish(name)?;
        return Ok((Draft::default(), notes));
    }
    let draft = mapping::draft(name, &config, &mut notes, &mut mistakes);
    mistakes.finish(name)?;
    Ok((draft, notes))
}

/// How many of something run, from test to test.
#[derive(Clone, Copy, Debug)]
struct Cycle {
    start: u64,
    end: u64,
    step: u64,
    exponential: bool,
}

impl Default for Cycle {
    fn default() -> Cycle {
        Cycle { start: 1, end: 1, step: 1, exponential: false }
    }
}

impl Cycle {
    /// The numbers up to the first that reaches `most`.
    fn numbers(self, most: u64, beyond: bool) -> Vec<u64> {
        let mut numbers = Vec::new();
        let mut number = self.start.max(1);
        while numbers.len() < 1000 {
            if number > most {
                if beyond && numbers.last().is_none_or(|last| *last < most) {
                    numbers.push(most);
                }
                break;
            }
            numbers.push(number);
            let next = match self.exponential && self.step > 1 {
                true => number.saturating_mul(self.step),
                false => number.saturating_add(self.step.max(1)),
            };
            if next <= number {
                break;
            }
            number = next;
        }
        numbers
    }
}

/// What changes from test to test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Test {
    #[default]
    Normal,
    Targets,
    Workers,
    IncrementParallel,
    IncrementSerial,
    WorkersAndTargets,
    Depth,
    DepthAndTargets,
}

/// Which workers begin with a specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Assigned {
    None,
    All,
    Disk,
    Net,
}

/// A row of a specification, in Iometer's numbers.
#[derive(Clone, Copy, Debug)]
struct Row {
    size: u64,
    share: f64,
    read: f64,
    random: f64,
    delay_ms: u64,
    burst: u64,
    align: u64,
    reply: u64,
}

#[derive(Clone, Debug)]
struct Specification {
    name: String,
    line: usize,
    assigned: Assigned,
    rows: Vec<Row>,
}

#[derive(Clone, Debug)]
struct TargetOf {
    name: String,
    line: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Medium {
    Disk,
    Tcp,
    Vi,
}

#[derive(Clone, Debug)]
struct Worker {
    name: String,
    line: usize,
    medium: Medium,
    depth: u64,
    /// Sectors that are used, 0 for all, and the first.
    sectors: u64,
    start: u64,
    settings_line: usize,
    /// `None`: by the default assignments.
    specs: Option<Vec<(String, Range<usize>)>>,
    targets: Vec<TargetOf>,
}

#[derive(Clone, Debug)]
struct Manager {
    name: String,
    address: String,
    workers: Vec<Worker>,
}

/// All of a configuration.
#[derive(Clone, Debug, Default)]
struct Config {
    description: String,
    run_s: u64,
    ramp_s: u64,
    workers: Cycle,
    targets: Cycle,
    depth: Cycle,
    test: Test,
    test_line: usize,
    specs: Vec<std::rc::Rc<Specification>>,
    managers: Vec<Manager>,
}
