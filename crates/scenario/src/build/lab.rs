//! The lab: names first, then everything that refers to them.

use super::counted::virtual_ports;
use super::disk::Owners;
use super::{complain, content, count_u32, parts, place};
use crate::agents::AgentChoice;
use crate::catalog;
use crate::datum::Decoded;
use crate::diagnostics::{At, Class, Mistake, Sink};
use crate::directory::{Directory, NameKind, deal};
use crate::model::*;
use crate::names;
use crate::nearest::{join, suggestion};
use crate::scheme::{self, Scheme};
use crate::simulated::Medium;
use crate::tree::clip;

/// Declares every name of the lab, then builds it.
pub(super) fn lab(
    root: &Decoded,
    users: &[Part],
    directory: &mut Directory,
    sink: &mut Sink,
) -> Lab {
    let parts = parts::parts(root, users, sink);
    let mut b = LabBuilder { directory, parts: &parts, sink };
    let targets = b.named(root, "target", NameKind::Target);
    let receivers = b.named(root, "receiver", NameKind::Receiver);
    let hosts = b.named(root, "host", NameKind::Host);
    for (record, names) in &hosts {
        names.iter().for_each(|host| b.adapter_names(record, host));
    }
    let teams = b.teams(root);
    let vms = b.named(root, "vm", NameKind::Vm);
    let switches = b.named(root, "switch", NameKind::Switch);
    let arrays = b.named(root, "array", NameKind::Array);
    arrays.iter().for_each(|(record, names)| b.embedded(record, names));
    for (record, names) in &arrays {
        if b.is_tape(record) {
            b.directory.libraries.extend(names.iter().cloned());
        }
    }
    let volumes = b.volumes(root);
    let links = b.links(root);
    let zones = b.named(root, "zone", NameKind::Zone);
    let paths = b.named(root, "path", NameKind::Path);
    let mut counters = b.counters(root);
    let vms: Vec<Vm> = vms.iter().flat_map(|(r, n)| b.vms(r, n)).collect();
    virtual_ports(&vms, &mut counters);
    Lab {
        targets: targets.iter().flat_map(|(r, n)| b.targets(r, n)).collect(),
        receivers: receivers.iter().flat_map(|(r, n)| b.receivers(r, n)).collect(),
        hosts: hosts.iter().flat_map(|(r, n)| b.hosts(r, n)).collect(),
        vms,
        switches: switches.iter().flat_map(|(r, n)| b.switches(r, n)).collect(),
        arrays: arrays.iter().flat_map(|(r, n)| b.arrays(r, n)).collect(),
        volumes,
        links,
        teams,
        zones: zones.iter().flat_map(|(r, n)| b.zones(r, n)).collect(),
        paths: paths.iter().flat_map(|(r, n)| b.paths(r, n)).collect(),
        counters,
        parts,
    }
}

pub(super) struct LabBuilder<'a> {
    pub directory: &'a mut Directory,
    parts: &'a [Part],
    pub sink: &'a mut Sink,
}

/// Processors of one guest at most: as many as QEMU's machine has.
const GUEST_VCPUS_MAX: u32 = 255;

/// A table and the names that it defines.
type NamedTable<'r> = (&'r Decoded, Vec<String>);

