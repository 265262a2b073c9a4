//! Where settings of a scenario come from, for those that the experiment's source does not publish (`[[assume]]`).
//!
//! A figure of a part gives its own source. A setting such as a queue's depth has no room for that, and a reader must
//! know how much an answer rests on assumptions. An assumption names settings by the paths that `--set` takes; settings
//! that share one assumption are one parameter. Their use is not defined here.

use crate::catalog::{UserCatalogs, figure_kind};
use crate::datum::Decoded;
use crate::diagnostics::{At, Class, Mistake, Origin, Sink, Span};
use crate::model::FigureKind;
use crate::nearest::suggestion;
use crate::overrides::segments;
use crate::source::Source;
use crate::tree::{Node, TomlTable, TomlValue, clip};
use std::collections::BTreeMap;

/// Settings that one pattern may name.
const SETTINGS_MAX: usize = 4096;

/// `[[assume]]`: settings with one source.
#[derive(Clone, Debug, PartialEq)]
pub struct Assumed {
    /// Its settings as they were named (`workload.*.depth`), several with commas between.
    pub name: String,
    /// The settings that it covers, in the order of the file; at least one.
    pub settings: Vec<AssumedSetting>,
    /// Where the value comes from.
    pub source: String,
    /// How far it can be trusted.
    pub kind: FigureKind,
    /// The claim that a calibrated value was fitted on: its name, after the lab's and a colon where it is another file's.
    pub claim: Option<String>,
    /// What the value plausibly lies between, as written: `1 to 32`.
    pub interval: Option<String>,
}

/// A setting of the scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssumedSetting {
    /// Its path as `--set` takes it.
    pub path: String,
    /// Its value as written.
    pub value: String,
}

/// The single values that a path (`workload.*.depth`) leads to, in the text and its overrides; possibly none.
pub fn settings(source: &Source, path: &str) -> Vec<AssumedSetting> {
    let mut sink = Sink::default();
    let mut tree = crate::tree::parse(&source.text, &mut sink);
    let users = UserCatalogs::read(source, &mut sink);
    crate::overrides::apply(&source.overrides, &users.parts, &mut tree, &mut sink);
    let path = At::new(Span::new(Origin::File, 0..0), path.to_owned());
    found(&tree, &path, &mut sink)
}

/// The assumptions of a file, whose settings stand in its tree.
pub(crate) fn assumed(root: &Decoded, tree: &TomlTable, sink: &mut Sink) -> Vec<Assumed> {
    let mut taken = BTreeMap::new();
    let of = |record| one(record, tree, &mut taken, sink);
    root.records("assume").into_iter().map(of).collect()
}

fn one(
    record: &Decoded,
    tree: &TomlTable,
    taken: &mut BTreeMap<String, Span>,
    sink: &mut Sink,
) -> Assumed {
    let written = record.texts("set");
    let mut settings: Vec<AssumedSetting> = Vec::new();
    for pattern in &written {
        for setting in found(tree, pattern, sink) {
            match taken.insert(setting.path.clone(), pattern.at) {
                None => settings.push(setting),
                Some(first) => sink.push(|| {
                    let path = clip(&setting.path);
                    Mistake::new(pattern.at, format!("`{path}` has a source already"))
                        .label("the second")
                        .related(first, "first given here")
                }),
            }
        }
    }
    let kind = record.word("kind").map_or(FigureKind::Assumed, |at| figure_kind(at.value));
    let claim = record.text("claim");
    check_claim(record, kind, claim.as_ref(), sink);
    let interval = record.text("interval");
    check_interval(interval.as_ref(), sink);
    let names: Vec<&str> = written.iter().map(|at| at.value.as_str()).collect();
    Assumed {
        name: names.join(", "),
        settings,
        source: record.text("source").map(|at| at.value).unwrap_or_default(),
        kind,
        claim: claim.map(|at| at.value),
        interval: interval.map(|at| at.value),
    }
}

/// The two values of an interval as they are written, `1 to 32`; `None` where it has not two.
pub fn interval_ends(text: &str) -> Option<(&str, &str)> {
    let (from, to) = text.split_once(" to ")?;
    let (from, to) = (from.trim(), to.trim());
    let begins = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    (begins(from) && begins(to)).then_some((from, to))
}

/// An interval has two values that begin as numbers do.
fn check_interval(interval: Option<&At<String>>, sink: &mut Sink) {
    if let Some(interval) = interval.filter(|at| interval_ends(&at.value).is_none()) {
        sink.push(|| {
            let found = clip(&interval.value);
            let problem =
                format!("interval: expected two values with ` to ` between them, found `{found}`");
            Mistake::new(interval.at, problem).help("write it as in `1 to 32`")
        });
    }
}

/// What was fitted was fitted on something; nothing else was.
fn check_claim(record: &Decoded, kind: FigureKind, claim: Option<&At<String>>, sink: &mut Sink) {
    match (kind, claim) {
        (FigureKind::Calibrated, None) if !record.has("claim") => sink.push(|| {
            Mistake::new(record.at, "a calibrated value needs its `claim`")
                .help("name it: `claim = \"NAME\"`, or `claim = \"LAB: NAME\"` of another scenario")
        }),
        (FigureKind::Calibrated, _) | (_, None) => {}
        (_, Some(claim)) => sink.push(|| {
            Mistake::new(claim.at, "claim: only a calibrated value has a claim")
                .help("remove it, or write `kind = \"calibrated\"`")
        }),
    }
}

