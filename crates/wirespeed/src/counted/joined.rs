//! Places that several sources count: one hop where the sources count one machine, or where the scenario says that they are one device.
//!
//! Of a counter that several have, one source's is recorded, and the same one for the whole step: that of the machine itself before an exporter's,
//! and an exporter's before that of an agent of SNMP. What the others say of it is compared with that.

use super::mapping::MappedHop;
use clock::Ns;
use fleet::{HopReading, Sample};
use record::{CounterId, HopKind};
use scenario::CountersFrom;
use std::collections::{BTreeMap, BTreeSet};
use telemetry::Machine;

/// Rates of one counter at two sources that differ by more contradict each other.
const APART: f64 = 0.1;
/// For so long both must have counted.
const COMPARED: Ns = Ns::secs(10);
/// And so much: a few errors more or less are none.
const ENOUGH: f64 = 1000.0;

/// A source and what it counts of a step.
#[derive(Clone)]
pub struct OneSource {
    /// The device of the lab.
    pub device: String,
    /// From where its counters come.
    pub from: String,
    /// Which is preferred: the smaller.
    pub rank: u8,
    /// Whether it is this program's look at what it loads, which is never left out.
    pub own: bool,
    /// What it knows of its machine.
    pub machine: Machine,
    /// Its hops.
    pub hops: Vec<MappedHop>,
    /// Of each of them what its place is known by.
    pub known_as: Vec<BTreeSet<String>>,
}

/// A hop at a source: the record has one hop a name.
#[derive(Debug, PartialEq, Eq)]
pub struct JoinedHop {
    /// The source.
    pub source: usize,
    /// The hop among those of the source.
    pub hop: usize,
    /// The name that it has in the record.
    pub name: String,
    /// By what it is the hop of this name, where another source counts that too.
    pub by: Option<String>,
}

/// Which source's counters are preferred.
pub fn rank(from: &CountersFrom) -> u8 {
    match from {
        CountersFrom::Local => 0,
        CountersFrom::Prometheus(_) | CountersFrom::PrometheusTls(_) => 1,
        CountersFrom::Snmp(_) => 2,
    }
}

/// Something that is said of what is joined, or not.
#[derive(Debug, PartialEq, Eq)]
pub struct Said {
    /// A stable hyphenated word.
    pub code: &'static str,
    /// A sentence.
    pub text: String,
}

impl Said {
    fn conflict(text: String) -> Said {
        Said { code: "counters-conflict", text }
    }
}

/// Before the kernel's name of a disk.
const KERNEL: &str = "kernel.";
/// Before the kernel's number of a disk.
const NUMBER: &str = "dev.";

/// What a disk of a machine is known by: its identities, and the kernel's name of it.
pub fn of_disk(name: &str, ids: impl IntoIterator<Item = String>) -> BTreeSet<String> {
    let spelled = |id: String| telemetry::canonical(&id).unwrap_or(id);
    ids.into_iter().map(spelled).chain([format!("{KERNEL}{name}")]).collect()
}

/// How two disks are to each other.
enum Disks {
    /// One, by this.
    One(String),
    /// Two.
    Apart,
    /// One by their numbers, and two by what else they are known by.
    Contradict(String),
}

/// The numbers that the world's disks are told apart by, without the names of their kinds: a WWN of 16 digits is also written as NAA, and
/// udev writes no more than those of one of 32.
fn worldwide(of: &BTreeSet<String>) -> Vec<&str> {
    of.iter().filter_map(|id| id.strip_prefix("naa.").or_else(|| id.strip_prefix("wwn."))).collect()
}

/// Compares two disks of one machine: by the kernel's numbers, or its names where one source does not say them.
fn of_one_machine(a: &BTreeSet<String>, b: &BTreeSet<String>) -> Disks {
    let told = |kind: &str| {
        let of = |ids: &BTreeSet<String>| ids.iter().find(|id| id.starts_with(kind)).cloned();
        of(a).zip(of(b))
    };
    let Some((one, other)) = told(NUMBER).or_else(|| told(KERNEL)) else { return Disks::Apart };
    if one != other {
        return Disks::Apart;
    }
    let (ours, theirs) = (worldwide(a), worldwide(b));
    let like = |id: &&str| theirs.iter().any(|of| of.starts_with(id) || id.starts_with(of));
    if !ours.is_empty() && !theirs.is_empty() && !ours.iter().any(like) {
        return Disks::Contradict(format!("{} and {}", ours.join(", "), theirs.join(", ")));
    }
    let id = a.intersection(b).find(|id| telemetry::canonical(id).is_some());
    Disks::One(id.unwrap_or(&one).clone())
}