impl LabBuilder<'_> {
    /// Declares the names of every table of a section.
    fn named<'r>(
        &mut self,
        root: &'r Decoded,
        section: &str,
        kind: NameKind,
    ) -> Vec<NamedTable<'r>> {
        let mut all = Vec::new();
        for record in root.records(section) {
            let names = if self.directory.is_full() { Vec::new() } else { expanded(record) };
            // A name that cannot be read has been reported.
            self.directory.cut |= names.is_empty();
            for name in &names {
                self.directory.declare(name.clone(), kind, place(record, "name"), self.sink);
            }
            all.push((record, names));
        }
        all
    }

    fn adapter_names(&mut self, host: &Decoded, name: &str) {
        for adapter in host.records("adapters") {
            if self.directory.is_full() {
                return;
            }
            for short in expanded(adapter) {
                let at = place(adapter, "name");
                self.directory.declare(format!("{name}.{short}"), NameKind::Adapter, at, self.sink);
            }
        }
    }

    /// The referent of `key` for each of `n` things; `None` for each when not given or wrong.
    pub(super) fn dealt(
        &mut self,
        record: &Decoded,
        key: &str,
        kinds: &[NameKind],
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
    pub(super) fn part(&mut self, text: Option<At<String>>, kinds: &[PartKind]) -> Option<String> {
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

    /// The medium of data: a word of its own, or a model of disks.
    pub(super) fn medium(&mut self, record: &Decoded) -> Option<Medium> {
        let text = record.text("media")?;
        Some(match text.value.as_str() {
            "ram" => Medium::Ram,
            "ssd" => Medium::Ssd,
            "disk" => Medium::Disk,
            "file" => Medium::File,
            _ => Medium::Part(self.part(Some(text), &[PartKind::Disk])?),
        })
    }

    fn targets(&mut self, record: &Decoded, names: &[String]) -> Vec<Target> {
        let urls = self.urls(record, names.len());
        let null = scheme_of(record).is_some_and(|scheme| !scheme.holds_data);
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
                Mistake::new(place(record, "url"), "`null:` has no size of its own")
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
        let part = self.part(record.text("part"), &[PartKind::Disk, PartKind::Array]);
        let (data, fill) = (content::data(record), content::fill(record, null, self.sink));
        let states = self.states(record, null, names.len());
        self.writing(record, names.len());
        let queue = queue(record);
        let polled = record.flag("polled").is_some_and(|at| at.value);
        if polled && matches!(queue, QueueEngine::Pread | QueueEngine::Aio) {
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
                part: part.clone(),
            })
            .collect()
    }

    /// Where verification keeps its state of each of `n` targets; empty where there is none.
    fn states(&mut self, record: &Decoded, null: bool, n: usize) -> Vec<String> {
        if record.has("verify_state") && null {
            let problem = "`null:` holds nothing to verify";
            complain(record, "verify_state", problem, self.sink);
        }
        if record.has("verify_flushed") && !record.has("verify_state") {
            let problem = "it needs `verify_state`";
            complain(record, "verify_flushed", problem, self.sink);
        }
        self.files(record, "verify_state", n)
    }

    /// A table's permission to write a target that Wirespeed did not make.
    fn writing(&mut self, record: &Decoded, n: usize) {
        let lun = scheme_of(record).is_some_and(|scheme| scheme.holds_data);
        let real = record.has("file") || record.has("device") || lun;
        let wrong = [
            ("write_token", !real, "only a `file`, a `device` or a LUN has a token"),
            ("write_token", n > 1, "a token names one target; define the targets one by one"),
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
    fn urls(&mut self, record: &Decoded, n: usize) -> Vec<String> {
        let given = ["file", "device", "url"].into_iter().find(|key| record.has(key));
        let Some((key, text)) = given.and_then(|key| Some((key, record.text(key)?))) else {
            return vec![String::new(); n];
        };
        if Scheme::of(&text.value).is_some() != (key == "url") {
            self.sink.push(|| wrong_address(key, &text));
        }
        self.dealt_paths(record, key, &text.value, n)
    }

    /// The path under a key for each of `n` targets; empty where there is none.
    fn files(&mut self, record: &Decoded, key: &str, n: usize) -> Vec<String> {
        match record.text(key) {
            Some(text) => self.dealt_paths(record, key, &text.value, n),
            None => vec![String::new(); n],
        }
    }

    fn dealt_paths(&mut self, record: &Decoded, key: &str, path: &str, n: usize) -> Vec<String> {
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

    fn hosts(&mut self, record: &Decoded, names: &[String]) -> Vec<Host> {
        let part = self.part(record.text("part"), &[PartKind::Host]);
        let hypervisor = self.part(record.text("hypervisor"), &[PartKind::Hypervisor]);
        let mut adapters: Vec<Adapter> = Vec::new();
        for adapter in record.records("adapters") {
            let part = self.part(adapter.text("part"), &[PartKind::Hba, PartKind::Nic]);
            let ports = count_u32(adapter, "ports");
            let npiv = adapter.flag("npiv").is_some_and(|at| at.value);
            adapters.extend(expanded(adapter).into_iter().map(|name| Adapter {
                name,
                part: part.clone(),
                ports,
                npiv,
            }));
        }
        if !self.directory.afford(names.len() * adapters.len(), record.at, self.sink) {
            return Vec::new();
        }
        let hosts: Vec<Option<String>> = names.iter().cloned().map(Some).collect();
        let agents = self.agents(record, names);
        let owners =
            Owners { names, hosts: &hosts, hosted: true, scsi: 0, bare: true, guests: false };
        let disks = self.disks(record, &owners);
        names
            .iter()
            .zip(disks)
            .map(|(name, disks)| Host {
                name: name.clone(),
                part: part.clone(),
                hypervisor: hypervisor.clone(),
                adapters: adapters.clone(),
                disks,
                emulate: record.flag("emulate").is_some_and(|at| at.value),
                cpus: record.number("cpus").map(|at| at.value),
                agents: agents.clone(),
            })
            .collect()
    }

    fn vms(&mut self, record: &Decoded, names: &[String]) -> Vec<Vm> {
        let hosts = self.dealt(record, "host", &[NameKind::Host], names.len());
        let scsi: Vec<String> = record
            .texts("scsi")
            .into_iter()
            .filter_map(|text| self.part(Some(text), &[PartKind::VirtualScsi]))
            .collect();
        let machine = self.machine(record);
        let agents = self.agents(record, names);
        let owners = Owners {
            names,
            hosts: &hosts,
            hosted: record.has("host"),
            scsi: scsi.len(),
            bare: false,
            guests: machine.is_some(),
        };
        let disks = self.disks(record, &owners);
        if machine.is_some() {
            self.no_tapes(record, &disks);
        }
        let wwpns = self.wwpns(record, names.len());
        let mut vms: Vec<Vm> = names
            .iter()
            .zip(hosts)
            .zip(disks)
            .zip(wwpns)
            .map(|(((name, host), disks), wwpn)| Vm {
                name: name.clone(),
                host,
                agents: agents.clone(),
                machine,
                vcpus: count_u32(record, "vcpus"),
                memory: record.size("memory").map(|at| at.value),
                scsi: scsi.clone(),
                disks,
                nics: Vec::new(),
                npiv: record.flag("npiv").is_some_and(|at| at.value),
                wwpn,
                cpus: record.number("cpus").map(|at| at.value),
                destinations: Vec::new(),
            })
            .collect();
        self.nics(record, &mut vms);
        vms
    }

    /// The WWPN of each of `n` VMs' virtual ports.
    fn wwpns(&mut self, record: &Decoded, n: usize) -> Vec<Option<String>> {
        let all = self.texts_each(record, "wwpn", n);
        let plain = |text: &str| text.trim_start_matches("0x").replace(':', "").to_lowercase();
        let is_wwn = |text: &String| {
            let digits = plain(text);
            digits.len() == 16 && digits.bytes().all(|b| b.is_ascii_hexdigit())
        };
        let npiv = record.flag("npiv").is_some_and(|at| at.value);
        if let Some(wrong) = all.iter().flatten().find(|text| !is_wwn(text)) {
            let problem = format!(
                "`{}` is no WWPN: 16 hexadecimal digits, as `c0:50:76:00:a1:b2:00:01`",
                clip(wrong)
            );
            complain(record, "wwpn", problem, self.sink);
        } else if record.has("wwpn") && !npiv {
            let problem = "only a VM with `npiv = true` has a virtual port".to_owned();
            complain(record, "wwpn", problem, self.sink);
        }
        for text in all.iter().flatten() {
            let at = place(record, "wwpn");
            if let Some(first) = self.directory.wwpns.insert(plain(text), at) {
                self.sink.push(|| {
                    let problem = format!("wwpn: another VM has `{}` already", clip(text));
                    let mistake = Mistake::new(at, problem);
                    let mistake = if first == at { mistake } else { mistake.related(first, "first given here") };
                    mistake.help("each VM needs its own; of several, a range counts them, as in `c0:50:76:00:a1:b2:00:0{1..8}`")
                });
                break;
            }
        }
        all
    }

    /// Reports tape drives of guests, which do not copy.
    fn no_tapes(&mut self, record: &Decoded, disks: &[Vec<VmDisk>]) {
        let tape = disks.iter().flatten().find_map(|disk| match &disk.backing {
            Backing::Lun { array, .. } => self.directory.libraries.get(array),
            Backing::Target(_) => None,
        });
        if let Some(library) = tape {
            let problem = format!(
                "`{library}` is a tape library, and guests do not copy; a VM without `machine` does"
            );
            complain(record, "disks", problem, self.sink);
        }
    }

    /// The agents that carry what a table describes.
    fn agents(&mut self, record: &Decoded, names: &[String]) -> Option<AgentChoice> {
        let text = record.text("agents")?;
        let table = names.first().map(String::as_str).unwrap_or_default();
        AgentChoice::parse(&text.value, table)
            .map_err(|error| self.sink.push(|| Mistake::new(text.at, format!("agents: {error}"))))
            .ok()
    }

    /// What a VM is in a live run; a guest of QEMU needs adapters that QEMU has, and memory to boot.
    fn machine(&mut self, record: &Decoded) -> Option<MachineKind> {
        record.word("machine")?;
        for text in record.texts("scsi") {
            if QEMU_ADAPTERS.contains(&&*text.value) {
                continue;
            }
            let near = suggestion(&text.value, QEMU_ADAPTERS);
            self.sink.push(|| {
                let all = QEMU_ADAPTERS.map(|name| format!("`{name}`"));
                let message = format!("scsi: QEMU has no adapter `{}`", clip(&text.value));
                let help = format!("it has {}", join(&all, "and"));
                Mistake::new(text.at, message).help(near.unwrap_or(help))
            });
        }
        if let Some(memory) = record.size("memory").filter(|at| at.value.0 < Vm::GUEST_MEMORY_MIN) {
            let least = units::binary_bytes(Vm::GUEST_MEMORY_MIN);
            let message =
                format!("{} is too little for a guest: its kernel needs {least}", memory.value);
            complain(record, "memory", message, self.sink);
        }
        if count_u32(record, "vcpus").is_some_and(|count| count > GUEST_VCPUS_MAX) {
            let message = format!("a guest has {GUEST_VCPUS_MAX} at most");
            complain(record, "vcpus", message, self.sink);
        }
        Some(MachineKind::Qemu)
    }

    fn switches(&mut self, record: &Decoded, names: &[String]) -> Vec<Switch> {
        let part = self.part(record.text("part"), &[PartKind::Switch]);
        let emulate = record.flag("emulate").is_some_and(|at| at.value);
        let switch = |name: &String| Switch { name: name.clone(), part: part.clone(), emulate };
        names.iter().map(switch).collect()
    }

    /// Whether an array is a tape library.
    fn is_tape(&self, record: &Decoded) -> bool {
        let Some(part) = record.text("part") else { return false };
        let mut known = self.parts.iter().chain(catalog::catalog());
        known.any(|known| known.name == part.value && known.kind == PartKind::Tape)
    }

    fn arrays(&mut self, record: &Decoded, names: &[String]) -> Vec<Array> {
        let part = self.part(record.text("part"), &[PartKind::Array, PartKind::Tape]);
        let controllers = count_u32(record, "controllers");
        let ports = count_u32(record, "ports");
        let media = self.medium(record);
        names
            .iter()
            .map(|name| Array {
                name: name.clone(),
                part: part.clone(),
                controllers,
                ports,
                embedded: self.directory.embedded.get(name).cloned().flatten(),
                emulate: record.flag("emulate").is_some_and(|at| at.value),
                cache: record.size("cache").map(|at| at.value),
                hit_share: record.percent("hit_share").map(|at| at.value),
                media: media.clone(),
            })
            .collect()
    }
}

/// The scheme of a target's URL, where it has one that is known.
fn scheme_of(record: &Decoded) -> Option<&'static Scheme> {
    Scheme::of(&record.text("url")?.value)
}

/// A path where a URL belongs, or a URL where a path belongs.
fn wrong_address(key: &str, text: &At<String>) -> Mistake {
    let shown = clip(&text.value);
    match key {
        "url" => {
            let message = format!("url: {}", scheme::unknown(&shown));
            Mistake::new(text.at, message).help("a path is written `file = …` or `device = …`")
        }
        _ => {
            let message = format!("{key}: `{shown}` is not a path");
            Mistake::new(text.at, message).help(format!("write `url = \"{shown}\"`"))
        }
    }
}

/// The names that a table defines; none when its name is missing or wrong, which has been reported.
pub(super) fn expanded(record: &Decoded) -> Vec<String> {
    record.text("name").and_then(|at| names::expand(&at.value).ok()).unwrap_or_default()
}

fn queue(record: &Decoded) -> QueueEngine {
    match record.word("queue").map(|at| at.value) {
        Some("io_uring") => QueueEngine::Uring,
        Some("aio") => QueueEngine::Aio,
        Some("pread") => QueueEngine::Pread,
        _ => QueueEngine::Auto,
    }
}
