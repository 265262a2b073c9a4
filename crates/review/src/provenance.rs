//! Where the figures of a record come from, in a word: measured, emulated, simulated or estimated.

use findings::RunSummary;
use scenario::Scenario;

/// The word for the head of a page.
pub(crate) fn word(run: &RunSummary, scenario: Option<&Scenario>) -> &'static str {
    let embedded = scenario.is_some_and(|s| {
        s.lab.arrays.iter().any(|array| array.embedded.is_some())
            || s.lab.receivers.iter().any(|r| r.place == scenario::ReceiverPlace::Embedded)
    });
    match () {
        () if run.estimated => "estimated",
        () if run.simulated => "simulated",
        () if embedded => "measured, emulated",
        () => "measured",
    }
}
