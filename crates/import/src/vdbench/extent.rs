//! Which part of its storages a workload uses.

use super::mapping::{Load, Mapper};
use super::{Parameter, size};
use crate::draft::{Comments, Extent, Skewed};

/// The ends of a range: in percent, or in bytes.
fn ends(parameter: &Parameter) -> Option<(f64, f64, bool)> {
    let [from, to] = &parameter.values[..] else { return None };
    match (from.parse::<f64>(), to.parse::<f64>()) {
        (Ok(from), Ok(to)) if from < to && to <= 100.0 => Some((from, to, true)),
        _ => {
            let (from, to) = size(from).zip(size(to)).filter(|(from, to)| from < to)?;
            Some((from as f64, to as f64, false))
        }
    }
}

impl Mapper<'_, '_, '_, '_> {
    /// Hits of a cache as a hot spot.
    pub fn hits(&mut self, load: &Load<'_>, read: f64, comments: &mut Comments) -> Option<Skewed> {
        let share = |key: &str| {
            load.setting(key).and_then(|p| p.first().parse::<f64>().ok()).unwrap_or(0.0)
        };
        let hits = (share("rhpct") * read + share("whpct") * (100.0 - read)) / 100.0;
        let parameter = load.setting("rhpct").or(load.setting("whpct"))?;
        if hits <= 0.0 {
            return None;
        }
        let (line, written) = (parameter.line, parameter.written());
        let area = load.setting("hitarea").and_then(|p| size(p.first())).unwrap_or(1 << 20);
        let whole = load.on.iter().filter_map(|sd| self.disks[sd].bytes).min();
        match whole.filter(|whole| area < *whole) {
            Some(whole) => {
                let text = "a hot spot of the hit area at the start of the target, for reads and writes together";
                comments.add("skew", self.notes.approximated(line, &written, text));
                Some(Skewed::Hot(hits.min(100.0), area as f64 / whole as f64 * 100.0))
            }
            None => {
                let text = "a hot spot needs the `size` of the storage";
                comments.add("", self.notes.lost(line, &written, text));
                None
            }
        }
    }

    /// The part of its storages: of a device as much as `size` says, and of that a `range`, the workload's before the storage's.
    pub fn extent(&mut self, load: &Load<'_>, comments: &mut Comments) -> Option<Extent> {
        let mut said: Vec<Parameter> = Vec::new();
        let mut parts: Vec<Option<Extent>> = Vec::new();
        for sd in load.on {
            let storage = &self.disks[sd];
            let range = load.setting("range").or(storage.range.as_ref()).cloned();
            let bytes = storage.bytes.filter(|_| !storage.whole);
            said.extend(range.clone());
            said.extend(storage.size.clone().filter(|_| bytes.is_some()));
            let ends = match range.map(|range| (ends(&range), range)) {
                None => None,
                Some((Some(ends), _)) => Some(ends),
                Some((None, range)) => {
                    self.wrong(&range, "two ends, `(0,20)` in percent or `(0,10g)`");
                    return None;
                }
            };
            parts.push(match (ends, bytes) {
                (None, bytes) => bytes.map(Extent::Bytes),
                (Some((from, to, true)), None) => Some(Extent::Percent(to - from)),
                (Some((from, to, true)), Some(bytes)) => {
                    let part = bytes as f64 * (to - from) / 100.0;
                    Some(Extent::Bytes(part as u64 / 4096 * 4096))
                }
                (Some((from, to, false)), _) => Some(Extent::Bytes((to - from) as u64)),
            });
        }
        said.sort_by_key(|parameter| (parameter.line, parameter.written()));
        said.dedup_by_key(|parameter| (parameter.line, parameter.written()));
        let one = *parts.first()?;
        let alike = parts.iter().all(|part| *part == one);
        // A workload has one working set for all of its targets.
        let bytes = |part: &Option<Extent>| match part {
            Some(Extent::Bytes(bytes)) => Some(*bytes),
            _ => None,
        };
        let least = parts.iter().map(bytes).collect::<Option<Vec<u64>>>();
        let least = least.and_then(|all| all.into_iter().min());
        if alike || least.is_some() {
            self.moved(&said, comments);
        }
        if alike {
            return one;
        }
        for parameter in said {
            let (line, written) = (parameter.line, parameter.written());
            let note = match least {
                Some(_) => {
                    let text = "of each storage of a workload as much is used as of the one of which least is";
                    self.notes.approximated(line, &written, text)
                }
                None => {
                    let text = "storages of a workload are used alike, and these are not: all of each is used";
                    self.notes.lost(line, &written, text)
                }
            };
            comments.add("working_set", note);
        }
        least.map(Extent::Bytes)
    }

    /// What begins elsewhere than at the start of a storage.
    fn moved(&mut self, said: &[Parameter], comments: &mut Comments) {
        let moved = |p: &&Parameter| p.key == "range" && ends(p).is_some_and(|ends| ends.0 > 0.0);
        for parameter in said.iter().filter(moved) {
            let text = "workloads begin at the start of a target";
            let note = self.notes.lost(parameter.line, &parameter.written(), text);
            comments.add("working_set", note);
        }
    }
}
