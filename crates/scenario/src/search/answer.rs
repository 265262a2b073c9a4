//! What a search found, and why it stopped, as figures and in words.

use super::rule::bracket;
use super::{Aim, Limit, Search, Tried};
use crate::knee::{self, Answer};
use crate::model::{Metric, Value};
use std::time::Duration;
use units::{count, percent, rate};

/// Why a search stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchStop {
    /// The limit holds at one load and not at its neighbour, each by a majority of its runs.
    Bracketed,
    /// The limit still held at the end of the range.
    NeverViolated,
    /// The limit was violated at the first load.
    NeverHeld,
    /// The knee was looked at closely enough.
    Knee,
    /// Up to the end of the range there was no knee to tell.
    NoKnee,
    /// It ran as many steps as it may.
    StepsSpent,
    /// A step's figures are not those of its whole load.
    Incomplete,
}

/// What a search knows.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchAnswer {
    /// Why it stopped; `None` where it has not.
    pub end: Option<SearchStop>,
    /// Every load that was tried, in ascending order.
    pub tried: Vec<Tried>,
    /// The largest load that held, below every load that did not.
    pub lower: Option<Tried>,
    /// The least load that did not hold.
    pub upper: Option<Tried>,
    /// The most work among the loads up to `lower`, or at the knee.
    pub best: Option<Tried>,
    /// What the curve says of its knee; `None` where a limit was searched.
    pub knee: Option<Answer>,
    /// Loads above `upper` that held all the same: the response is not monotone.
    pub irregular: Vec<f64>,
}

impl SearchAnswer {
    /// Whether there is an answer with both its ends.
    pub fn is_bracketed(&self) -> bool {
        matches!(self.end, Some(SearchStop::Bracketed))
            || matches!((self.end, &self.knee), (Some(SearchStop::Knee), Some(Answer::At { .. })))
    }
}

impl Search {
    pub(super) fn found(&self, end: Option<SearchStop>, tried: &[Tried]) -> SearchAnswer {
        let mut found = SearchAnswer {
            end,
            tried: tried.to_vec(),
            lower: None,
            upper: None,
            best: None,
            knee: None,
            irregular: Vec::new(),
        };
        match &self.aim {
            Aim::Knee => {
                let answer = knee::find(&self.points(tried));
                let at = |value: &str| {
                    tried.iter().find(|one| self.range.show(one.load) == value).cloned()
                };
                if let Answer::At { value, earliest, latest, .. } = &answer {
                    (found.lower, found.best, found.upper) = (at(earliest), at(value), at(latest));
                }
                found.knee = Some(answer);
            }
            Aim::Most { .. } => {
                let (lower, upper) = bracket(tried);
                let below = |one: &&Tried| lower.is_some_and(|lower| one.load <= lower.load);
                // Reversed, so that of equals the one with less load is taken.
                let most = tried.iter().filter(below).rev();
                found.best = most.max_by(|a, b| a.mean().total_cmp(&b.mean())).cloned();
                let above = |one: &&Tried| upper.is_some_and(|upper| one.load > upper.load);
                let held = tried.iter().filter(above).filter(|one| one.holds());
                found.irregular = held.map(|one| one.load).collect();
                (found.lower, found.upper) = (lower.cloned(), upper.cloned());
            }
        }
        found
    }

    /// The bracket so far, for those who watch: `holds at 16, not at 32`.
    pub fn progress(&self, found: &SearchAnswer) -> String {
        let show = |one: &Tried| self.range.show(one.load);
        match (&self.aim, &found.lower, &found.upper) {
            (Aim::Most { .. }, Some(lower), Some(upper)) => {
                format!("holds at {}, not at {}", show(lower), show(upper))
            }
            (Aim::Most { .. }, Some(lower), None) => format!("holds at {}", show(lower)),
            (Aim::Most { .. }, None, Some(upper)) => format!("does not hold at {}", show(upper)),
            (Aim::Knee, Some(lower), Some(upper)) if lower.load < upper.load => {
                format!("between {} and {}", show(lower), show(upper))
            }
            (Aim::Knee, Some(lower), _) => format!("near {}", show(lower)),
            _ => String::new(),
        }
    }

    /// The answer as a sentence with its figures, or why there is none.
    pub fn answer(&self, found: &SearchAnswer) -> String {
        match &self.aim {
            Aim::Knee => self.knee_answer(found),
            Aim::Most { metric, limits } => self.most_answer(*metric, limits, found),
        }
    }

    fn most_answer(&self, metric: Metric, limits: &[Limit], found: &SearchAnswer) -> String {
        let question = capital(&self.question());
        let told = |one: &Tried| self.told(one, limits);
        let Some(lower) = &found.lower else {
            return match &found.upper {
                Some(upper) => {
                    format!("{question}: none; already {} {}", self.at(upper), told(upper))
                }
                None => format!("{question}: nothing was measured"),
            };
        };
        let best = found.best.as_ref().unwrap_or(lower);
        let figure = show_work(&metric, best.mean());
        let mut text = format!("{question}: {figure} {} ({})", self.at(best), told(best));
        if best.load < lower.load {
            let figure = show_work(&metric, lower.mean());
            text += &format!(
                "; the limit holds up to {} ({figure}, {})",
                self.range.show(lower.load),
                told(lower)
            );
        }
        match &found.upper {
            Some(upper) => text += &format!("; not {} ({})", self.at(upper), told(upper)),
            None if found.end == Some(SearchStop::NeverViolated) => {
                text += &format!("; never violated up to {}", self.range.show(lower.load));
            }
            None => text += "; not yet violated",
        }
        if !found.irregular.is_empty() {
            let loads: Vec<String> = found.irregular.iter().map(|l| self.range.show(*l)).collect();
            text +=
                &format!("; it held again at {}: the response is not monotone", loads.join(", "));
        }
        text
    }

