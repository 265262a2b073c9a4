//! The lab: names first, then everything that refers to them.

use super::embedded::patience;
use super::{complain, content, count_u32, place, size_u32};
use crate::catalog;
use crate::datum::Record;
use crate::diagnostics::{At, Class, Mistake, Sink};
use crate::directory::{Directory, Kind, deal};
use crate::model::*;
use crate::names::{self, NAMES_MAX};
use crate::nearest::{join, suggestion};
use crate::tree::clip;
use units::LinkRate;

/// Declares every name of the lab, then builds it.
pub(super) fn lab(root: &Record, directory: &mut Directory, sink: &mut Sink) -> Lab {
    let parts = parts(root, sink);
    let mut b = Builder { directory, parts: &parts, sink };
    let targets = b.named(root, "target", Kind::Target);
    let receivers = b.named(root, "receiver", Kind::Receiver);
    let hosts = b.named(root, "host", Kind::Host);
    for (record, names) in &hosts {
        names.iter().for_each(|host| b.adapter_names(record, host));
    }
    let vms = b.named(root, "vm", Kind::Vm);
    let switches = b.named(root, "switch", Kind::Switch);
    let arrays = b.named(root, "array", Kind::Array);
    arrays.iter().for_each(|(record, names)| b.embedded(record, names));
    let volumes = b.volumes(root);
    let links = b.links(root);
    let zones = b.named(root, "zone", Kind::Zone);
    let paths = b.named(root, "path", Kind::Path);
    Lab {
        targets: targets.iter().flat_map(|(r, n)| b.targets(r, n)).collect(),
        receivers: receivers.iter().flat_map(|(r, n)| b.receivers(r, n)).collect(),
        hosts: hosts.iter().flat_map(|(r, n)| b.hosts(r, n)).collect(),
        vms: vms.iter().flat_map(|(r, n)| b.vms(r, n)).collect(),
        switches: switches.iter().flat_map(|(r, n)| b.switches(r, n)).collect(),
        arrays: arrays.iter().flat_map(|(r, n)| b.arrays(r, n)).collect(),
        volumes,
        links,
        zones: zones.iter().flat_map(|(r, n)| b.zones(r, n)).collect(),
        paths: paths.iter().flat_map(|(r, n)| b.paths(r, n)).collect(),
        parts,
    }
}

pub(super) struct Builder<'a> {
    pub directory: &'a mut Directory,
    parts: &'a [Part],
    pub sink: &'a mut Sink,
}

/// A table and the names that it defines.
type Named<'r> = (&'r Record, Vec<String>);

const INITIATORS: &[Kind] = &[Kind::Adapter, Kind::Vm, Kind::Host];
const PORTED: &[Kind] = &[Kind::Adapter, Kind::Switch, Kind::Array];

