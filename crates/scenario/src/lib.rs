//! The scenario language: one TOML file with five parts: the lab, what the virtual machines do (workloads), in which
//! order (plans), what must hold (goals) and what was published (claims).
//!
//! [`load`] turns text into a [`Scenario`] whose names and references have been checked, or into every mistake of the
//! file at once. [`Scenario::steps`] expands the plans. This crate knows no engine, no socket and no other file.
//!
//! The way inside: `tree` (text to places), `overrides` (`--set`), `decode` (shapes and units, driven by the
//! descriptions in `fields`), `build` (names and rules). The descriptions also make the JSON `schema` and the
//! [`reference`] in `docs/scenario.md`.

#![forbid(unsafe_code)]

mod agents;
mod assumed;
mod build;
mod catalog;
mod claim;
mod counted;
pub mod crew;
mod datum;
mod decode;
mod diagnostics;
mod directory;
mod embedded;
mod fields;
mod figures;
pub mod knee;
mod live;
mod load;
mod mixture;
mod model;
mod names;
mod nearest;
mod network;
mod overrides;
pub mod profile;
mod prove;
mod reference;
mod render;
mod scalar;
#[cfg(feature = "schema")]
mod schema;
mod scheme;
pub mod search;
mod settle;
mod show;
mod simulated;
mod source;
mod spots;
mod stage;
pub mod steady;
pub mod topology;
mod tree;

pub use agents::{AgentChoice, ChoiceError};
pub use assumed::{Assumed, AssumedSetting, interval_ends, settings};
pub use catalog::{Shelf, Shelved, Used, catalog};
pub use claim::{Claim, ClaimKind, Form, Relation, Shape, ShapePoint};
pub use counted::{CountedDevice, CounterSource, CountersFrom, HopIdentity};
pub use diagnostics::{Diagnostic, Diagnostics, ForeignMistake, Origin, TextRange};
pub use embedded::{Embedded, EmbeddedPort, Fault, FaultAction, Patience, Policy, SwitchAfter};
pub use figures::{Dimension, FigureDef, figures_of};
pub use load::*;
pub use model::*;
pub use nearest::{nearest, suggestion};
pub use network::{
    AddressFamily, NetHop, PROBE, RECEIVER, Receiver, ReceiverPlace, ReceiverSite, SENDER,
    TokenFrom, VmNic,
};
pub use profile::{Profile, Project, profiles};
pub use prove::{Prove, SLOWED};
pub use reference::reference;
#[cfg(feature = "schema")]
pub use schema::schema;
pub use scheme::{SCHEMES, Scheme};
pub use search::Search;
pub use simulated::*;
pub use source::{CatalogFile, Source};
pub use spots::{About, Spots};
pub use stage::{Course, Hunt, Stage};
pub use steady::Steady;
pub use units::{LinkRate, LinkStandard};

use catalog::UserCatalogs;
use diagnostics::{Sink, Span};

/// Reads a scenario: its text with every `--set` on top, and the catalogs of the user beside it.
/// # Errors
/// Every mistake of the file, of the overrides and of the catalogs at once, sorted by place.
pub fn load(source: &Source) -> Result<Scenario, Diagnostics> {
    let mut sink = Sink::default();
    let mut tree = tree::parse(&source.text, &mut sink);
    let users = UserCatalogs::read(source, &mut sink);
    overrides::apply(&source.overrides, &users.parts, &mut tree, &mut sink);
    let start = Span::new(Origin::File, 0..0);
    let root = decode::record(&tree, start, &fields::ROOT, fields::ROOT.title, &mut sink);
    if sink.has_syntax_errors() {
        // What could not be read may hold any name: references are not judged.
        return Err(sink.finish(source));
    }
    let mut scenario = build::scenario(&root, source, &users.parts, &mut sink);
    scenario.assumed = assumed::assumed(&root, &tree, &mut sink);
    users.settle(source, &tree, &mut scenario, &mut sink);
    if sink.is_empty() { Ok(scenario) } else { Err(sink.finish(source)) }
}
