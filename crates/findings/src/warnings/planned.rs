//! What a plan's own faults bring about is no reason to trust figures less: the loss of a path while a part was away.

use clock::Ns;
use record::Event;

/// Events of faults that may cost a path, and of those that end one.
const BEGIN: [&str; 7] = [
    "fault-kill",
    "incident-fail",
    "incident-slow",
    "incident-lose",
    "incident-mismatch",
    "incident-stall",
    "incident-move",
];
const END: [&str; 2] = ["fault-revive", "incident-restore"];
/// For how long what a fault brought about may become known after it has ended; of a move, after it was made.
const KNOWN: Ns = Ns::secs(5);

/// Whether an event came while a planned fault of its step lasted, or just after it.
pub(super) fn brought(event: &Event, all: &[Event]) -> bool {
    let of_step = || all.iter().filter(|other| other.step == event.step && event.step.is_some());
    let mut began =
        of_step().filter(|other| other.at <= event.at && BEGIN.contains(&other.code.as_str()));
    began.any(|fault| {
        let same = |end: &&Event| {
            END.contains(&end.code.as_str()) && end.at >= fault.at && part(end) == part(fault)
        };
        let end = match fault.code.as_str() {
            "incident-move" => Some(fault.at),
            _ => of_step().filter(same).map(|end| end.at).min(),
        };
        end.is_none_or(|end| event.at <= end.plus(KNOWN))
    })
}

/// The part that an event of a fault begins with.
fn part(event: &Event) -> Option<&str> {
    event.text.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Level;

    fn event(seconds: u64, code: &str, text: &str) -> Event {
        Event {
            at: Ns::secs(seconds),
            level: Level::Warning,
            code: code.to_owned(),
            text: text.to_owned(),
            step: Some(0),
            source: None,
        }
    }

    #[track_caller]
    fn check(seconds: u64, expected: bool) {
        let all = [
            event(10, "incident-fail", "up failed: its cables carry nothing"),
            event(15, "incident-restore", "down works again"),
            event(20, "incident-restore", "up works again"),
            event(40, "incident-move", "vm1 moved to esx2"),
        ];
        assert_eq!(brought(&event(seconds, "path-lost", "p1: lost"), &all), expected, "{seconds}");
    }

    #[test]
    fn a_path_is_lost_by_plan_while_a_part_is_away() {
        check(9, false);
        check(10, true);
        // What ended then was another part.
        check(19, true);
        check(25, true);
        check(26, false);
        check(41, true);
        check(46, false);
        let other_step = Event { step: Some(1), ..event(11, "path-lost", "p1: lost") };
        assert!(!brought(&other_step, &[event(10, "incident-fail", "up failed")]));
    }
}
