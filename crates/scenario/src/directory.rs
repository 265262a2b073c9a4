//! The names of a lab, and what references to them mean.
//!
//! Everything in a lab shares one namespace, except adapters, which are named within their host (`esx.hba`), and
//! volumes and ports, which are named within their array (`ssd1/lun0`, `ssd1.p0`). A VM's way to a receiver is a hop
//! (`vm1.far`). A reference may be a name, a range (`vm{1..8}`) or a
//! pattern (`vm*`); whatever it is, it must mean something that exists and is of the right kind.

use crate::diagnostics::{At, Class, Mistake, Sink, Span};
use crate::embedded::Embedded;
use crate::names::{self, NAMES_MAX};
use crate::nearest::{join, suggestion};
use crate::spots::Spot;
use crate::tree::clip;
use std::collections::{BTreeMap, BTreeSet};

/// Names that all references together may be compared with: bounds the time that a hostile file can take.
const COMPARISONS_MAX: usize = 5_000_000;
/// Names that all references together may stand for.
const REFERENCES_MAX: usize = 100_000;

/// The thing that a name refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameKind {
    Target,
    /// The far end of network loads; also the hop to it.
    Receiver,
    /// From a VM to a receiver.
    NetHop,
    Host,
    Adapter,
    /// Of a host that uses it itself: `HOST.disk0`.
    Disk,
    Vm,
    Switch,
    Array,
    /// Of an embedded array.
    Port,
    Volume,
    Link,
    /// Of network adapters, named within its host.
    Team,
    Zone,
    Path,
}

impl NameKind {
    fn words(self) -> &'static str {
        match self {
            NameKind::Target => "a target",
            NameKind::Receiver => "a receiver",
            NameKind::NetHop => "a network hop",
            NameKind::Host => "a host",
            NameKind::Adapter => "an adapter",
            NameKind::Disk => "a disk of a host",
            NameKind::Vm => "a VM",
            NameKind::Switch => "a switch",
            NameKind::Array => "an array",
            NameKind::Port => "a port",
            NameKind::Volume => "a volume",
            NameKind::Link => "a link",
            NameKind::Team => "a team",
            NameKind::Zone => "a zone",
            NameKind::Path => "a path",
        }
    }
}

/// Every name, in order of definition.
#[derive(Default)]
pub(crate) struct Directory {
    order: Vec<(String, NameKind)>,
    index: BTreeMap<String, (NameKind, Span)>,
    /// Full names of adapters by their short ones.
    adapters: BTreeMap<String, Vec<String>>,
    /// Names given so far, those given twice included.
    declared: usize,
    comparisons: usize,
    references: usize,
    overflow_reported: bool,
    /// Whether names were left out that could not be read: what seems to be missing may be among them.
    pub cut: bool,
    /// VMs that were defined without disks: nothing can run on them.
    pub without_disks: std::collections::BTreeSet<String>,
    /// VMs that were defined without nics: no network load can run on them.
    pub without_nics: std::collections::BTreeSet<String>,
    /// WWPNs of VMs' virtual ports, as digits alone, with where they are given.
    pub wwpns: BTreeMap<String, Span>,
    /// Embedded arrays by name; `None` where what was given is wrong, which has been reported.
    pub embedded: BTreeMap<String, Option<Embedded>>,
    /// Arrays that are tape libraries.
    pub libraries: BTreeSet<String>,
    /// Where things stand that have no name of their own.
    pub spots: BTreeMap<Spot, Span>,
}

/// What a reference means: names in order, and whether a pattern chose them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Referenced {
    pub names: Vec<String>,
    pub by_pattern: bool,
}

impl Directory {
    /// Enters a full name. A second definition is reported at its own place, with the first one's.
    pub fn declare(&mut self, full: String, kind: NameKind, at: Span, sink: &mut Sink) {
        self.declared += 1;
        if self.declared > NAMES_MAX {
            let message = format!("the scenario has more than {NAMES_MAX} names");
            self.overflow(sink, at, message);
            return;
        }
        if let Some((_, first)) = self.index.get(&full) {
            sink.push(|| {
                Mistake::new(at, format!("the name `{}` is given twice", clip(&full)))
                    .label("the second")
                    .related(*first, "first given here")
                    .help("names are unique in the whole lab; choose another")
            });
            return;
        }
        if let (NameKind::Adapter, Some((_, short))) = (kind, full.rsplit_once('.')) {
            self.adapters.entry(short.to_owned()).or_default().push(full.clone());
        }
        self.index.insert(full.clone(), (kind, at));
        self.order.push((full, kind));
    }