impl Builder<'_> {
    /// Declares the names of every table of a section.
    fn named<'r>(&mut self, root: &'r Record, section: &str, kind: Kind) -> Vec<Named<'r>> {
        let mut all = Vec::new();
        for record in root.records(section) {
            let names = if self.directory.is_full() { Vec::new() } else { expanded(record) };
            for name in &names {
                self.directory.declare(name.clone(), kind, place(record, "name"), self.sink);
            }
            all.push((record, names));
        }
        all
    }

    fn adapter_names(&mut self, host: &Record, name: &str) {
        for adapter in host.records("adapters") {
            if self.directory.is_full() {
                return;
            }
            for short in expanded(adapter) {
                let at = place(adapter, "name");
                self.directory.declare(format!("{name}.{short}"), Kind::Adapter, at, self.sink);
            }
        }
    }

    /// What the reference at `key` means for each of `n` things; `None` for each when not given or wrong.
    pub(super) fn dealt(
        &mut self,
        record: &Record,
        key: &str,
        kinds: &[Kind],
        n: usize,
    ) -> Vec<Option<String>> {
        let found = record.text(key).and_then(|text| self.directory.find(&text, kinds, self.sink));
        match found.map(|found| deal(&found.names, found.by_pattern, n)) {
            Some(Ok(names)) => names.into_iter().map(Some).collect(),
            Some(Err(problem)) => {
                complain(record, key, problem, self.sink);
                vec![None; n]
            }
            None => vec![None; n],
        }
    }

    /// A reference to a model, in this file or the catalog.
    fn part(&mut self, text: Option<At<String>>, kinds: &[PartKind]) -> Option<String> {
        let text = text?;
        let known = || self.parts.iter().chain(catalog::catalog());
        let right = |part: &&Part| kinds.contains(&part.kind);
        match known().find(|part| part.name == text.value) {
            Some(part) if right(&part) => return Some(text.value),
            Some(part) => {
                let expected: Vec<String> = kinds.iter().map(|k| k.words().to_owned()).collect();
                let (found, expected) = (part.kind.words(), join(&expected, "or"));
                self.sink.push(|| {
                    let message = format!("the part `{}` is {found}, not {expected}", part.name);
                    let names = known().filter(right).map(|p| p.name.as_str());
                    Mistake::new(text.at, message).maybe_help(suggestion(&text.value, names))
                });
            }
            None => self.sink.push(|| {
                let message = format!("no part is named `{}`", clip(&text.value));
                let names = known().filter(right).map(|p| p.name.as_str());
                Mistake::new(text.at, message)
                    .class(Class::Absence)
                    .maybe_help(suggestion(&text.value, names))
            }),
        }
        None
    }

    fn targets(&mut self, record: &Record, names: &[String]) -> Vec<Target> {
        let urls = self.urls(record, names.len());
        let null = record.text("url").is_some_and(|url| url.value.starts_with("null:"));
        if record.has("create") && !record.has("file") {
            complain(record, "create", "only a `file` can be created", self.sink);
        }
        if record.has("size") && !null {
            complain(
                record,
                "size",
                "only `null:` needs a size; a file has its own (see `create`)",
                self.sink,
            );
        }
        if null && !record.has("size") {
            self.sink.push(|| {
                Mistake::new(place(record, "url"), "`null:` has no size by itself")
                    .class(Class::Absence)
                    .help("add `size = \"1GiB\"`")
            });
        }
        if record.has("buffered") && !record.has("file") && !record.has("device") {
            complain(record, "buffered", "only a `file` or a `device` has a page cache", self.sink);
        }
        for key in ["queue", "polled"] {
            if record.has(key) && !record.has("file") && !record.has("device") {
                complain(
                    record,
                    key,
                    "only a `file` or a `device` has a choice of queues",
                    self.sink,
                );
            }
        }
        let (data, fill) = (content::data(record), content::fill(record, null, self.sink));
        let states = self.states(record, null, names.len());
        self.writing(record, names.len());
        let queue = queue(record);
        let polled = record.flag("polled").is_some_and(|at| at.value);
        if polled && matches!(queue, Queue::Pread | Queue::Aio) {
            complain(record, "polled", "only io_uring can poll; `queue` names another", self.sink);
        }
        names
            .iter()
            .zip(urls)
            .zip(states)
            .map(|((name, url), verify_state)| Target {
                name: name.clone(),
                url,
                create: record.size("create").map(|at| at.value),
                size: record.size("size").map(|at| at.value),
                buffered: record.flag("buffered").is_some_and(|at| at.value),
                write_token: record.text("write_token").map(|at| at.value.to_string()),
                overwrite: record.flag("overwrite").is_some_and(|at| at.value),
                queue,
                polled,
                data,
                fill,
                verify_state: Some(verify_state).filter(|path| !path.is_empty()),
                verify_flushed: record.flag("verify_flushed").is_some_and(|at| at.value),
            })
            .collect()
    }

    /// Where verification keeps its state of each of `n` targets; empty where it keeps none.
    fn states(&mut self, record: &Record, null: bool, n: usize) -> Vec<String> {
        if record.has("verify_state") && null {
            let problem = "`null:` holds nothing that could be verified";
            complain(record, "verify_state", problem, self.sink);
        }
        if record.has("verify_flushed") && !record.has("verify_state") {
            let problem = "it says how a `verify_state` is read, and there is none";
            complain(record, "verify_flushed", problem, self.sink);
        }
        self.files(record, "verify_state", n)
    }

    /// What a table says about being written though Wirespeed did not make it.
    fn writing(&mut self, record: &Record, n: usize) {
        let lun = record.text("url").is_some_and(|url| url.value.starts_with("iscsi://"));
        let real = record.has("file") || record.has("device") || lun;
        let wrong = [
            ("write_token", !real, "only a `file`, a `device` or a LUN has a token"),
            ("write_token", n > 1, "a token names one target; write the targets one by one"),
            (
                "overwrite",
                !record.has("write_token"),
                "it goes with a `write_token`, which `plan` prints",
            ),
        ];
        for (key, _, problem) in wrong.into_iter().filter(|(key, is, _)| *is && record.has(key)) {
            complain(record, key, problem, self.sink);
        }
    }

    /// The path or URL of each of `n` targets.
    fn urls(&mut self, record: &Record, n: usize) -> Vec<String> {
        let given = ["file", "device", "url"].into_iter().find(|key| record.has(key));
        let Some((key, text)) = given.and_then(|key| Some((key, record.text(key)?))) else {
            return vec![String::new(); n];
        };
        let is_url = ["null:", "iscsi://"].iter().any(|scheme| text.value.starts_with(scheme));
        if is_url != (key == "url") {
            self.sink.push(|| wrong_address(key, &text));
        }
        self.dealt_paths(record, key, &text.value, n)
    }

    /// The path under a key for each of `n` targets; empty where there is none.
    fn files(&mut self, record: &Record, key: &str, n: usize) -> Vec<String> {
        match record.text(key) {
            Some(text) => self.dealt_paths(record, key, &text.value, n),
            None => vec![String::new(); n],
        }
    }

    fn dealt_paths(&mut self, record: &Record, key: &str, path: &str, n: usize) -> Vec<String> {
        let paths = names::expand_path(path).unwrap_or_else(|problem| {
            complain(record, key, problem, self.sink);
            Vec::new()
        });
        if paths.len() == 1 && n > 1 && key != "url" {
            let message =
                format!("{n} targets would share one {key}; put the range of `name` into it");
            complain(record, key, message, self.sink);
        }
        match deal(&paths, false, n) {
            Ok(paths) => return paths,
            Err(problem) if !paths.is_empty() => complain(record, key, problem, self.sink),
            Err(_) => {}
        }
        vec![String::new(); n]
    }

    fn hosts(&mut self, record: &Record, names: &[String]) -> Vec<Host> {
        let part = self.part(record.text("part"), &[PartKind::Host]);
        let hypervisor = self.part(record.text("hypervisor"), &[PartKind::Hypervisor]);
        let mut adapters: Vec<Adapter> = Vec::new();
        for adapter in record.records("adapters") {
            let part = self.part(adapter.text("part"), &[PartKind::Hba, PartKind::Nic]);
            let ports = count_u32(adapter, "ports");
            adapters.extend(expanded(adapter).into_iter().map(|name| Adapter {
                name,
                part: part.clone(),
                ports,
            }));
        }
        if !self.directory.afford(names.len() * adapters.len(), record.at, self.sink) {
            return Vec::new();
        }
        names
            .iter()
            .map(|name| Host {
                name: name.clone(),
                part: part.clone(),
                hypervisor: hypervisor.clone(),
                adapters: adapters.clone(),
            })
            .collect()
    }

    fn vms(&mut self, record: &Record, names: &[String]) -> Vec<Vm> {
        let hosts = self.dealt(record, "host", &[Kind::Host], names.len());
        let scsi: Vec<String> = record
            .texts("scsi")
            .into_iter()
            .filter_map(|text| self.part(Some(text), &[PartKind::VirtualScsi]))
            .collect();
        let mut vms: Vec<Vm> = names
            .iter()
            .zip(hosts)
            .map(|(name, host)| Vm {
                name: name.clone(),
                host,
                vcpus: count_u32(record, "vcpus"),
                memory: record.size("memory").map(|at| at.value),
                scsi: scsi.clone(),
                disks: Vec::new(),
                nics: Vec::new(),
            })
            .collect();
        // Disks that were given wrongly have been reported.
        let given = record.slot("disks").is_some_and(|slot| slot.value.is_none());
        if !given && record.records("disks").is_empty() {
            self.directory.without_disks.extend(names.iter().cloned());
        }
        for disk in record.records("disks") {
            self.disk(disk, record, &mut vms);
        }
        self.nics(record, &mut vms);
        vms
    }

    /// Adds a disk to every VM of one definition.
    fn disk(&mut self, disk: &Record, vm: &Record, vms: &mut [Vm]) {
        let n = vms.len();
        if !self.directory.afford(n, disk.at, self.sink) {
            return;
        }
        let backings = self.backings(disk, n);
        let controller = count_u32(disk, "controller");
        let adapters = vms.first().map_or(0, |vm| vm.scsi.len());
        if controller.is_some_and(|c| c as usize >= adapters.max(1)) {
            let message = format!("`scsi` lists {adapters}, and they are counted from 0");
            complain(disk, "controller", message, self.sink);
        }
        let map = disk.word("map").map(|at| disk_map(at.value));
        let size = disk.size("size").map(|at| at.value);
        let leaving = self.leaving(disk, vm, vms);
        let ways = self.ways(disk, &backings);
        let patience = patience(disk, self.sink);
        for (((vm, backing), adapter), (ports, policy)) in
            vms.iter_mut().zip(backings).zip(leaving).zip(ways)
        {
            let Some(backing) = backing else { continue };
            vm.disks.push(VmDisk {
                backing,
                map,
                adapter,
                controller,
                size,
                ports,
                policy,
                patience,
            });
        }
    }

    /// What backs a disk in each of `n` VMs.
    fn backings(&mut self, disk: &Record, n: usize) -> Vec<Option<Backing>> {
        if disk.has("target") {
            let targets = self.dealt(disk, "target", &[Kind::Target], n);
            return targets.into_iter().map(|t| t.map(Backing::Target)).collect();
        }
        let Some(text) = disk.text("lun") else { return vec![None; n] };
        let Some(luns) = self.luns(&text) else { return vec![None; n] };
        match deal(&luns, text.value.contains('*'), n) {
            Ok(luns) => luns.into_iter().map(Some).collect(),
            Err(problem) => {
                complain(disk, "lun", problem, self.sink);
                vec![None; n]
            }
        }
    }

    /// `ARRAY/VOLUME`, both with ranges and patterns; `auto` is whatever the array provides.
    fn luns(&mut self, text: &At<String>) -> Option<Vec<Backing>> {
        let Some((array, volume)) = text.value.split_once('/') else {
            self.sink.push(|| {
                let message = format!("lun: `{}` names no volume", clip(&text.value));
                Mistake::new(text.at, message).help(format!(
                    "write `{}/auto` for one that the array provides",
                    clip(&text.value)
                ))
            });
            return None;
        };
        if volume != "auto" {
            let volumes = self.directory.find(text, &[Kind::Volume], self.sink)?.names;
            let split = |full: String| {
                let (array, volume) = full.split_once('/')?;
                Some(Backing::Lun { array: array.to_owned(), volume: Some(volume.to_owned()) })
            };
            return Some(volumes.into_iter().filter_map(split).collect());
        }
        let arrays = At::new(text.at, array.to_owned());
        let arrays = self.directory.find(&arrays, &[Kind::Array], self.sink)?.names;
        Some(arrays.into_iter().map(|array| Backing::Lun { array, volume: None }).collect())
    }

    /// The adapter of its host that each VM's disk uses.
    fn leaving(&mut self, disk: &Record, vm: &Record, vms: &[Vm]) -> Vec<Option<String>> {
        let none = vec![None; vms.len()];
        let Some(text) = disk.text("adapter") else { return none };
        if !vm.has("host") {
            complain(disk, "adapter", "the VM has no `host`, so there is no adapter", self.sink);
            return none;
        }
        let mut out = Vec::with_capacity(vms.len());
        for (i, vm) in vms.iter().enumerate() {
            let Some(host) = &vm.host else { return none };
            let prefix = format!("{host}.");
            let full = match text.value.starts_with(&prefix) {
                true => text.value.clone(),
                false => format!("{prefix}{}", text.value),
            };
            let found = self.directory.find(&At::new(text.at, full), &[Kind::Adapter], self.sink);
            let Some(found) = found else { return none };
            out.push(Some(found.names[i % found.names.len()].clone()));
        }
        out
    }

    fn switches(&mut self, record: &Record, names: &[String]) -> Vec<Switch> {
        let part = self.part(record.text("part"), &[PartKind::Switch]);
        names.iter().map(|name| Switch { name: name.clone(), part: part.clone() }).collect()
    }

    fn arrays(&mut self, record: &Record, names: &[String]) -> Vec<Array> {
        let part = self.part(record.text("part"), &[PartKind::Array, PartKind::Tape]);
        let controllers = count_u32(record, "controllers");
        let ports = count_u32(record, "ports");
        names
            .iter()
            .map(|name| Array {
                name: name.clone(),
                part: part.clone(),
                controllers,
                ports,
                embedded: self.directory.embedded.get(name).cloned().flatten(),
            })
            .collect()
    }

    fn volumes(&mut self, root: &Record) -> Vec<Volume> {
        let mut all = Vec::new();
        let mut defined = 0;
        for record in root.records("volume") {
            // Names on arrays that do not exist are never declared, and bounded all the same.
            if self.directory.is_full() || defined > NAMES_MAX {
                break;
            }
            let names = expanded(record);
            defined += names.len();
            let arrays = self.dealt(record, "array", &[Kind::Array], names.len());
            let mask = self.directory.find_all(&record.texts("mask"), INITIATORS, self.sink);
            if !self.directory.afford(names.len() * mask.len(), record.at, self.sink) {
                break;
            }
            for (name, array) in names.into_iter().zip(arrays) {
                let Some(array) = array else { continue };
                let at = place(record, "name");
                self.directory.declare(format!("{array}/{name}"), Kind::Volume, at, self.sink);
                self.volume_fits(record, &array);
                all.push(Volume {
                    name,
                    array,
                    size: record.size("size").map(|at| at.value),
                    block: size_u32(record, "block"),
                    thin: record.flag("thin").is_some_and(|at| at.value),
                    raid: record.text("raid").map(|at| at.value),
                    disks: count_u32(record, "disks"),
                    mask: mask.clone(),
                });
            }
        }
        all
    }

    fn links(&mut self, root: &Record) -> Vec<Link> {
        root.records("link").into_iter().flat_map(|record| self.link(record)).collect()
    }

    /// The cables of one definition: as many as it has names, or else ends.
    fn link(&mut self, record: &Record) -> Vec<Link> {
        let mut end = |key| {
            let found = self.directory.find_ports(&record.text(key)?, PORTED, self.sink)?;
            let endpoint = |(device, port)| Endpoint { device, port };
            Some(found.into_iter().map(endpoint).collect::<Vec<_>>())
        };
        let (from, to) = (end("from"), end("to"));
        let (Some(from), Some(to)) = (from, to) else { return Vec::new() };
        let names = expanded(record);
        let n = match names.len() {
            0 => from.len().max(to.len()),
            n => n,
        };
        let mut ends = |key, found: &[Endpoint]| {
            deal(found, false, n).map_err(|problem| complain(record, key, problem, self.sink)).ok()
        };
        let (Some(from), Some(to)) = (ends("from", &from), ends("to", &to)) else {
            return Vec::new();
        };
        let rate = self.link_rate(record);
        let length_m = record.number("length_m").map(|at| at.value);
        let mtu = count_u32(record, "mtu");
        let mut links = Vec::with_capacity(n);
        for (i, (from, to)) in from.into_iter().zip(to).enumerate() {
            let name = names.get(i).cloned().unwrap_or_else(|| format!("{from}-{to}"));
            self.directory.declare(name.clone(), Kind::Link, place(record, "name"), self.sink);
            links.push(Link { name, from, to, rate, length_m, mtu });
        }
        links
    }

    /// The speed of a cable, or of the way to a receiver, whose MTU is said elsewhere.
    pub(super) fn link_rate(&mut self, record: &Record) -> Option<LinkRate> {
        let rate = record.link("rate")?.value;
        if let LinkRate::Standard(standard) = rate
            && let Some(mtu) = standard.jumbo()
        {
            let beside =
                if record.def.field("mtu").is_some() { "beside it" } else { "in the plan" };
            let problem = format!("say `{}` here, and `mtu = {mtu}` {beside}", standard.name());
            complain(record, "rate", problem, self.sink);
        }
        Some(rate)
    }

    fn zones(&mut self, record: &Record, names: &[String]) -> Vec<Zone> {
        let kinds = [Kind::Adapter, Kind::Array, Kind::Vm];
        let members = self.directory.find_all(&record.texts("members"), &kinds, self.sink);
        if !self.directory.afford(names.len() * members.len(), record.at, self.sink) {
            return Vec::new();
        }
        names.iter().map(|name| Zone { name: name.clone(), members: members.clone() }).collect()
    }

    fn paths(&mut self, record: &Record, names: &[String]) -> Vec<Path> {
        let n = names.len();
        let from = self.dealt(record, "from", &[Kind::Vm, Kind::Host], n);
        let to = self.dealt(record, "to", &[Kind::Array, Kind::Volume], n);
        let hops = [Kind::Adapter, Kind::Switch, Kind::Link, Kind::Array];
        let mut via = Vec::new();
        for text in record.texts("via") {
            let found = self.directory.find_ports(&text, &hops, self.sink).unwrap_or_default();
            via.extend(
                found.into_iter().map(|(device, port)| Endpoint { device, port }.to_string()),
            );
        }
        if !self.directory.afford(n * via.len(), record.at, self.sink) {
            return Vec::new();
        }
        let policy = record.word("policy").map(|at| at.value.to_owned());
        names
            .iter()
            .zip(from.into_iter().zip(to))
            .filter_map(|(name, (from, to))| {
                let (name, via, policy) = (name.clone(), via.clone(), policy.clone());
                Some(Path { name, from: from?, to: to?, via, policy })
            })
            .collect()
    }
}