/// The position of a walk along a path.
struct AssumedSpot<'a> {
    path: Vec<String>,
    place: AssumedKey<'a>,
}

#[derive(Clone, Copy)]
enum AssumedKey<'a> {
    Table(&'a TomlTable),
    Node(&'a Node),
}

/// The settings that a pattern names: at least one, or a mistake.
fn found(tree: &TomlTable, pattern: &At<String>, sink: &mut Sink) -> Vec<AssumedSetting> {
    // A mistake of the path itself is reported at the whole of it: a text of the file has escapes.
    let mut inner = Sink::default();
    let Some(path) = segments(&pattern.value, pattern.at.origin, &mut inner) else {
        sink.push(|| Mistake::new(pattern.at, "set: the path has an empty part"));
        return Vec::new();
    };
    if path.first().is_some_and(|first| first.value == "part") {
        sink.push(|| {
            Mistake::new(pattern.at, "set: figures of parts have a `source` of their own")
                .help("give the figure its `source` and `kind`")
        });
        return Vec::new();
    }
    let mut here = vec![AssumedSpot { path: Vec::new(), place: AssumedKey::Table(tree) }];
    for segment in &path {
        let next: Vec<AssumedSpot> = here.iter().flat_map(|at| at.step(&segment.value)).collect();
        if next.is_empty() || next.len() > SETTINGS_MAX {
            sink.push(|| lost(pattern, &segment.value, &here, next.len()));
            return Vec::new();
        }
        here = next;
    }
    let settings: Option<Vec<AssumedSetting>> = here.iter().map(AssumedSpot::setting).collect();
    settings.unwrap_or_else(|| {
        sink.push(|| {
            Mistake::new(
                pattern.at,
                format!("set: `{}` is not a single value", clip(&pattern.value)),
            )
            .help("name one of its keys")
        });
        Vec::new()
    })
}

/// The mistake of a path that leads nowhere, or to too much.
fn lost(pattern: &At<String>, segment: &str, here: &[AssumedSpot], found: usize) -> Mistake {
    if found > 0 {
        let message = format!("set: more than {SETTINGS_MAX} settings; name fewer");
        return Mistake::new(pattern.at, message);
    }
    let names: Vec<String> = here.iter().flat_map(AssumedSpot::names).collect();
    let message =
        format!("set: nothing here is named `{}` in `{}`", clip(segment), clip(&pattern.value));
    Mistake::new(pattern.at, message)
        .class(Class::Absence)
        .maybe_help(suggestion(segment, names.iter().map(String::as_str)))
}

impl<'a> AssumedSpot<'a> {
    /// What a segment leads to from here: a key, an element by its name or number, or all of them (`*`).
    fn step(&self, segment: &str) -> Vec<AssumedSpot<'a>> {
        let to = |name: &str, node: &'a Node| {
            let path = self.path.iter().cloned().chain([quoted(name)]).collect();
            AssumedSpot { path, place: AssumedKey::Node(node) }
        };
        let all = segment == "*";
        match self.place {
            AssumedKey::Table(table)
            | AssumedKey::Node(At { value: TomlValue::Table(table), .. }) => {
                let wanted = table.entries.iter().filter(|e| all || e.key.value == segment);
                wanted.map(|entry| to(&entry.key.value, &entry.node)).collect()
            }
            AssumedKey::Node(At { value: TomlValue::List(items), .. }) => {
                let named = items.iter().enumerate().map(|(n, item)| (name_of(item, n), item));
                let wanted = named.filter(|(name, _)| all || name == segment);
                wanted.map(|(name, item)| to(&name, item)).collect()
            }
            AssumedKey::Node(_) => Vec::new(),
        }
    }

    /// What there is to choose from.
    fn names(&self) -> Vec<String> {
        match self.place {
            AssumedKey::Table(table)
            | AssumedKey::Node(At { value: TomlValue::Table(table), .. }) => {
                table.entries.iter().map(|entry| entry.key.value.clone()).collect()
            }
            AssumedKey::Node(At { value: TomlValue::List(items), .. }) => {
                items.iter().enumerate().map(|(n, item)| name_of(item, n)).collect()
            }
            AssumedKey::Node(_) => Vec::new(),
        }
    }

    fn setting(&self) -> Option<AssumedSetting> {
        let AssumedKey::Node(node) = self.place else { return None };
        let value = match &node.value {
            TomlValue::Text(text) => text.clone(),
            TomlValue::Integer(digits, _) => digits.clone(),
            TomlValue::Float(number) => number.to_string(),
            TomlValue::Flag(flag) => flag.to_string(),
            TomlValue::Date | TomlValue::List(_) | TomlValue::Table(_) => return None,
        };
        Some(AssumedSetting { path: self.path.join("."), value })
    }
}

/// An element of a list: by its name, or else by its number from 0.
fn name_of(item: &Node, number: usize) -> String {
    let TomlValue::Table(table) = &item.value else { return number.to_string() };
    match table.get("name") {
        Some(At { value: TomlValue::Text(name), .. }) => name.clone(),
        _ => number.to_string(),
    }
}

/// A segment of a path; one that holds dots in quotes.
fn quoted(segment: &str) -> String {
    match segment.contains('.') {
        true => format!("\"{segment}\""),
        false => segment.to_owned(),
    }
}