    /// What a reference means; nothing when it is wrong, which has been reported.
    pub fn find(
        &mut self,
        text: &At<String>,
        kinds: &[NameKind],
        sink: &mut Sink,
    ) -> Option<Referenced> {
        let mut found = Referenced { names: Vec::new(), by_pattern: false };
        for item in self.items(text, sink)? {
            if item.contains('*') {
                found.by_pattern = true;
                found.names.extend(self.matching(&item, text.at, kinds, sink)?);
            } else {
                let whole = item == text.value;
                found.names.push(self.exact(&item, whole, text.at, kinds, sink)?);
            }
        }
        self.afford(found.names.len(), text.at, sink).then_some(found)
    }

    /// Whether there is room for so many more references; that there is none is reported once.
    pub fn afford(&mut self, references: usize, at: Span, sink: &mut Sink) -> bool {
        self.references = self.references.saturating_add(references);
        let enough = self.references <= REFERENCES_MAX;
        if !enough {
            let message = format!("references match more than {REFERENCES_MAX} names in total");
            self.overflow(sink, at, message);
        }
        enough
    }

    /// Whether a full name is one of this kind.
    pub fn is(&self, name: &str, kind: NameKind) -> bool {
        self.index.get(name).is_some_and(|(known, _)| *known == kind)
    }

    /// The full names of a kind, in order of definition.
    pub fn names_of(&self, kind: NameKind) -> impl Iterator<Item = &str> {
        self.order.iter().filter(move |(_, known)| *known == kind).map(|(name, _)| name.as_str())
    }

    /// Where everything stands, names among it.
    pub fn spots(&self) -> BTreeMap<Spot, Span> {
        let names = self.index.iter().map(|(name, (_, at))| (Spot::Name(name.clone()), *at));
        names.chain(self.spots.iter().map(|(spot, at)| (spot.clone(), *at))).collect()
    }

    /// Whether a full name is one of any kind.
    pub fn knows(&self, name: &str) -> bool {
        self.index.contains_key(name)
    }

    /// Whether the bound on names is reached.
    pub fn is_full(&self) -> bool {
        self.declared > NAMES_MAX
    }

    /// Whether names are missing that could not be read or were too many, which has been reported: no reference to them is.
    fn is_cut(&self) -> bool {
        self.cut || self.is_full()
    }

    /// What several references mean together, each name once.
    pub fn find_all(
        &mut self,
        texts: &[At<String>],
        kinds: &[NameKind],
        sink: &mut Sink,
    ) -> Vec<String> {
        let mut seen = std::collections::BTreeSet::new();
        let mut all = Vec::new();
        for text in texts {
            let names = self.find(text, kinds, sink).map(|f| f.names).unwrap_or_default();
            all.extend(names.into_iter().filter(|n| seen.insert(n.clone())));
        }
        all
    }

    /// What a reference with an optional `:PORT` means: device and port.
    pub fn find_ports(
        &mut self,
        text: &At<String>,
        kinds: &[NameKind],
        sink: &mut Sink,
    ) -> Option<Vec<(String, Option<u32>)>> {
        let mut all = Vec::new();
        for item in self.items(text, sink)? {
            let (device, port) = match item.rsplit_once(':') {
                Some((device, port)) => (device.to_owned(), Some(self.port(port, text.at, sink)?)),
                None => (item, None),
            };
            let names = self.find(&At::new(text.at, device), kinds, sink)?.names;
            all.extend(names.into_iter().map(|name| (name, port)));
        }
        Some(all)
    }

    fn port(&self, text: &str, at: Span, sink: &mut Sink) -> Option<u32> {
        let port = text.parse::<u32>().ok().filter(|n| *n < 65_536);
        if port.is_none() {
            sink.push(|| {
                let message = format!("`{}` is not a port number", clip(text));
                Mistake::new(at, message).help("ports are counted from 0, as in `fabric:3`")
            });
        }
        port
    }

    fn items(&mut self, text: &At<String>, sink: &mut Sink) -> Option<Vec<String>> {
        match names::expand(&text.value) {
            Ok(items) => Some(items),
            Err(problem) => {
                sink.push(|| Mistake::new(text.at, problem));
                None
            }
        }
    }

