//! Published results: figures, ratios and shapes that a record is compared with.
//!
//! A claim says what its source says and what it proves; findings judge how it came out.

use crate::model::{Metric, Scope, Value};

/// `[[claim]]`: a published result.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// As it is shown; no two claims of a scenario have the same.
    pub name: String,
    /// Which steps.
    pub step: Vec<(String, String)>,
    /// Where.
    pub scope: Scope,
    /// What.
    pub metric: Metric,
    /// Where the figure is a ratio ([`Value::Times`]): what differs in the step that it is held against, `plan` among it;
    /// whatever else was settled is the same. Empty where the figure is the metric itself, or of a ratio within a step.
    pub to: Vec<(String, String)>,
    /// The hop of the step that a ratio is held against, where that is not the claim's own.
    pub to_hop: Option<String>,
    /// The shape of a curve, of which no figures were published: then there are no readings.
    pub shape: Option<Shape>,
    /// How the source qualified the figure.
    pub relation: Relation,
    /// The figure under every reading that the source allows; at least one, but for a shape.
    pub readings: Vec<Value>,
    /// Of the limit of a wire, the reading that the physics of frames supports.
    pub frames: Option<Value>,
    /// What it proves.
    pub kind: ClaimKind,
    /// The name of another claim from which this one follows by arithmetic.
    pub twin_of: Option<String>,
    /// What the source leaves open, or why honest parameters may miss it.
    pub note: Option<String>,
    /// Where it was published, when not the scenario's source.
    pub source: Option<String>,
}

impl Claim {
    /// Whether it says how many times as much as elsewhere.
    pub fn is_ratio(&self) -> bool {
        !self.to.is_empty() || self.to_hop.is_some()
    }

    /// The hops that it names: its own, that of the other side of a ratio, and those of the points of a shape.
    pub fn hops(&self) -> impl Iterator<Item = &str> {
        let own = match &self.scope {
            Scope::Hop(hop) => Some(hop),
            _ => None,
        };
        let points = self.shape.iter().flat_map(|shape| &shape.points);
        let elsewhere = points.filter_map(|point| point.hop.as_ref());
        own.into_iter().chain(&self.to_hop).chain(elsewhere).map(String::as_str)
    }
}

/// What a curve looks like.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// The axis of the sweep that it goes along; `None` where its steps are named one by one.
    pub along: Option<String>,
    /// At least two, no two at one place, in the order of their places.
    pub points: Vec<ShapePoint>,
    /// What it is.
    pub is: Form,
    /// How far a point may be from it, in percent.
    pub within: f64,
}

/// A step of a curve and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct ShapePoint {
    /// Its place. Sizes are in bytes, speeds in bytes a second, shares in percent.
    pub at: f64,
    /// The place as the scenario writes it.
    pub label: String,
    /// What the step has besides what the claim asks for.
    pub step: Vec<(String, String)>,
    /// Its hop, where that is not the claim's own.
    pub hop: Option<String>,
}

/// The form of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// In proportion to the place.
    Linear,
    /// The same everywhere.
    Constant,
    /// More from point to point.
    Rising,
    /// Less from point to point.
    Falling,
}

/// How a source qualified a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Exactly, within its rounding.
    Equal,
    /// "About": within 5% at one significant figure.
    About,
    /// "Over".
    Over,
    /// "Just over": above, and by no more than 5%.
    JustOver,
    /// "Up to".
    UpTo,
}

/// What a claim proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimKind {
    /// Used to set a parameter: proves nothing when it comes back.
    Calibration,
    /// Not given to the model: the test.
    HeldOut,
    /// Said, but not testable.
    Context,
    /// A number that the source does not state: a reading of its words.
    Inferred,
}