/// Whether a place is a machine's processors.
fn is_cpu(kind: HopKind) -> bool {
    matches!(kind, HopKind::HostCpu | HopKind::ArrayCpu | HopKind::VmCpu)
}

/// The hops of all sources under the names that they have together, and why some are left out.
pub fn joined(all: &[OneSource]) -> (Vec<JoinedHop>, Vec<Said>) {
    let (mut out, mut said): (Vec<JoinedHop>, Vec<Said>) = (Vec::new(), Vec::new());
    for (source, one) in all.iter().enumerate() {
        let twin = all[..source].iter().find(|first| first.device == one.device);
        let twin = twin.filter(|_| !one.own);
        if let Some(first) = twin.filter(|first| first.machine.differs(&one.machine)) {
            said.push(Said::conflict(format!(
                "{}: {} and {} count different machines; what {} counts is left out",
                one.device, first.from, one.from, one.from
            )));
            continue;
        }
        for (hop, mapped) in one.hops.iter().enumerate() {
            let (name, by) = match before(all, source, hop, &mut said) {
                Some((first, by)) => (first.name.clone(), Some(by)),
                None => (mapped.name.clone(), None),
            };
            out.push(JoinedHop { source, hop, name, by });
        }
    }
    // Hops of one name one after the other, the preferred source first.
    let mut first: BTreeMap<String, usize> = BTreeMap::new();
    for (at, hop) in out.iter().enumerate() {
        first.entry(hop.name.clone()).or_insert(at);
    }
    out.sort_by_key(|hop| (first.get(&hop.name).copied(), all[hop.source].rank, hop.source));
    (out, said)
}

/// The hop of an earlier source that the same place is, and by what it is known.
fn before<'a>(
    all: &'a [OneSource],
    source: usize,
    hop: usize,
    said: &mut Vec<Said>,
) -> Option<(&'a MappedHop, String)> {
    let (one, mapped) = (&all[source], &all[source].hops[hop]);
    let own = &one.known_as[hop];
    all[..source].iter().find_map(|first| {
        let of_scenario = first.device == one.device && !first.machine.differs(&one.machine);
        let machine = match of_scenario {
            true => format!("the scenario: both are {}", one.device),
            false => match first.machine.same(&one.machine) {
                Some(id) => format!("one machine, {id}"),
                None => {
                    said.extend(perhaps(first, one, hop));
                    return None;
                }
            },
        };
        if of_scenario && let Some(same) = first.hops.iter().find(|of| of.name == mapped.name) {
            return Some((same, machine));
        }
        first.hops.iter().zip(&first.known_as).find_map(|(of, known)| {
            if is_cpu(of.kind) && is_cpu(mapped.kind) {
                return Some((of, machine.clone()));
            }
            if is_disk(known) && is_disk(own) {
                match of_one_machine(known, own) {
                    Disks::One(id) => {
                        return Some((of, format!("{machine}, and one disk, {id}")));
                    }
                    Disks::Contradict(ids) => said.push(Said::conflict(format!(
                        "{} of {} and {} of {} are one disk by the kernel's number ({machine}), and two by their identities, {ids}: \
                         they stay two hops",
                        of.name, first.from, mapped.name, one.from
                    ))),
                    Disks::Apart => {}
                }
                return None;
            }
            // One port may be a hop of a host and one of an array, which look at it from two sides.
            let id = known.intersection(own).next();
            let id = id.filter(|id| of.kind == mapped.kind && telemetry::canonical(id).is_some());
            Some((of, format!("{machine}, and one place, {}", id?)))
        })
    })
}

fn is_disk(known: &BTreeSet<String>) -> bool {
    known.iter().any(|id| id.starts_with(KERNEL))
}

/// What is said of a disk of this identity that another source counts too, where nothing tells whether they count one machine: hosts may
/// share it.
fn perhaps(first: &OneSource, one: &OneSource, hop: usize) -> Option<Said> {
    if first.machine.differs(&one.machine) {
        return None;
    }
    let own = &one.known_as[hop];
    first.hops.iter().zip(&first.known_as).find_map(|(of, known)| {
        let both = is_disk(known) && is_disk(own);
        let id = known.intersection(own).find(|id| telemetry::canonical(id).is_some())?;
        both.then(|| Said {
            code: "perhaps-one-host",
            text: format!(
                "{} of {} and {} of {} are both {id}, and nothing tells whether they are of one machine: they stay two hops; list both \
                 sources in the `counters` of one device if they are",
                of.name, first.from, one.hops[hop].name, one.from
            ),
        })
    })
}

