//! Two runs in turns.

use crate::script::{At, Script, scenario, sweep};
use campaign::{COMPARISON_ENDED, Campaign, SIDES, pair, take_turns};
use record::Status;
use scenario::Stage;
use std::cell::RefCell;
use std::rc::Rc;

/// How both sides ended.
type Ended = Result<[Status; 2], (usize, String)>;

/// The turns of two sides over these stages, in their order, with how both ended.
fn turns(stages: [&[Stage]; 2], sides: [Script; 2]) -> (Vec<String>, Ended, [Script; 2]) {
    let list = Rc::new(RefCell::new(Vec::new()));
    let [a, b] = sides;
    let a = Script { turns: Some((SIDES[0], Rc::clone(&list))), ..a };
    let b = Script { turns: Some((SIDES[1], Rc::clone(&list))), ..b };
    let paired = pair(stages).expect("pairs");
    let campaigns = [Campaign::new(a.clone(), stages[0]), Campaign::new(b.clone(), stages[1])];
    let ended = take_turns(campaigns, stages, &paired);
    let order = list.borrow().clone();
    (order, ended, [a, b])
}

fn note(side: &Script) -> Vec<String> {
    let log = side.log.borrow();
    log.events.iter().map(|event| format!("{}: {}", event.code, event.text)).collect()
}

#[test]
fn the_order_changes_from_round_to_round() {
    // The other side has the same steps in another order.
    let (a, b) = (sweep(&[1, 2], 3), sweep(&[2, 1], 3));
    let (order, ended, _) = turns([&a, &b], [Script::default(), Script::default()]);
    let expected = [
        "A 1#0", "B 1#0", "A 2#0", "B 2#0", "B 1#1", "A 1#1", "B 2#1", "A 2#1", "A 1#2", "B 1#2",
        "A 2#2", "B 2#2",
    ];
    assert_eq!(order, expected);
    assert_eq!(ended, Ok([Status::Complete; 2]));
}

#[test]
fn the_other_side_stops_with_the_one_that_cannot_go_on() {
    let stages = sweep(&[1, 2], 2);
    let side = |at| [Script::default(), Script::at(at)];
    let (order, ended, [a, b]) = turns([&stages, &stages], side(At::Fails(1)));
    assert_eq!((order.len(), ended), (4, Ok([Status::Stopped, Status::Failed])));
    assert_eq!(note(&a), [format!("{COMPARISON_ENDED}: side B failed")]);
    assert!(note(&b).is_empty());
    let (order, ended, [a, b]) = turns([&stages, &stages], side(At::Stops(1)));
    assert_eq!((order.len(), ended), (4, Ok([Status::Stopped; 2])));
    assert!(note(&a).is_empty() && note(&b).is_empty(), "the user ended both");
    let (_, ended, sides) = turns([&stages, &stages], side(At::Breaks(1)));
    assert_eq!(ended, Err((1, "no space left".to_owned())));
    let statuses = sides.each_ref().map(|side| side.log.borrow().status);
    assert_eq!(statuses, [Some(Status::Stopped), Some(Status::Failed)]);
    let text = format!("{COMPARISON_ENDED}: the comparison ended with side B: no space left");
    assert_eq!(sides.each_ref().map(note), [vec![text.clone()], vec![text]]);
    let full = [Script { no_notes: true, ..Script::default() }, Script::at(At::Fails(0))];
    let (_, ended, _) = turns([&stages, &stages], full);
    assert_eq!(ended, Err((0, "no space for notes".to_owned())), "what the other is to note");
}

#[test]
fn steps_that_do_not_pair_are_named() {
    let (a, b) = (sweep(&[1, 2, 4], 2), sweep(&[2, 3], 2));
    let unpaired = pair([&a, &b]).expect_err("they differ");
    let names = unpaired.only.map(|only| only.iter().map(|step| step.name()).collect::<Vec<_>>());
    assert_eq!(names, [vec!["depth=1", "depth=4"], vec!["depth=3"]]);
    let search = scenario("search = { over = \"depth\", to = 4 }").stages();
    assert_eq!(pair([&search, &search]), Ok(Vec::new()), "its steps are not known");
}
