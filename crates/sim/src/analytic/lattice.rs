//! Population vectors, ordered so that each comes after those it is built from.

use super::{AnalyticError, Population};

/// Greatest number of population vectors of an exact solution.
const STATES_MAX: u64 = 1 << 20;

/// All vectors from zero to the whole population. A vector's number is the sum of its entries times the strides.
#[derive(Clone, Debug)]
pub struct Lattice {
    sides: Vec<u32>,
    strides: Vec<usize>,
    states: usize,
}

impl Lattice {
    /// The vectors up to and including the whole population.
    pub fn new(classes: &[Population]) -> Result<Lattice, AnalyticError> {
        let sides: Vec<u32> = classes.iter().map(|class| class.customers).collect();
        let factors = sides.iter().map(|side| u64::from(*side) + 1);
        let states = factors.fold(1u64, u64::saturating_mul);
        if states > STATES_MAX {
            return Err(AnalyticError::TooLarge { states, most: STATES_MAX });
        }
        let mut stride = 1;
        let strides = sides.iter().map(|side| {
            let of = stride;
            stride *= *side as usize + 1;
            of
        });
        Ok(Lattice { strides: strides.collect(), sides, states: states as usize })
    }

    /// Number of vectors; the last is the whole population.
    pub fn states(&self) -> usize {
        self.states
    }

    /// The entry of class `class` in vector `state`.
    pub fn of(&self, state: usize, class: usize) -> u32 {
        (state / self.strides[class] % (self.sides[class] as usize + 1)) as u32
    }

    /// The customers in vector `state`, over all classes.
    pub fn total(&self, state: usize) -> u32 {
        (0..self.sides.len()).map(|class| self.of(state, class)).sum()
    }

    /// The vector with one customer of `class` less, if there is one.
    pub fn without(&self, state: usize, class: usize) -> Option<usize> {
        (self.of(state, class) > 0).then(|| state - self.strides[class])
    }

    /// Whether no entry of `part` exceeds that of `whole`; then their difference is the difference of their numbers.
    pub fn within(&self, part: usize, whole: usize) -> bool {
        (0..self.sides.len()).all(|class| self.of(part, class) <= self.of(whole, class))
    }
}
