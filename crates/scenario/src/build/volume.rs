//! The volumes of arrays, and the disks that they are made of.

use super::embedded::held_up;
use super::lab::{LabBuilder, expanded};
use super::{complain, count_u32, place, size_u32};
use crate::datum::{Datum, Decoded};
use crate::diagnostics::Mistake;
use crate::directory::{NameKind, deal};
use crate::model::{Endpoint, Volume};
use crate::names::NAMES_MAX;
use crate::simulated::{CacheMode, Raid};
use units::{ByteRate, Iops};

/// Bytes and I/Os a second that a volume of an embedded array can be held to.
const RATES: (f64, f64) = (1e3, 1e12);
const IOPS: (f64, f64) = (1.0, 1e7);

const INITIATORS: &[NameKind] = &[NameKind::Adapter, NameKind::Vm, NameKind::Host];

impl LabBuilder<'_> {
    /// The RAID level of a volume, its disks and its LUNs; each LUN must be a group that there can be.
    fn groups(&mut self, record: &Decoded) -> (Option<Raid>, Option<u32>, Option<u32>) {
        let raid = record.word("raid").map(|at| raid(at.value));
        let (disks, luns) = (count_u32(record, "disks"), count_u32(record, "luns"));
        if let Some(disks) = disks {
            let groups = luns.unwrap_or(1);
            let level = raid.unwrap_or(Raid::None);
            let each = disks / groups;
            let paired = matches!(level, Raid::Raid1 | Raid::Raid10);
            let problem = if !disks.is_multiple_of(groups) {
                let fits =
                    |each: &u32| *each >= level.disks_min() && (!paired || each.is_multiple_of(2));
                let fewer = (1..=each).rev().find(fits).map(|each| each * groups);
                let more = (each + 1..).find(fits).map(|each| each.saturating_mul(groups));
                let take: Vec<String> =
                    fewer.into_iter().chain(more).map(|disks| disks.to_string()).collect();
                let take = take.join(" or ");
                Some(format!("{disks} disks cannot be divided among {groups} LUNs: take {take}"))
            } else if each < level.disks_min() {
                let least = level.disks_min();
                Some(format!(
                    "a LUN of {} needs at least {least} disks, and this one has {each}",
                    level.word()
                ))
            } else if paired && !each.is_multiple_of(2) {
                let word = level.word();
                Some(match groups {
                    1 => format!(
                        "{word} keeps each block on two disks, so their number is even: {} or {}, not {each}",
                        each - 1,
                        each + 1
                    ),
                    _ => format!(
                        "{word} keeps each block on two disks, so a LUN has an even number of them; {disks} over \
                         {groups} LUNs are {each} each: take {} or {}",
                        (each - 1) * groups,
                        (each + 1) * groups
                    ),
                })
            } else {
                None
            };
            if let Some(problem) = problem {
                let too_few = disks.is_multiple_of(groups) && each < level.disks_min();
                let help = too_few.then(|| fitting(each)).flatten();
                let at = place(record, "disks");
                self.sink.push(|| Mistake::new(at, format!("disks: {problem}")).maybe_help(help));
            }
        }
        (raid, disks, luns)
    }

    pub(super) fn volumes(&mut self, root: &Decoded) -> Vec<Volume> {
        let mut all = Vec::new();
        let mut defined = 0;
        for record in root.records("volume") {
            // Names on arrays that do not exist are never declared, and bounded all the same.
            if self.directory.is_full() || defined > NAMES_MAX {
                break;
            }
            let names = expanded(record);
            defined += names.len();
            let arrays = self.dealt(record, "array", &[NameKind::Array], names.len());
            let mask = self.directory.find_all(&record.texts("mask"), INITIATORS, self.sink);
            let media = self.medium(record);
            let ports = self.mapped(record, names.len());
            let (raid, disks, luns) = self.groups(record);
            let (rate, iops) = self.paced(record);
            let latency = held_up(record, self.sink);
            if !self.directory.afford(names.len() * mask.len(), record.at, self.sink) {
                break;
            }
            for ((name, array), port) in names.into_iter().zip(arrays).zip(ports) {
                let Some(array) = array else { continue };
                let port = port.and_then(|end| self.of_array(record, end, &array));
                let at = place(record, "name");
                self.directory.declare(format!("{array}/{name}"), NameKind::Volume, at, self.sink);
                self.volume_fits(record, &name, &array);
                all.push(Volume {
                    name,
                    array,
                    size: record.size("size").map(|at| at.value),
                    block: size_u32(record, "block"),
                    thin: record.flag("thin").is_some_and(|at| at.value),
                    rate,
                    iops,
                    latency,
                    raid,
                    disks,
                    luns,
                    media: media.clone(),
                    cache: record.word("cache").map(|at| cache_mode(at.value)),
                    hit_share: record.percent("hit_share").map(|at| at.value),
                    mask: mask.clone(),
                    port,
                });
            }
        }
        all
    }

    /// What a volume on an embedded array carries at most: bytes and I/Os a second.
    fn paced(&mut self, record: &Decoded) -> (Option<ByteRate>, Option<Iops>) {
        let rate = match record.get("rate").map(|at| &at.value) {
            Some(Datum::Rate(rate)) => Some(*rate),
            _ => None,
        };
        let iops = record.iops("iops").map(|at| at.value);
        if rate.is_some_and(|rate| !(RATES.0..=RATES.1).contains(&rate.0)) {
            complain(record, "rate", "expected a data rate from 1 kB/s to 1 TB/s", self.sink);
        }
        if iops.is_some_and(|iops| !(IOPS.0..=IOPS.1).contains(&iops.0)) {
            complain(record, "iops", "expected 1 to 10,000,000 I/Os a second", self.sink);
        }
        (rate, iops)
    }

    /// The port that each of `n` volumes is mapped to.
    fn mapped(&mut self, record: &Decoded, n: usize) -> Vec<Option<Endpoint>> {
        let Some(text) = record.text("port") else { return vec![None; n] };
        let found = self.directory.find_ports(&text, &[NameKind::Array], self.sink);
        let ends: Vec<Endpoint> =
            found.into_iter().flatten().map(|(device, port)| Endpoint { device, port }).collect();
        match deal(&ends, false, n) {
            Ok(ends) => ends.into_iter().map(Some).collect(),
            Err(problem) if !ends.is_empty() => {
                complain(record, "port", problem, self.sink);
                vec![None; n]
            }
            Err(_) => vec![None; n],
        }
    }

    /// The number of a port, which must be one of the volume's own array.
    fn of_array(&mut self, record: &Decoded, end: Endpoint, array: &str) -> Option<u32> {
        if end.device != array || end.port.is_none() {
            let problem = format!(
                "`{end}` is not a port of `{array}`; write `{array}:0`, or another of its ports"
            );
            complain(record, "port", problem, self.sink);
            return None;
        }
        end.port
    }
}

/// The level with redundancy that so many disks can have.
fn fitting(disks: u32) -> Option<String> {
    let fits = match disks {
        1 => "a disk alone has `raid = \"none\"`",
        2 => "two disks that hold the same are `raid = \"raid-1\"`",
        3 => "three disks can be `raid = \"raid-5\"`",
        _ => return None,
    };
    Some(fits.to_owned())
}

fn raid(word: &str) -> Raid {
    let all = [Raid::Raid0, Raid::Raid1, Raid::Raid10, Raid::Raid5, Raid::Raid6];
    all.into_iter().find(|raid| raid.word() == word).unwrap_or(Raid::None)
}

fn cache_mode(word: &str) -> CacheMode {
    match word {
        "write-back" => CacheMode::WriteBack,
        "write-through" => CacheMode::WriteThrough,
        _ => CacheMode::None,
    }
}
