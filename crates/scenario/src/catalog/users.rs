//! Catalogs of users: files of `[[part]]` beside a scenario, in the language and with the checks of the embedded ones.
//!
//! They are written under other names than the embedded parts, so that a name always means the same. What a scenario uses
//! of them is kept with its text (`[[catalog]]`), so that a record can be read where these files are not.

use super::{catalog, parts_of, text};
use crate::Source;
use crate::diagnostics::{Mistake, Origin, Sink, Span};
use crate::fields::CATALOG;
use crate::model::Part;
use crate::tree::{self, Node, TomlTable, TomlValue, clip};
use crate::{Scenario, decode};
use std::collections::BTreeSet;

/// The parts of all files, in order, and of which file each is, by its number.
#[derive(Default)]
pub(crate) struct UserCatalogs {
    pub parts: Vec<Part>,
    pub files: Vec<usize>,
}

/// The parts of a user's catalog that a scenario uses, each with everything that it took over from the one it is like.
#[derive(Clone, Debug, PartialEq)]
pub struct Used {
    /// The catalog's name.
    pub file: String,
    /// Its parts.
    pub parts: Vec<Part>,
}

impl UserCatalogs {
    /// Reads the catalogs of a source.
    pub fn read(source: &Source, sink: &mut Sink) -> UserCatalogs {
        let roots: Vec<_> = source
            .catalogs
            .iter()
            .enumerate()
            .map(|(n, file)| {
                let origin = Origin::Catalog(n);
                let table = tree::parse_file(&file.text, origin, sink);
                let whole = Span::new(origin, 0..0);
                decode::record(&table, whole, &CATALOG, CATALOG.title, sink)
            })
            .collect();
        let records: Vec<_> = roots.iter().flat_map(|root| root.records("part")).collect();
        let files = roots.iter().enumerate();
        let files = files.flat_map(|(n, root)| vec![n; root.records("part").len()]).collect();
        for (name, part) in records.iter().filter_map(|record| {
            let name = record.text("name")?;
            let part = catalog().iter().find(|part| part.name == name.value)?;
            Some((name, part))
        }) {
            sink.push(|| {
                let help = format!(
                    "give it another name, and `like = \"{}\"` where it is to have that part's figures",
                    part.name
                );
                let message = format!("Wirespeed's own catalog has a part `{}`", clip(&part.name));
                Mistake::new(name.at, message).help(help)
            });
        }
        UserCatalogs { parts: parts_of(&records, &[catalog()], sink), files }
    }

    /// Leaves in a scenario's lab what its tree mentions of these parts, and says of which catalog that is.
    pub fn settle(
        &self,
        source: &Source,
        root: &TomlTable,
        scenario: &mut Scenario,
        sink: &mut Sink,
    ) {
        let mut mentioned = BTreeSet::new();
        let others = root.entries.iter().filter(|entry| entry.key.value != "catalog");
        others.for_each(|entry| texts(&entry.node, &mut mentioned));
        // What a text brings along comes before what the catalogs have today.
        let brought = kept(root);
        let wanted = |part: &Part| mentioned.contains(&*part.name) && !brought.contains(&part.name);
        let of_file = |(n, file): (usize, &crate::CatalogFile)| {
            let own = self.parts.iter().zip(&self.files).filter(|(_, of)| **of == n);
            // Each is independent: it has the figures of whatever it is like.
            let used = own.map(|(part, _)| part).filter(|part| wanted(part));
            let parts = used.map(|part| Part { like: None, ..part.clone() }).collect();
            Used { file: file.name.clone(), parts }
        };
        let all = source.catalogs.iter().enumerate().map(of_file);
        scenario.catalogs = all.filter(|used| !used.parts.is_empty()).collect();
        // In the lab they come last, all of them.
        let parts = &mut scenario.lab.parts;
        parts.truncate(parts.len().saturating_sub(self.parts.len()));
        parts.extend(scenario.catalogs.iter().flat_map(|used| used.parts.iter().cloned()));
        if let (false, Some(catalog)) = (scenario.catalogs.is_empty(), root.get("catalog"))
            && source.text.get(catalog.at.start..).is_none_or(|text| !text.starts_with("[["))
        {
            sink.push(|| {
                Mistake::new(
                    catalog.at,
                    "catalog: parts of other files cannot be kept beside this list",
                )
                .help("write [[catalog]] with double brackets")
            });
        }
    }
}

/// The names of the parts that a text brings along in `[[catalog]]`.
pub(crate) fn kept(root: &TomlTable) -> Vec<String> {
    let catalogs = root.get("catalog").map_or(&[][..], |node| node.value.items());
    let parts = catalogs.iter().flat_map(|one| match &one.value {
        TomlValue::Table(catalog) => catalog.get("part").map_or(&[][..], |node| node.value.items()),
        _ => &[],
    });
    parts.filter_map(|part| part.value.name().map(str::to_owned)).collect()
}

/// Every text of a value.
fn texts<'t>(node: &'t Node, found: &mut BTreeSet<&'t str>) {
    match &node.value {
        TomlValue::Text(text) => {
            found.insert(text);
        }
        TomlValue::List(items) => items.iter().for_each(|item| texts(item, found)),
        TomlValue::Table(table) => table.entries.iter().for_each(|entry| texts(&entry.node, found)),
        TomlValue::Integer(..) | TomlValue::Float(_) | TomlValue::Flag(_) | TomlValue::Date => {}
    }
}

impl Scenario {
    /// The scenario's text as a record keeps it: with the parts of users' catalogs that it uses.
    pub fn text_kept(&self, source: &Source) -> String {
        let mut kept = source.text.clone();
        for used in &self.catalogs {
            kept.push_str("\n\n# Read beside this file; each part with what it took over from the one that it is like.\n");
            kept.push_str(&text::catalog(used));
        }
        kept
    }
}
