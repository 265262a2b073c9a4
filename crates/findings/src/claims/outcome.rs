//! How claims came out, as reviews and programs read it.

use crate::quantity::Quantity;
use scenario::{ClaimKind, Form};
use serde::Serialize;

/// How a claim came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Score {
    /// It came back under every reading.
    Met,
    /// It did not under any.
    Missed,
    /// Readings differ, or something is missing.
    Undecided,
    /// A figure that set a parameter, or that a fitted or unfounded parameter decides: it proves nothing.
    Calibration,
    /// Said, but not testable.
    Context,
}

/// What a claim is used for, as the scenario says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ClaimUse {
    /// It set a parameter.
    Calibration,
    /// It was not given to the model: the test.
    HeldOut,
    /// Said, but not testable.
    Context,
    /// A number that the source does not state.
    Inferred,
}

impl From<ClaimKind> for ClaimUse {
    fn from(kind: ClaimKind) -> ClaimUse {
        match kind {
            ClaimKind::Calibration => ClaimUse::Calibration,
            ClaimKind::HeldOut => ClaimUse::HeldOut,
            ClaimKind::Context => ClaimUse::Context,
            ClaimKind::Inferred => ClaimUse::Inferred,
        }
    }
}

/// A claim with both figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClaimOutcome {
    /// As the scenario shows it.
    pub name: String,
    /// How it came out.
    pub score: Score,
    /// What the scenario says that it proves.
    pub kind: ClaimUse,
    /// How the source qualified the figure.
    pub relation: &'static str,
    /// What is compared: `read`, `IOPS`, `mean service time`.
    pub metric: String,
    /// What this record shows, in the step that is furthest from the claim; `None` of a shape.
    pub ours: Option<Quantity>,
    /// The interval of confidence of `ours`, where the record has one.
    pub interval: Option<(Quantity, Quantity)>,
    /// That step.
    pub step: Option<String>,
    /// The VM or target, where the claim is about each.
    pub member: Option<String>,
    /// The published figure under every reading; none of a shape.
    pub readings: Vec<ReadingOutcome>,
    /// Of the limit of a wire, how it stands under the reading that the physics of frames supports.
    pub frames: Option<Frames>,
    /// Of a shape, its points.
    pub shape: Option<ShapeOutcome>,
    /// The name of the claim from which this one follows by arithmetic.
    pub twin_of: Option<String>,
    /// What the source leaves open, or why honest parameters may miss it.
    pub note: Option<String>,
    /// Why a claim that was held out is a calibration in this record all the same: a fact of the record says so.
    pub because: Option<String>,
    /// Where it was published, when not the scenario's source.
    pub source: Option<String>,
    /// Why it is undecided; empty otherwise.
    pub reason: String,
}

/// A claim under one reading.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReadingOutcome {
    /// The published figure.
    pub published: Quantity,
    /// (ours − published) / published, in percent; `None` where there is nothing to compare.
    pub error_percent: Option<f64>,
    /// The allowance for rounding, in percent.
    pub allowance_percent: f64,
    /// Whether ours agrees, in every step that is selected.
    pub agrees: Option<bool>,
}

/// The limit of a wire under the reading that frames, their overhead and their gaps support.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Frames {
    /// The reading.
    pub reading: Quantity,
    /// (ours − reading) / reading, in percent, in the step that is furthest from it; `None` where nothing was measured.
    pub error_percent: Option<f64>,
    /// Whether that is within 2%, on either side and whatever the claim's relation; `None` where nothing was measured.
    pub within: Option<bool>,
}

/// A published shape beside the curve of this record.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShapeOutcome {
    /// The axis; `None` where steps are named one by one.
    pub along: Option<String>,
    /// `linear`, `constant`, `rising` or `falling`.
    pub is: &'static str,
    /// How far a point may be from it, in percent.
    pub within_percent: f64,
    /// The deviation of the point furthest on the wrong side, in percent; `None` where none is known.
    pub furthest_percent: Option<f64>,
    /// The points in the order of their places.
    pub points: Vec<PointOutcome>,
}

/// A point of a curve.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PointOutcome {
    /// Its place. Sizes are in bytes, speeds in bytes a second, shares in percent.
    pub at: f64,
    /// The place as the scenario writes it.
    pub label: String,
    /// What this record shows there.
    pub value: Option<Quantity>,
    /// Its interval of confidence, where the record has one.
    pub interval: Option<(Quantity, Quantity)>,
    /// What the shape would have there: on the line through the first point, or what the point before has.
    pub expected: Option<Quantity>,
    /// (value − expected) / expected, in percent; `None` at the first point.
    pub deviation_percent: Option<f64>,
    /// Whether it is where the shape would have it; `None` at the first point.
    pub agrees: Option<bool>,
}

/// How many claims came out how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClaimSummary {
    /// Held out, and met.
    pub met: usize,
    /// Held out, and missed.
    pub missed: usize,
    /// Held out, and undecided.
    pub undecided: usize,
    /// Of those that are met, missed or undecided, twins of others: they are no evidence of their own.
    pub twins: usize,
    /// Calibrations: what the scenario says to be one, and what a fact of the record makes one.
    pub calibration: usize,
    /// Context.
    pub context: usize,
    /// Limits of wires of which the physics of frames supports a reading, but for calibrations and context.
    pub frames: usize,
    /// Those of them that are within 2% of it.
    pub frames_within: usize,
}

impl ClaimSummary {
    /// Counts outcomes.
    pub fn of<'a>(claims: impl IntoIterator<Item = &'a ClaimOutcome>) -> ClaimSummary {
        let mut all = ClaimSummary::default();
        for claim in claims {
            match claim.score {
                Score::Met => all.met += 1,
                Score::Missed => all.missed += 1,
                Score::Undecided => all.undecided += 1,
                Score::Calibration => all.calibration += 1,
                Score::Context => all.context += 1,
            }
            if matches!(claim.score, Score::Calibration | Score::Context) {
                continue;
            }
            all.twins += usize::from(claim.twin_of.is_some());
            if let Some(frames) = claim.frames {
                all.frames += 1;
                all.frames_within += usize::from(frames.within == Some(true));
            }
        }
        all
    }

    /// Claims of every kind.
    pub fn all(&self) -> usize {
        self.held_out() + self.calibration + self.context
    }

    /// Claims that are held out.
    pub fn held_out(&self) -> usize {
        self.met + self.missed + self.undecided
    }
}

/// The form of a shape, as it is shown.
pub(super) fn form(form: Form) -> &'static str {
    match form {
        Form::Linear => "linear",
        Form::Constant => "constant",
        Form::Rising => "rising",
        Form::Falling => "falling",
    }
}