/// What two sources have said of one counter since a step began.
#[derive(Clone, Copy)]
struct Track {
    first: (Ns, f64),
    last: (Ns, f64),
    /// The longest time between two values of it.
    gap: Ns,
}

impl Track {
    fn see(&mut self, at: Ns, value: f64) {
        if at > self.last.0 {
            self.gap = self.gap.max(at.since(self.last.0));
            self.last = (at, value);
        }
    }

    /// Its rate, and by how much that may be wrong since ends of intervals lie elsewhere.
    fn rate(&self) -> Option<(f64, f64)> {
        let (time, amount) = (self.last.0.since(self.first.0), self.last.1 - self.first.1);
        let seconds = time.as_secs_f64();
        (time >= COMPARED && amount.is_finite())
            .then(|| (amount / seconds, self.gap.as_secs_f64() / seconds))
    }

    fn amount(&self) -> f64 {
        self.last.1 - self.first.1
    }
}

/// Which source each counter of a step is taken from.
#[derive(Default)]
pub struct Owners {
    names: Vec<String>,
    from: Vec<String>,
    of: BTreeMap<(String, CounterId), usize>,
    tracks: BTreeMap<(String, CounterId, usize), Track>,
    told: BTreeSet<(String, CounterId)>,
}

impl Owners {
    /// For hops with these names and sources, in this order.
    pub fn of(hops: Vec<(String, String)>) -> Owners {
        let (names, from) = hops.into_iter().unzip();
        Owners { names, from, ..Owners::default() }
    }

    /// Leaves each counter to one source; what contradicts it is said.
    pub fn take(&mut self, samples: &mut [Sample]) -> Vec<String> {
        let mut said = Vec::new();
        for at in 0..samples.len().min(self.names.len()) {
            let name = self.names[at].clone();
            if self.names.iter().filter(|of| **of == name).count() < 2 {
                continue;
            }
            let when = samples[at].at;
            let readings = std::mem::take(&mut samples[at].readings);
            let (known, rest): (Vec<HopReading>, Vec<HopReading>) =
                readings.into_iter().partition(|of| of.value.is_finite());
            for reading in known {
                let key = (name.clone(), reading.counter);
                let owner = *self.of.entry(key).or_insert(at);
                self.track((&name, at), when, &reading);
                if owner == at {
                    samples[at].readings.push(reading);
                } else {
                    said.extend(self.differing(&name, reading.counter, owner, at));
                }
            }
            // What is unknown at this moment is unknown of the source that has the counter.
            let own = |of: &HopReading| self.of.get(&(name.clone(), of.counter)) == Some(&at);
            samples[at].readings.extend(rest.into_iter().filter(own));
        }
        said
    }

    fn track(&mut self, (name, at): (&str, usize), when: Ns, reading: &HopReading) {
        if reading.counter.meaning().adds_up() {
            let now = (when, reading.value);
            let key = (name.to_owned(), reading.counter, at);
            let track =
                self.tracks.entry(key).or_insert(Track { first: now, last: now, gap: Ns::ZERO });
            track.see(when, reading.value);
        }
    }

    fn differing(&mut self, name: &str, id: CounterId, owner: usize, at: usize) -> Option<String> {
        let of = |at: usize| self.tracks.get(&(name.to_owned(), id, at));
        let (one, other) = (of(owner)?, of(at)?);
        let ((a, near), (b, far)) = (one.rate()?, other.rate()?);
        let enough = one.amount().max(other.amount()) >= ENOUGH;
        let apart = (a - b).abs() > (APART + near + far) * a.max(b);
        if !enough || !apart || !self.told.insert((name.to_owned(), id)) {
            return None;
        }
        Some(format!(
            "{name}: {} says {a:.4e} and {} says {b:.4e} of {} a second: the first is recorded",
            self.from[owner],
            self.from[at],
            id.name()
        ))
    }

