//! Profiles of applications: what one mailbox, one desktop or one transaction a second asks of its storage, embedded from
//! `catalog/profiles.toml`; and projects, which are profiles as a scenario or the command line adjusts them.
//!
//! A profile is its figures: each is a text with its unit, its source and its kind, as a part's are. What they say
//! together is read once, so that a profile without an access specification or an amount cannot exist.

use crate::catalog;
use crate::datum::Decoded;
use crate::decode;
use crate::diagnostics::{Origin, Sink, Span};
use crate::fields::PROFILES;
use crate::model::{Figure, FigureKind, LatencyPoint};
use crate::nearest::suggestion;
use crate::scalar;
use crate::tree;
use std::sync::LazyLock;
use std::time::Duration;
use thiserror::Error;
use units::{Bytes, Iops, Percent};

/// The catalog's file, embedded.
const FILE: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../catalog/profiles.toml"));

/// Where the figures of an adjusted profile come from.
const ADJUSTED: &str = "set in the scenario";

/// What an application asks of its storage.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// The name that scenarios use (`exchange-2010-150`).
    pub name: String,
    /// What it is, in words.
    pub title: String,
    /// What is counted, one of it (`mailbox`).
    pub unit: String,
    /// The same for several (`mailboxes`).
    pub units: String,
    /// What one of them asks for.
    pub each: Each,
    /// Size of an operation.
    pub block: Bytes,
    /// Reads among the operations.
    pub read: Percent,
    /// Random addresses among the operations.
    pub random: Percent,
    /// The latency within which it works; `None` where only the amount counts.
    pub limit: Option<LatencyLimit>,
    /// Its figures with their sources, from which all of the above is read.
    pub figures: Vec<Figure>,
}

/// What one unit of an application asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Each {
    /// That many operations a second.
    Iops(f64),
    /// That many bytes within the window.
    Window {
        /// Bytes.
        size: Bytes,
        /// The time that there is for them.
        window: Duration,
    },
}

/// A bound on a point of the latency of reads and of writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LatencyLimit {
    /// At most this.
    pub at_most: Duration,
    /// Which point of the distribution.
    pub point: LatencyPoint,
}

/// A profile as a scenario or the command line asks for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Project {
    /// The profile, adjusted.
    pub profile: Profile,
    /// How many are needed, if that was said: units, or for a window the units that the size makes.
    pub wanted: Option<f64>,
}

/// Why there is no such profile.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("no profile is named `{name}`{}", help.as_ref().map(|h| format!("; {h}")).unwrap_or_default())]
pub struct NoProfile {
    /// The name that was asked for.
    pub name: String,
    /// What was probably meant.
    pub help: Option<String>,
}

/// Every profile of the catalog, in its order.
pub fn profiles() -> &'static [Profile] {
    static PROFILES: LazyLock<Vec<Profile>> = LazyLock::new(|| read(&mut Sink::default()));
    &PROFILES
}

/// The profile of a name.
/// # Errors
/// Where there is none; it names the nearest.
pub fn profile(name: &str) -> Result<&'static Profile, NoProfile> {
    let names = profiles().iter().map(|p| p.name.as_str());
    profiles().iter().find(|p| p.name == name).ok_or_else(|| NoProfile {
        name: tree::clip(name),
        help: suggestion(name, names)
            .map(|help| format!("{help} (`wirespeed profiles` lists them)")),
    })
}

impl Project {
    /// A profile as it stands in the catalog.
    pub fn plain(profile: &Profile) -> Project {
        Project { profile: profile.clone(), wanted: None }
    }
}

impl Profile {
    /// A figure by name.
    pub fn figure(&self, name: &str) -> Option<&Figure> {
        self.figures.iter().find(|f| f.name == name)
    }

    /// Whether it counts bytes in a window, and not operations a second.
    pub fn has_window(&self) -> bool {
        matches!(self.each, Each::Window { .. })
    }

    /// The same with other figures, by name and value; a figure that it had not is added.
    pub(crate) fn with(mut self, changes: Vec<(&'static str, String)>) -> Profile {
        for (name, value) in changes {
            let (source, kind) = (ADJUSTED.to_owned(), FigureKind::Assumed);
            let (claim, interval) = (None, None);
            let figure = Figure { name: name.to_owned(), value, source, kind, claim, interval };
            match self.figures.iter_mut().find(|f| f.name == name) {
                Some(known) => *known = figure,
                None => self.figures.push(figure),
            }
        }
        let read = FiguresByName::of(&self.figures);
        // What a scenario gives has been decoded, so it can be read.
        self.each = read.each().unwrap_or(self.each);
        self.block = read.block().unwrap_or(self.block);
        self.read = read.percent("read").unwrap_or(self.read);
        self.limit = read.limit();
        self
    }

    fn of(record: &Decoded) -> Option<Profile> {
        let text = |key| record.text(key).map(|at| at.value);
        let figures = catalog::figures(record);
        let read = FiguresByName::of(&figures);
        Some(Profile {
            name: text("name")?,
            title: text("title")?,
            unit: text("unit")?,
            units: text("units")?,
            each: read.each()?,
            block: read.block()?,
            read: read.percent("read")?,
            random: read.percent("random")?,
            limit: read.limit(),
            figures,
        })
    }
}

/// Figures, read by name.
struct FiguresByName<'a>(&'a [Figure]);

