//! vdbench's parameter files: storage, workload and run definitions.

mod extent;
mod lists;
mod mapping;
mod read;

use crate::draft::Draft;
use crate::mistake::Mistakes;
use crate::note::Notes;
use scenario::Diagnostics;
use std::ops::Range;

/// A parameter file as a scenario.
pub(crate) fn read(name: &str, text: &str) -> Result<(Draft, Notes), Diagnostics> {
    let (mut notes, mut mistakes) = (Notes::default(), Mistakes::new(text));
    let file = read::file(text, &mut notes, &mut mistakes);
    let draft = match mistakes.is_empty() {
        true => mapping::draft(name, &file, &mut notes, &mut mistakes),
        false => Draft::default(),
    };
    mistakes.finish(name)?;
    Ok((draft, notes))
}

/// Tests that loops may make.
const TESTS_MAX: usize = 1000;

/// `key=value`, or `key=(value,value)`.
#[derive(Clone, Debug)]
struct Parameter {
    key: String,
    values: Vec<String>,
    span: Range<usize>,
    line: usize,
}

impl Parameter {
    fn first(&self) -> &str {
        self.values.first().map_or("", |value| value)
    }

    /// As the file writes it, to name it in notes.
    fn written(&self) -> String {
        match &self.values[..] {
            [one] => format!("{}={one}", self.key),
            all => format!("{}=({})", self.key, all.join(",")),
        }
    }
}

/// A definition with the defaults that stand before it.
#[derive(Clone, Debug)]
struct Definition {
    name: String,
    line: usize,
    span: Range<usize>,
    /// Later ones win; the order of loops is theirs.
    parameters: Vec<Parameter>,
}

impl Definition {
    fn get(&self, key: &str) -> Option<&Parameter> {
        self.parameters.iter().rev().find(|parameter| parameter.key == key)
    }
}

/// All of a file.
#[derive(Clone, Debug, Default)]
struct File {
    general: Vec<Parameter>,
    storages: Vec<Definition>,
    workloads: Vec<Definition>,
    runs: Vec<Definition>,
}

/// `4k`, `10g`: binary units.
fn size(text: &str) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    let end = lower.find(|c: char| !c.is_ascii_digit()).unwrap_or(lower.len());
    let number: u64 = lower[..end].parse().ok()?;
    let factor = match &lower[end..] {
        "" => 1,
        "k" | "kb" => 1 << 10,
        "m" | "mb" => 1 << 20,
        "g" | "gb" => 1 << 30,
        "t" | "tb" => 1 << 40,
        _ => return None,
    };
    number.checked_mul(factor)
}

/// Seconds; `10m` and `2h` are minutes and hours.
fn seconds(text: &str) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    let end = lower.find(|c: char| !c.is_ascii_digit()).unwrap_or(lower.len());
    let number: u64 = lower[..end].parse().ok()?;
    let factor = match &lower[end..] {
        "" | "s" | "sec" | "seconds" => 1,
        "m" | "min" | "minutes" => 60,
        "h" | "hours" => 3600,
        "d" | "days" => 86_400,
        _ => return None,
    };
    number.checked_mul(factor)
}