    fn matching(
        &mut self,
        pattern: &str,
        at: Span,
        kinds: &[NameKind],
        sink: &mut Sink,
    ) -> Option<Vec<String>> {
        self.comparisons += self.order.len();
        if self.comparisons > COMPARISONS_MAX {
            self.overflow(sink, at, "there are too many patterns to look up".to_owned());
            return None;
        }
        let fits = |name: &str, kind: NameKind| {
            names::matches(pattern, name)
                || (kind == NameKind::Adapter
                    && name
                        .rsplit_once('.')
                        .is_some_and(|(_, short)| names::matches(pattern, short)))
        };
        let found: Vec<String> = self
            .order
            .iter()
            .filter(|(name, kind)| kinds.contains(kind) && fits(name, *kind))
            .map(|(name, _)| name.clone())
            .collect();
        if found.is_empty() {
            if self.is_cut() {
                return None;
            }
            sink.push(|| {
                let message = format!("`{}` matches no {}", clip(pattern), bare(kinds));
                self.unknown(at, message, pattern.trim_matches('*'), kinds)
            });
            return None;
        }
        Some(found)
    }

    /// `whole` says that the name is all of the text, and not one of a range.
    fn exact(
        &self,
        name: &str,
        whole: bool,
        at: Span,
        kinds: &[NameKind],
        sink: &mut Sink,
    ) -> Option<String> {
        if self.index.get(name).is_some_and(|(kind, _)| kinds.contains(kind)) {
            return Some(name.to_owned());
        }
        let adapters = self.adapters.get(name).filter(|_| kinds.contains(&NameKind::Adapter));
        match adapters.map(Vec::as_slice) {
            Some([one]) => return Some(one.clone()),
            Some(many) => {
                sink.push(|| {
                    let full: Vec<String> = many.iter().take(8).map(|n| format!("`{n}`")).collect();
                    Mistake::new(at, format!("`{}` is an adapter of several hosts", clip(name)))
                        .help(format!("write its full name: {}", join(&full, "or")))
                });
                return None;
            }
            None => {}
        }
        if !self.knows(name) && self.is_cut() {
            return None;
        }
        sink.push(|| match self.index.get(name) {
            Some((kind, first)) => {
                let message = format!("`{}` is {}, not {}", clip(name), kind.words(), words(kinds));
                self.unknown(at, message, name, kinds).related(*first, "defined here")
            }
            None => {
                let message = format!("no {} is named `{}`", bare(kinds), clip(name));
                // For one name of a range, what there is says more than what is nearest.
                self.unknown(at, message, if whole { name } else { "" }, kinds)
            }
        });
        None
    }

    fn unknown(&self, at: Span, message: String, word: &str, kinds: &[NameKind]) -> Mistake {
        // A port is not part of the name, and an adapter's short name will do.
        let candidates =
            self.order.iter().filter(|(_, k)| kinds.contains(k)).map(|(name, kind)| {
                match (kind, name.rsplit_once('.')) {
                    (NameKind::Adapter, Some((_, short))) if !word.contains('.') => short,
                    _ => name.as_str(),
                }
            });
        let none = candidates.clone().next().is_none();
        let help = match none {
            true => Some(format!("the scenario has no {} at all", bare(kinds))),
            false => suggestion(word, candidates),
        };
        Mistake::new(at, message).class(Class::Absence).maybe_help(help)
    }

    /// Reports that a bound is broken, once.
    fn overflow(&mut self, sink: &mut Sink, at: Span, message: String) {
        if !std::mem::replace(&mut self.overflow_reported, true) {
            sink.push(|| Mistake::new(at, message));
        }
    }
}

/// `a VM or a target`.
fn words(kinds: &[NameKind]) -> String {
    let words: Vec<String> = kinds.iter().map(|k| k.words().to_owned()).collect();
    join(&words, "or")
}

/// `VM or target`.
fn bare(kinds: &[NameKind]) -> String {
    let words: Vec<String> = kinds
        .iter()
        .map(|k| k.words().split_once(' ').map_or("", |(_, word)| word).to_owned())
        .collect();
    join(&words, "or")
}

/// Deals what a reference means among `n` things that are defined together: one is shared by all; a pattern is dealt
/// round robin; a range is paired by index and must be as long.
pub(crate) fn deal<T: Clone>(found: &[T], by_pattern: bool, n: usize) -> Result<Vec<T>, String> {
    match found.len() {
        0 => Err("it matches nothing".to_owned()),
        // What has no name is a mistake of its own.
        _ if n == 0 => Ok(Vec::new()),
        1 => Ok(vec![found[0].clone(); n]),
        m if m == n || by_pattern => Ok(found.iter().cycle().take(n).cloned().collect()),
        m => Err(format!(
            "{m} names are paired with {n}: give one, the same number, or a pattern with `*`"
        )),
    }
}