/// A path where a URL belongs, or a URL where a path belongs.
fn wrong_address(key: &str, text: &At<String>) -> Mistake {
    let shown = clip(&text.value);
    match key {
        "url" => {
            let message = format!("url: `{shown}` is neither `null:` nor `iscsi://…`");
            Mistake::new(text.at, message).help("a path is written `file = …` or `device = …`")
        }
        _ => {
            let message = format!("{key}: `{shown}` is not a path");
            Mistake::new(text.at, message).help(format!("write `url = \"{shown}\"`"))
        }
    }
}

/// The names that a table defines; none when its name is missing or wrong, which has been reported.
pub(super) fn expanded(record: &Record) -> Vec<String> {
    record.text("name").and_then(|at| names::expand(&at.value).ok()).unwrap_or_default()
}

fn disk_map(word: &str) -> DiskMap {
    match word {
        "rdm" => DiskMap::Rdm,
        "vmfs" => DiskMap::Vmfs,
        "partition" => DiskMap::Partition,
        "passthrough" => DiskMap::Passthrough,
        _ => DiskMap::File,
    }
}

fn queue(record: &Record) -> Queue {
    match record.word("queue").map(|at| at.value) {
        Some("io_uring") => Queue::Uring,
        Some("aio") => Queue::Aio,
        Some("pread") => Queue::Pread,
        _ => Queue::Auto,
    }
}

/// The models that this file defines.
fn parts(root: &Record, sink: &mut Sink) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut places = std::collections::BTreeMap::new();
    for record in root.records("part") {
        let part = catalog::part(record);
        let at = place(record, "name");
        if let Some(first) = places.insert(part.name.clone(), at).filter(|_| record.has("name")) {
            sink.push(|| {
                Mistake::new(at, format!("the part `{}` is given twice", clip(&part.name)))
                    .label("the second")
                    .related(first, "first given here")
            });
        }
        parts.push(part);
    }
    parts
}
