//! The rule: from what was seen to the next load, or to the end.

use super::{Aim, Search, SearchAnswer, SearchStop, Seen, Tried};
use crate::knee::{self, Answer, Candidates, Point};

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub enum SearchNext {
    /// To run a step.
    Run {
        /// With this load.
        load: f64,
        /// Which run of it, from 0.
        repetition: u32,
        /// Why.
        why: Why,
    },
    /// Nothing: the search is over.
    Stop(Box<SearchAnswer>),
}

/// Why a load is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Nothing is bracketed yet: the load grows.
    Grow,
    /// It lies in the middle of the bracket.
    Narrow,
    /// It decides, and was not run often enough.
    Repeat,
}

impl Search {
    /// What to do after these steps, in the order in which they ran. It answers for any steps, also foreign ones.
    pub fn next(&self, seen: &[Seen]) -> SearchNext {
        let tried = Tried::all(seen);
        if seen.iter().any(|one| !one.complete) {
            return self.stop(SearchStop::Incomplete, &tried);
        }
        let step = match &self.aim {
            Aim::Most { .. } => self.within_limits(&tried),
            Aim::Knee => self.to_the_knee(&tried),
        };
        match step {
            Ok(_) if seen.len() >= self.steps as usize => self.stop(SearchStop::StepsSpent, &tried),
            Ok((load, why)) => {
                let known = tried.iter().find(|one| one.load == load);
                SearchNext::Run { load, repetition: known.map_or(0, Tried::runs), why }
            }
            Err(end) => self.stop(end, &tried),
        }
    }

    fn stop(&self, end: SearchStop, tried: &[Tried]) -> SearchNext {
        SearchNext::Stop(Box::new(self.found(Some(end), tried)))
    }

    /// What is known after these steps, whether or not the search is over.
    pub fn so_far(&self, seen: &[Seen]) -> SearchAnswer {
        match self.next(seen) {
            SearchNext::Stop(found) => *found,
            SearchNext::Run { .. } => self.found(None, &Tried::all(seen)),
        }
    }

    /// The least load that violates the limit, and the largest below it that keeps it: the bracket that is narrowed.
    fn within_limits(&self, tried: &[Tried]) -> Result<(f64, Why), SearchStop> {
        let (lower, upper) = bracket(tried);
        let again = |one: &Tried| Ok((one.load, Why::Repeat));
        match (lower, upper) {
            (None, None) => Ok((self.range.from, Why::Grow)),
            (None, Some(first)) if !first.is_settled(self.repeats) => again(first),
            (None, Some(_)) => Err(SearchStop::NeverHeld),
            (Some(last), None) if last.load < self.range.to => {
                Ok((self.range.grown(last.load), Why::Grow))
            }
            (Some(last), None) if !last.is_settled(self.repeats) => again(last),
            (Some(_), None) => Err(SearchStop::NeverViolated),
            (Some(lower), Some(upper)) => {
                match self.range.between(lower.load, upper.load, self.within.fraction()) {
                    Some(load) => Ok((load, Why::Narrow)),
                    None if !upper.is_settled(self.repeats) => again(upper),
                    None if !lower.is_settled(self.repeats) => again(lower),
                    None => Err(SearchStop::Bracketed),
                }
            }
        }
    }

    /// Grows until the rule of the knee finds one that is not the last point, then looks closer around it.
    fn to_the_knee(&self, tried: &[Tried]) -> Result<(f64, Why), SearchStop> {
        let Some(last) = tried.last() else { return Ok((self.range.from, Why::Grow)) };
        let points = self.points(tried);
        let turned = matches!(knee::find(&points), Answer::At { .. } | Answer::Flat { .. });
        if !turned && last.load < self.range.to {
            return Ok((self.range.grown(last.load), Why::Grow));
        }
        let near = match Candidates::of(&points) {
            Some(near) if turned => near,
            _ => return Err(SearchStop::NoKnee),
        };
        if let Some(load) = self.around(&points, near) {
            return Ok((load, Why::Narrow));
        }
        // What the answer rests on: the best, its neighbours, and whatever could be the knee as well.
        let from = near.earliest.min(near.best.saturating_sub(1));
        let to = near.latest.max(near.best + 1).min(points.len().saturating_sub(1));
        let again = points[from..=to].iter().find(|p| p.work.len() < self.repeats as usize);
        match again {
            Some(point) => Ok((point.load, Why::Repeat)),
            None => Err(SearchStop::Knee),
        }
    }

    /// A load between the best point and a neighbour that differs from it. Where the two are equal within their error,
    /// a third between them would be as well.
    fn around(&self, points: &[Point], near: Candidates) -> Option<f64> {
        let within = self.within.fraction();
        let best = points.get(near.best)?.load;
        let below = near.best.checked_sub(1).filter(|n| *n < near.earliest);
        let above = Some(near.best + 1).filter(|n| *n > near.latest);
        let below = below
            .and_then(|n| points.get(n))
            .and_then(|point| self.range.between(point.load, best, within));
        below.or_else(|| {
            let point = above.and_then(|n| points.get(n))?;
            self.range.between(best, point.load, within)
        })
    }

    /// The loads at which something was done, as points of a curve.
    pub(super) fn points(&self, tried: &[Tried]) -> Vec<Point> {
        tried.iter().filter_map(|one| one.point(self.range.show(one.load))).collect()
    }
}

/// The largest load that held below the least that did not, and that one.
pub(super) fn bracket(tried: &[Tried]) -> (Option<&Tried>, Option<&Tried>) {
    let first = tried.iter().position(|one| !one.holds());
    let upper = first.and_then(|n| tried.get(n));
    let lower = tried[..first.unwrap_or(tried.len())].last();
    (lower, upper)
}
