//! The figures of parts: which there are for each kind of part, what each is measured in, and between which bounds.
//!
//! One table ([`figures_of`]) defines the names and values of figures, in the catalog and in scenarios, and is printed
//! in `docs/scenario.md`. Readers use the getter of a figure's dimension; a figure that was accepted is one that can be
//! read. What to assume where a part lacks a figure is not defined here.

mod dimension;
mod table;

pub use dimension::Dimension;
pub use table::figures_of;

use crate::catalog::catalog;
use crate::model::{Figure, Lab, Part, PartKind};
use crate::nearest::{join, nearest, suggestion};
use crate::tree::clip;
use dimension::ParsedFigure;
use std::time::Duration;
use units::{ByteRate, Bytes, Iops, LinkRate, Percent};

/// A figure that parts of a kind may have.
#[derive(Clone, Copy, Debug)]
pub struct FigureDef {
    /// Its name.
    pub name: &'static str,
    /// What it is measured in.
    pub dimension: Dimension,
    /// What it says.
    pub doc: &'static str,
}

/// Why a figure is refused: at its name or at its value, with help.
pub(crate) struct FigureRefusal {
    /// Whether the name is wrong, and not the value.
    pub name: bool,
    pub message: String,
    pub help: Option<String>,
}

/// Whether a part of a kind may have such a figure.
pub(crate) fn check(kind: PartKind, name: &str, value: &str) -> Result<(), FigureRefusal> {
    let all = figures_of(kind);
    let Some(def) = all.iter().find(|def| def.name == name) else {
        let message = format!("{} has no figure `{}`", kind.words(), clip(name));
        let own = nearest(name, all.iter().map(|def| def.name));
        let help = match own {
            None => {
                of_other_kinds(name).or_else(|| suggestion(name, all.iter().map(|def| def.name)))
            }
            Some(near) => Some(format!("did you mean `{near}`?")),
        };
        return Err(FigureRefusal { name: true, message, help });
    };
    match def.dimension.read(value) {
        Ok(_) => Ok(()),
        Err((problem, help)) => {
            Err(FigureRefusal { name: false, message: format!("{name}: {problem}"), help })
        }
    }
}

/// The figure that was probably meant, of parts of other kinds.
pub(crate) fn of_other_kinds(name: &str) -> Option<String> {
    let all =
        || PartKind::ALL.into_iter().flat_map(|kind| figures_of(kind).iter().map(|def| def.name));
    let near = nearest(name, all())?;
    let has = |kind: &PartKind| figures_of(*kind).iter().any(|def| def.name == near);
    let kinds: Vec<String> =
        PartKind::ALL.into_iter().filter(has).map(|kind| kind.words().to_owned()).collect();
    Some(format!("did you mean `{near}`? it is a figure of the part of {}", join(&kinds, "or")))
}

/// Whether an interval is one of the figure's dimension that holds its value; or else what is wrong with it.
pub(crate) fn interval(kind: PartKind, name: &str, value: &str, text: &str) -> Result<(), String> {
    let def = figures_of(kind).iter().find(|def| def.name == name);
    let Some(Dimension::Flag | Dimension::Word(_)) = def.map(|def| def.dimension) else {
        let number = def.and_then(|def| def.dimension.number(value));
        let ends = def.map(|def| ends(def.dimension, text)).transpose()?;
        return match (number, ends) {
            (Some(value), Some((from, to))) if value < from || value > to => {
                Err(format!("the value is outside `{}`", clip(text)))
            }
            _ => Ok(()),
        };
    };
    Err(format!("`{name}` is not a number, so it has no interval"))
}

/// The ends of `9.1 us to 10.3 us`.
fn ends(dimension: Dimension, text: &str) -> Result<(f64, f64), String> {
    let read = |text: &str| dimension.read(text).map_err(|(problem, _)| problem);
    let (from, to) = text.split_once(" to ").ok_or_else(|| {
        format!("expected two values with ` to ` between them, found `{}`", clip(text))
    })?;
    let (from, to) = (read(from)?.number(), read(to)?.number());
    match (from, to) {
        (Some(from), Some(to)) if from <= to => Ok((from, to)),
        _ => Err(format!("`{}` starts after its end", clip(text))),
    }
}

/// Reads a figure in one of the dimensions.
macro_rules! getter {
    ($(#[$doc:meta])* $name:ident, $variant:ident, $type:ty) => {
        $(#[$doc])*
        pub fn $name(&self, figure: &str) -> Option<$type> {
            match self.read(figure)? {
                ParsedFigure::$variant(value) => Some(value),
                _ => None,
            }
        }
    };
}

impl Part {
    /// A figure by its name.
    pub fn figure(&self, name: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.name == name)
    }

    fn read(&self, name: &str) -> Option<ParsedFigure> {
        let def = figures_of(self.kind).iter().find(|def| def.name == name)?;
        def.dimension.read(&self.figure(name)?.value).ok()
    }

    getter!(
        /// A number of things or of I/Os.
        count, Count, u64
    );
    getter!(
        /// A size.
        bytes, Size, Bytes
    );
    getter!(
        /// A time, such as that of one I/O.
        time, Time, Duration
    );
    getter!(
        /// The speed of a port, by its standard where it has one.
        link_rate, Link, LinkRate
    );
    getter!(
        /// Operations a second.
        ops_rate, Iops, Iops
    );
    getter!(
        /// A share.
        share, Share, Percent
    );
    getter!(
        /// Seconds a byte.
        per_byte, PerByte, f64
    );
    getter!(
        /// Turns of a clock a second.
        hertz, Hertz, f64
    );
    getter!(
        /// One of the words that the figure takes.
        word, Word, &'static str
    );
    getter!(
        /// Whether something is so.
        flag, Flag, bool
    );

    /// The value as a number in the base unit of its dimension (seconds, bytes, bytes a second, hertz, shares from 0 to 1,
    /// counts, operations); `None` where the part lacks it, and for words and flags.
    pub fn number(&self, figure: &str) -> Option<f64> {
        self.read(figure)?.number()
    }

    /// What a figure lies between, in the unit of [`Part::number`]; `None` where that is not given.
    pub fn interval(&self, figure: &str) -> Option<(f64, f64)> {
        let def = figures_of(self.kind).iter().find(|def| def.name == figure)?;
        ends(def.dimension, self.figure(figure)?.interval.as_deref()?).ok()
    }

    /// Payload bytes a second, in each direction where there are two: of a data rate, a port's standard or a bus.
    pub fn byte_rate(&self, figure: &str) -> Option<ByteRate> {
        match self.read(figure)? {
            ParsedFigure::Rate(rate) => Some(rate),
            ParsedFigure::Link(rate) => Some(rate.payload()),
            _ => None,
        }
    }
}

impl Lab {
    /// A model of hardware by its name: the scenario's own, or else the catalog's.
    pub fn part(&self, name: &str) -> Option<&Part> {
        let named = |part: &&Part| part.name == name;
        self.parts.iter().find(named).or_else(|| catalog().iter().find(named))
    }
}