    fn knee_answer(&self, found: &SearchAnswer) -> String {
        let metric = self.metric();
        match (&found.knee, &found.best) {
            (Some(Answer::At { value, earliest, latest, share_of_peak, .. }), Some(best)) => {
                let between = match earliest == latest {
                    true => String::new(),
                    false => format!(" (within error, {earliest} to {latest})"),
                };
                let share = percent((share_of_peak * 1000.0).round() / 10.0);
                let figure = show_work(&metric, best.mean());
                let runs = runs(best);
                format!(
                    "Knee over {}: {value}{between}, {figure} in {runs}, {share} of the peak",
                    self.key
                )
            }
            (Some(Answer::Flat { .. }), _) => {
                let first = self.range.show(self.range.from);
                format!(
                    "Knee over {}: none; the first load, {first}, already reached the peak",
                    self.key
                )
            }
            (Some(Answer::StillScaling { .. }), _) => {
                let last = found.tried.last().map_or(self.range.to, |one| one.load);
                let last = self.range.show(last);
                format!(
                    "Knee over {}: none up to {last}, where work still grew with the load",
                    self.key
                )
            }
            (Some(Answer::Undecided { reason }), _) => {
                format!("Knee over {} undecided: {reason}", self.key)
            }
            _ => format!("Knee over {}: nothing was measured", self.key),
        }
    }

    /// Why the search stopped, as a sentence without its point.
    pub fn reason(&self, found: &SearchAnswer) -> String {
        let end = match found.end {
            None => return "it did not finish".to_owned(),
            Some(end) => end,
        };
        let show = |one: &Option<Tried>| {
            one.as_ref().map_or_else(|| "-".to_owned(), |one| self.range.show(one.load))
        };
        match end {
            SearchStop::Bracketed => {
                let (lower, upper) = (show(&found.lower), show(&found.upper));
                let next = match (&found.lower, &found.upper) {
                    (Some(l), Some(u)) if self.range.between(l.load, u.load, 0.0).is_none() => {
                        "no load lies between them".to_owned()
                    }
                    _ => format!("they are within {}", percent(self.within.0)),
                };
                format!("it holds at {lower} and not at {upper}, and {next}")
            }
            SearchStop::NeverViolated => {
                let to = self.range.show(self.range.to);
                format!("the limit still held at {to}, the end of the search; increase `to`")
            }
            SearchStop::NeverHeld => {
                let from = self.range.show(self.range.from);
                format!(
                    "the limit did not hold at {from}, the first load; lower `from`, or the limit is out of reach"
                )
            }
            SearchStop::Knee => "no closer loads around the knee differ".to_owned(),
            SearchStop::NoKnee => {
                let to = self.range.show(self.range.to);
                format!("the search reached its end, {to}; increase `to`")
            }
            SearchStop::StepsSpent => {
                format!("it used all of its {} steps; increase `steps`", self.steps)
            }
            SearchStop::Incomplete => {
                "the figures of a step do not cover its whole load".to_owned()
            }
        }
    }

    fn at(&self, one: &Tried) -> String {
        format!("at {} {}", self.key, self.range.show(one.load))
    }

    /// The readings of a load, its limits' names before them: `p99 4.7 to 4.9 ms in 3 runs`.
    fn told(&self, one: &Tried, limits: &[Limit]) -> String {
        let mut parts: Vec<String> = Vec::new();
        for (limit, reading) in limits.iter().zip(&one.readings) {
            let shown = |value: f64| show_reading(&limit.metric, value);
            parts.push(match reading {
                Some((low, high)) if shown(*low) == shown(*high) => {
                    format!("{} {}", limit.name(), shown(*low))
                }
                Some((low, high)) => {
                    format!("{} {} to {}", limit.name(), shown(*low), shown(*high))
                }
                None => format!("no {}", limit.name()),
            });
        }
        if !one.alive {
            parts.push("nothing completed".to_owned());
        } else if !one.is_carried {
            let share = percent((one.carried * 1000.0).round() / 10.0);
            parts.push(format!("{share} of the load was carried"));
        }
        let verdict = match (one.held, one.runs()) {
            (_, 1) => "in 1 run".to_owned(),
            (held, all) if held == all || held == 0 => format!("in {all} runs"),
            (held, all) => format!("held in {held} of {all} runs"),
        };
        format!("{} {verdict}", parts.join(", "))
    }
}

fn runs(one: &Tried) -> String {
    match one.runs() {
        1 => "1 run".to_owned(),
        n => format!("{n} runs"),
    }
}

fn show_work(metric: &Metric, value: f64) -> String {
    match metric {
        Metric::Iops => format!("{} IOPS", count(value.round())),
        _ => rate(value),
    }
}

fn show_reading(metric: &Metric, value: f64) -> String {
    match metric {
        Metric::Latency { .. } => {
            Value::Time(Duration::from_nanos(value.round() as u64)).to_string()
        }
        Metric::Errors => count(value),
        Metric::Cpu | Metric::Imbalance => units::percent(value),
        other => show_work(other, value),
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