impl<'a> FiguresByName<'a> {
    fn of(figures: &'a [Figure]) -> FiguresByName<'a> {
        FiguresByName(figures)
    }

    fn text(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|f| f.name == name).map(|f| f.value.as_str())
    }

    fn each(&self) -> Option<Each> {
        let iops = self.text("iops_each").and_then(|t| Iops::parse(t).ok());
        if let Some(iops) = iops.filter(|iops| iops.0 > 0.0) {
            return Some(Each::Iops(iops.0));
        }
        let size = Bytes::parse(self.text("size_each")?).ok().filter(|size| size.0 > 0)?;
        let window = units::parse_duration(self.text("window")?).ok().filter(|w| !w.is_zero())?;
        Some(Each::Window { size, window })
    }

    fn block(&self) -> Option<Bytes> {
        Bytes::parse(self.text("block")?).ok().filter(|block| block.0 > 0)
    }

    fn percent(&self, name: &str) -> Option<Percent> {
        Percent::parse(self.text(name)?).ok()
    }

    /// A limit without a point is one of the mean.
    fn limit(&self) -> Option<LatencyLimit> {
        let at_most = units::parse_duration(self.text("limit")?).ok()?;
        let point = self.text("point").and_then(scalar::latency_point);
        Some(LatencyLimit { at_most, point: point.unwrap_or(LatencyPoint::Mean) })
    }
}

fn read(sink: &mut Sink) -> Vec<Profile> {
    let table = tree::parse(FILE, sink);
    let at = Span::new(Origin::File, 0..0);
    let root = decode::record(&table, at, &PROFILES, PROFILES.title, sink);
    root.records("profile").into_iter().filter_map(Profile::of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_profile_of_the_file_can_be_read() {
        let mut sink = Sink::default();
        let profiles = read(&mut sink);
        assert!(sink.is_empty(), "{sink:?}");
        assert_eq!(profiles.len(), FILE.matches("[[profile]]").count());
        let names: BTreeSet<&str> = profiles.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(names.len(), profiles.len(), "two have one name");
    }

    /// A figure that cannot be checked is a rumour.
    #[test]
    fn every_figure_has_a_unit_a_source_and_its_kind() {
        for profile in profiles() {
            for name in ["block", "read", "random"] {
                assert!(profile.figure(name).is_some(), "{}: no {name}", profile.name);
            }
            assert_eq!(
                profile.limit.is_some(),
                profile.figure("point").is_some(),
                "{}",
                profile.name
            );
            for figure in &profile.figures {
                let at = format!("{}, {}", profile.name, figure.name);
                let unit = figure.value.ends_with(|c: char| c.is_ascii_alphabetic() || c == '%');
                assert!(unit, "{at}: no unit in {}", figure.value);
                assert!(figure.source.len() > 10, "{at}: no source");
                let told = figure.source.starts_with("assumed");
                assert_eq!(told, figure.kind == FigureKind::Assumed, "{at}: what kind is it?");
                if figure.kind == FigureKind::Published && !figure.source.starts_with("the same") {
                    let known = ["BP1018", "BP1024", "Optimizing Storage", "undated", "Chen"];
                    let dated =
                        figure.source.split(|c: char| !c.is_ascii_digit()).any(|w| w.len() == 4);
                    assert!(
                        dated || known.iter().any(|k| figure.source.contains(k)),
                        "{at}: no year"
                    );
                }
            }
        }
    }

    #[test]
    fn a_name_that_is_not_there_suggests_the_nearest() {
        assert_eq!(profile("exchange-2003-heavy").map(|p| p.each), Ok(Each::Iops(1.5)));
        for (name, meant) in [
            ("exchange-2003-havy", "`exchange-2003-heavy`"),
            ("Exchange_2010_150", "`exchange-2010-150`"),
            ("vdi-steady", "`vdi-steady-streamed`"),
            ("", "`backup`"),
        ] {
            let error = profile(name).expect_err("there is none").to_string();
            assert!(error.contains(meant) || error.contains("and more"), "{error}");
        }
    }

    #[test]
    fn figures_that_are_changed_say_so() {
        let plain = profile("exchange-2010-150").expect("it is there").clone();
        let changed = plain.with(vec![("iops_each", "0.5 IOPS".into()), ("limit", "5ms".into())]);
        assert_eq!(changed.each, Each::Iops(0.5));
        assert_eq!(changed.limit.map(|l| l.at_most), Some(Duration::from_millis(5)));
        assert_eq!(changed.figure("limit").map(|f| f.source.as_str()), Some(ADJUSTED));
        assert_eq!(changed.block, Bytes(32768));
    }
}
