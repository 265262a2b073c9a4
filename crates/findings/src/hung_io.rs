//! Hung I/O: one warning for a run, with the text of the longest hang.
//!
//! An engine reports a hang when it begins, each time its age doubles, and when it ends. The longest chain of such events
//! is therefore the longest hang, and its last event has the duration; no text is parsed.

use crate::warnings::{Severity, Warning};
use record::{Event, SourceId};
use std::collections::BTreeMap;
use units::count;

/// The event of a hang in progress.
pub(crate) const ON: &str = "hang";
/// The event of a hang that is over.
pub(crate) const OVER: &str = "hang-over";

/// Events of one hang: how many there are, and the last.
struct Chain<'a> {
    length: usize,
    last: &'a Event,
}

/// The warning about everything that hung; `None` where nothing did. Events come in the order of time.
pub(crate) fn warning(events: &[Event], is_void: impl Fn(&Event) -> bool) -> Option<Warning> {
    let mut open: BTreeMap<(Option<u32>, Option<SourceId>), Chain<'_>> = BTreeMap::new();
    let mut all: Vec<Chain<'_>> = Vec::new();
    // What hung while Wirespeed itself did not run is no hang of a device.
    for event in events.iter().filter(|event| !is_void(event)) {
        let who = (event.step, event.source);
        match event.code.as_str() {
            ON => {
                let chain = open.entry(who).or_insert(Chain { length: 0, last: event });
                *chain = Chain { length: chain.length + 1, last: event };
            }
            OVER => {
                let length = open.remove(&who).map_or(1, |chain| chain.length + 1);
                all.push(Chain { length, last: event });
            }
            _ => {}
        }
    }
    all.extend(open.into_values());
    // Reversed, so that the first of equals wins.
    let worst = all.iter().rev().max_by_key(|chain| chain.length)?;
    let more = match all.len() {
        1 => String::new(),
        n => format!(" (and {} more of the kind)", count((n - 1) as f64)),
    };
    let mut steps: Vec<u32> = all.iter().filter_map(|chain| chain.last.step).collect();
    steps.sort_unstable();
    steps.dedup();
    Some(Warning {
        code: ON.to_owned(),
        severity: Severity::Warning,
        text: format!("{}{more}", worst.last.text),
        next: "percentiles weigh it as one operation of many; look at `max`, at the kernel log of its host (dmesg) and \
               at the path to the device"
            .to_owned(),
        steps,
    })
}