    /// Of each hop that several sources count, which counters are from which.
    pub fn shares(&self) -> Vec<String> {
        let mut by: BTreeMap<&str, BTreeMap<usize, Vec<&str>>> = BTreeMap::new();
        for ((name, id), owner) in &self.of {
            by.entry(name).or_default().entry(*owner).or_default().push(id.name());
        }
        let share = |(owner, ids): (usize, Vec<&str>)| {
            format!("{} from {}", ids.join(", "), self.from[owner])
        };
        let line = |(name, of): (&str, BTreeMap<usize, Vec<&str>>)| {
            let shares: Vec<String> = of.into_iter().map(share).collect();
            format!("{name}: {}", shares.join("; "))
        };
        by.into_iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use CounterId::{CpuBusy, CpuSteal, Errors, ReadBytes};

    fn machine(ids: &[&str]) -> Machine {
        let mut out = Machine::default();
        ids.iter().for_each(|id| out.known_as(id));
        out
    }

    fn source(
        device: &str,
        from: &str,
        rank: u8,
        ids: &[&str],
        hops: &[(&str, HopKind, &str)],
    ) -> OneSource {
        let mapped = |(at, (name, kind, _)): (usize, &(&str, HopKind, &str))| MappedHop {
            name: (*name).to_owned(),
            kind: *kind,
            place: at,
            at_source: at,
            by: String::new(),
            flipped: false,
        };
        OneSource {
            device: device.to_owned(),
            from: from.to_owned(),
            rank,
            own: false,
            machine: machine(ids),
            hops: hops.iter().enumerate().map(mapped).collect(),
            known_as: hops.iter().map(|(_, _, id)| BTreeSet::from([(*id).to_owned()])).collect(),
        }
    }

    const MAC: &str = "mac.525400000001";
    const UUID: &str = "uuid.4c4c4544004235108051b4c04f564433";

    fn names(all: &[OneSource]) -> Vec<(String, usize)> {
        joined(all).0.into_iter().map(|hop| (hop.name, hop.source)).collect()
    }

    #[test]
    fn a_machine_that_two_sources_count_is_one_hop() {
        let exporter = |ids: &[&str]| {
            source(
                "ssd1",
                "prometheus://a:9100",
                1,
                ids,
                &[("ssd1.cpu", HopKind::ArrayCpu, "cpu"), ("ssd1:0", HopKind::TargetPort, MAC)],
            )
        };
        let local = source(
            "esx",
            "local",
            0,
            &[UUID, MAC],
            &[("esx.cpu", HopKind::HostCpu, "cpu"), ("esx.nic:0", HopKind::InitiatorPort, MAC)],
        );
        let of = |name: &str, source| (name.to_owned(), source);
        assert_eq!(
            names(&[exporter(&[UUID]), local]),
            [of("ssd1.cpu", 1), of("ssd1.cpu", 0), of("ssd1:0", 0), of("esx.nic:0", 1)],
            "the machine's own counters come first, and a port of two sides stays two"
        );
        let other = source(
            "esx",
            "local",
            0,
            &["uuid.4c4c4544004235108051b4c04f564434"],
            &[("esx.cpu", HopKind::HostCpu, "cpu")],
        );
        assert_eq!(
            joined(&[exporter(&[UUID]), other]).0.iter().filter(|hop| hop.by.is_some()).count(),
            0
        );
    }

    #[test]
    fn two_sources_of_a_device_are_one_machine_unless_they_contradict_each_other() {
        let of = |from: &str, rank, ids: &[&str]| {
            source("esx", from, rank, ids, &[("esx.nic:0", HopKind::InitiatorPort, MAC)])
        };
        let both = [of("local", 0, &[MAC]), of("snmp://a", 2, &[])];
        assert_eq!(names(&both), [("esx.nic:0".to_owned(), 0), ("esx.nic:0".to_owned(), 1)]);
        let (hops, left_out) =
            joined(&[of("local", 0, &[MAC]), of("snmp://a", 2, &["mac.525400000002"])]);
        assert_eq!((hops.len(), left_out.len()), (1, 1));
        assert!(left_out[0].text.contains("different machines"), "{left_out:?}");
    }

    /// A disk that an exporter names for the lab, then that of this machine under the load.
    fn disks(
        exporter: (&[&str], &[&str]),
        local: (&str, &[&str], &[&str]),
    ) -> (Vec<JoinedHop>, Vec<Said>) {
        let kind = HopKind::BlockDevice;
        let ids = |of: &[&str]| of.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
        let from = "prometheus://a:9100";
        let mut one = source("ssd1", from, 1, exporter.0, &[("ssd1.disk", kind, "")]);
        one.known_as = vec![of_disk("sdb", ids(exporter.1))];
        let mut own = source("esx", "local", 0, local.1, &[(local.0, kind, "")]);
        own.known_as = vec![of_disk(local.0, ids(local.2))];
        own.own = true;
        joined(&[one, own])
    }

    #[test]
    fn a_disk_under_the_load_is_the_one_that_an_exporter_of_its_machine_names() {
        const OTHER: &str = "uuid.4c4c4544004235108051b4c04f564434";
        const NAA: &str = "naa.600140512345678900000000000000aa";
        let hops = |of: &(Vec<JoinedHop>, Vec<Said>)| -> Vec<(String, usize)> {
            of.0.iter().map(|hop| (hop.name.clone(), hop.source)).collect()
        };
        let said = |of: &(Vec<JoinedHop>, Vec<Said>)| -> Vec<&str> {
            of.1.iter().map(|said| said.code).collect()
        };
        let one = [("ssd1.disk".to_owned(), 1), ("ssd1.disk".to_owned(), 0)];
        let two = |name: &str| [("ssd1.disk".to_owned(), 0), (name.to_owned(), 1)];
        // The kernel's number; udev writes sixteen digits of an identity of thirty-two. Then its name alone.
        let both = disks(
            (&[UUID], &["dev.8:16", "0x6001405123456789"]),
            ("sdb", &[UUID], &["dev.8:16", NAA]),
        );
        assert_eq!((&hops(&both)[..], said(&both)), (&one[..], vec![]));
        assert!(both.0[0].by.as_deref().is_some_and(|by| by.contains("dev.8:16")), "{both:?}");
        let named = disks((&[UUID], &["S1"]), ("sdb", &[UUID], &["dev.8:16", NAA]));
        assert_eq!((&hops(&named)[..], said(&named)), (&one[..], vec![]));
        // Two paths of one LUN, a disk that others have too, and one of another machine are not it.
        let path = disks((&[UUID], &["dev.8:16", NAA]), ("sdc", &[UUID], &["dev.8:32", NAA]));
        assert_eq!((&hops(&path)[..], said(&path)), (&two("sdc")[..], vec![]));
        let shared = disks((&[OTHER], &["dev.8:16", NAA]), ("sdb", &[UUID], &["dev.8:16", NAA]));
        assert_eq!((&hops(&shared)[..], said(&shared)), (&two("sdb")[..], vec![]));
        let unknown = disks((&[], &["dev.8:16", NAA]), ("sdb", &[UUID], &["dev.8:16", NAA]));
        assert_eq!(
            (&hops(&unknown)[..], said(&unknown)),
            (&two("sdb")[..], vec!["perhaps-one-host"])
        );
        let other = "naa.600140599999678900000000000000aa";
        let conflict = disks((&[UUID], &["dev.8:16", other]), ("sdb", &[UUID], &["dev.8:16", NAA]));
        assert_eq!(
            (&hops(&conflict)[..], said(&conflict)),
            (&two("sdb")[..], vec!["counters-conflict"])
        );
    }

    fn sample(second: u64, readings: &[(CounterId, f64)]) -> Sample {
        let reading =
            |(counter, value): &(CounterId, f64)| HopReading { counter: *counter, value: *value };
        Sample { at: Ns::secs(second), readings: readings.iter().map(reading).collect() }
    }

    /// Twenty seconds of two sources, of which the second says so many bytes a second.
    fn run(second_rate: f64) -> (usize, Vec<String>, Vec<String>) {
        let hop = |from: &str| ("esx.nic:0".to_owned(), from.to_owned());
        let mut owners = Owners::of(vec![hop("local"), hop("snmp://a")]);
        let (mut recorded, mut said) = (0, Vec::new());
        for second in 0..=20 {
            let time = second as f64;
            let mut samples = [
                sample(second, &[(ReadBytes, 1e6 * time)]),
                sample(
                    second / 5 * 5,
                    &[(ReadBytes, second_rate * (second / 5 * 5) as f64), (Errors, time)],
                ),
            ];
            said.extend(owners.take(&mut samples));
            recorded += samples
                .iter()
                .flat_map(|of| &of.readings)
                .filter(|of| of.counter == ReadBytes)
                .count();
        }
        (recorded, said, owners.shares())
    }

    #[test]
    fn a_counter_is_of_one_source_and_contradictions_are_said_once() {
        let (recorded, said, shares) = run(1e6);
        assert_eq!((recorded, said.len()), (21, 0), "{said:?}");
        assert_eq!(shares.len(), 1);
        assert!(
            shares[0].contains("read-bytes from local")
                && shares[0].contains("errors from snmp://a"),
            "{shares:?}"
        );
        let (recorded, said, _) = run(3e6);
        assert_eq!((recorded, said.len()), (21, 1), "{said:?}");
        assert!(said[0].contains("local says 1.0000e6"), "{said:?}");
    }

    #[test]
    fn what_one_source_alone_counts_is_kept_as_it_is() {
        let mut owners = Owners::of(vec![("esx.cpu".to_owned(), "local".to_owned())]);
        let mut samples = [sample(1, &[(CpuBusy, 1.0), (CpuSteal, f64::NAN)])];
        assert!(owners.take(&mut samples).is_empty());
        assert_eq!(samples[0].readings.len(), 2);
        assert!(owners.shares().is_empty());
    }
}
