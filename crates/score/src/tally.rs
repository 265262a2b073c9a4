//! Claims counted by what they prove, and the skill of the model over the baseline.

use crate::evidence::Evidence;
use crate::scored::ScoredClaim;
use findings::Score;
use serde::Serialize;

/// Below this, as a logarithm, a figure is as published: no source has more digits.
const EXACT: f64 = 1e-4;

/// The claims of a scenario, or of several, by what they prove.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct EvidenceTally {
    /// Discriminating: met, missed, undecided.
    pub discriminating: [usize; 3],
    /// By construction or symmetry: met or undecided.
    pub by_construction: usize,
    /// One-sided, and every rival is on the same side.
    pub one_sided: usize,
    /// Twins of others.
    pub twins: usize,
    /// Moved by more than 5% within the plausible range of an unpublished parameter.
    pub assumptions: usize,
    /// Calibration.
    pub calibration: usize,
    /// Not stated by the source.
    pub inferred: usize,
    /// Context.
    pub context: usize,
    /// Limits of wires of which the physics of frames supports a reading in the source's unit, and those within 2%.
    pub frames: [usize; 2],
    /// How the model compares with the baseline.
    pub skill: Skill,
}

/// How far a model and the baseline are from published figures, over the quantitative claims that set no parameter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Skill {
    /// Claims of which both have a figure.
    pub claims: usize,
    /// Those of which the model is nearer.
    pub nearer: usize,
    /// Those of which the baseline is nearer.
    pub farther: usize,
    /// The sum of the model's errors, as logarithms.
    pub ours: f64,
    /// That of the baseline's.
    pub baseline: f64,
}

impl EvidenceTally {
    /// Counts claims.
    pub fn of<'a>(claims: impl IntoIterator<Item = &'a ScoredClaim>) -> EvidenceTally {
        let mut all = EvidenceTally::default();
        for claim in claims {
            all.count(claim);
        }
        all
    }

    fn count(&mut self, claim: &ScoredClaim) {
        let place = match claim.evidence {
            Evidence::Discriminating => match claim.verdict {
                Score::Met => &mut self.discriminating[0],
                Score::Missed => &mut self.discriminating[1],
                _ => &mut self.discriminating[2],
            },
            Evidence::ByConstruction => &mut self.by_construction,
            Evidence::OneSided => &mut self.one_sided,
            Evidence::Twin => &mut self.twins,
            Evidence::Assumption => &mut self.assumptions,
            Evidence::Calibration => &mut self.calibration,
            Evidence::Inferred => &mut self.inferred,
            Evidence::Context => &mut self.context,
        };
        *place += 1;
        let tested = !matches!(
            claim.evidence,
            Evidence::Twin | Evidence::Calibration | Evidence::Inferred | Evidence::Context
        );
        if let (true, Some((ours, baseline))) = (tested, claim.errors) {
            self.skill.claims += 1;
            self.skill.nearer += usize::from(ours + EXACT < baseline);
            self.skill.farther += usize::from(baseline + EXACT < ours);
            self.skill.ours += ours;
            self.skill.baseline += baseline;
        }
        if let (true, Some((.., within))) = (tested, &claim.frames) {
            self.frames[0] += 1;
            self.frames[1] += usize::from(*within);
        }
    }

    /// Adds those of another scenario.
    pub fn add(&mut self, other: &EvidenceTally) {
        for (mine, theirs) in self.discriminating.iter_mut().zip(other.discriminating) {
            *mine += theirs;
        }
        self.by_construction += other.by_construction;
        self.one_sided += other.one_sided;
        self.twins += other.twins;
        self.assumptions += other.assumptions;
        self.calibration += other.calibration;
        self.inferred += other.inferred;
        self.context += other.context;
        self.frames[0] += other.frames[0];
        self.frames[1] += other.frames[1];
        self.skill.claims += other.skill.claims;
        self.skill.nearer += other.skill.nearer;
        self.skill.farther += other.skill.farther;
        self.skill.ours += other.skill.ours;
        self.skill.baseline += other.skill.baseline;
    }

    /// Discriminating claims, however they came out.
    pub fn testing(&self) -> usize {
        self.discriminating.iter().sum()
    }
}

impl Skill {
    /// 1 − the model's error over the baseline's: 1 where the model is exact, 0 where it is as far off, negative where it is
    /// farther. `None` where the baseline has no error.
    pub fn score(&self) -> Option<f64> {
        (self.baseline > EXACT).then(|| 1.0 - self.ours / self.baseline)
    }
}

/// The skill of a single claim.
pub fn skill_of(errors: (f64, f64)) -> Option<f64> {
    (errors.1 > EXACT).then(|| 1.0 - errors.0 / errors.1)
}
