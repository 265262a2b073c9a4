//! What happened during a run, for the time axis: the gravest, and no more than can be read.

use super::{LeftOut, Part};
use record::{Event, Level, Source, SourceId};
use serde::Serialize;
use std::collections::BTreeMap;

/// Events shown at most.
const EVENTS_MAX: usize = 200;
/// Characters of a text at most.
const TEXT_MAX: usize = 300;

/// An event on the time axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mark {
    /// When, in seconds from the beginning of the record's time.
    pub at_s: f64,
    /// In which step, if in one.
    pub step: Option<u32>,
    /// To whom, if to one source.
    pub source: Option<String>,
    /// How much it matters.
    pub severity: EventSeverity,
    /// Its stable word.
    pub code: String,
    /// A sentence, cut off where it is very long.
    pub text: String,
}

/// How much an event matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventSeverity {
    /// Worth knowing.
    Info,
    /// The figures may mean less than they seem.
    Warning,
    /// Something was lost.
    Error,
}

/// The events that are shown, in the order of time.
pub(super) fn marks(
    events: &[Event],
    sources: &BTreeMap<SourceId, &Source>,
    left_out: &mut Vec<LeftOut>,
) -> Vec<Mark> {
    let mut shown: Vec<&Event> = events.iter().collect();
    // Stable, so that of equally grave ones the first are shown.
    shown.sort_by_key(|e| std::cmp::Reverse(e.level));
    if shown.len() > EVENTS_MAX {
        left_out.push(LeftOut::of(
            Part::Timeline,
            format!("The time line shows the {EVENTS_MAX} gravest of {} events.", shown.len()),
        ));
        shown.truncate(EVENTS_MAX);
    }
    shown.sort_by_key(|e| e.at);
    let mark = |e: &&Event| Mark {
        at_s: e.at.as_secs_f64(),
        step: e.step,
        source: e
            .source
            .map(|id| sources.get(&id).map_or(format!("source {}", id.0), |s| s.name.clone())),
        severity: match e.level {
            Level::Info => EventSeverity::Info,
            Level::Warning => EventSeverity::Warning,
            Level::Error => EventSeverity::Error,
        },
        code: cut(&e.code),
        text: cut(&e.text),
    };
    shown.iter().map(mark).collect()
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(TEXT_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clock::Ns;

    fn event(second: u64, level: Level, text: &str) -> Event {
        let (at, code, text) = (Ns::secs(second), "code".into(), text.into());
        Event { at, step: None, source: Some(SourceId(3)), level, code, text }
    }

    #[test]
    fn the_gravest_are_kept_in_the_order_of_time() {
        let mut events: Vec<Event> =
            (0..EVENTS_MAX as u64 + 50).map(|s| event(s, Level::Info, "")).collect();
        events.push(event(1000, Level::Error, "lost"));
        let mut left_out = Vec::new();
        let marks = marks(&events, &BTreeMap::new(), &mut left_out);
        assert_eq!((marks.len(), left_out.len()), (EVENTS_MAX, 1));
        assert_eq!((marks[0].at_s, marks[EVENTS_MAX - 1].text.as_str()), (0.0, "lost"));
        assert_eq!(marks[0].source.as_deref(), Some("source 3"));
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let marks =
            marks(&[event(0, Level::Info, &"ü".repeat(1000))], &BTreeMap::new(), &mut vec![]);
        assert_eq!(marks[0].text.chars().count(), TEXT_MAX + 1);
    }
}
