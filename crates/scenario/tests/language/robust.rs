//! Any text at all: no panic, places within the text, and a bounded answer.

use crate::support::{bad, source};
use proptest::prelude::*;
use scenario::{Diagnostics, load};

const GOOD: [&str; 4] = [
    include_str!("../good/eight-vms.toml"),
    include_str!("../good/files.toml"),
    include_str!("../good/everything.toml"),
    include_str!("../good/san.toml"),
];

/// Loads and, if refused, looks at every place and renders.
fn survive(text: &str, overrides: &[(&str, &str)]) {
    match load(&source(text, overrides)) {
        Ok(scenario) => {
            let steps = scenario.steps();
            let loads = steps.iter().flat_map(|step| &step.loads);
            assert!(loads.into_iter().all(|load| load.workload.spec.problems().is_empty()));
        }
        Err(diagnostics) => inspect(&diagnostics),
    }
}

fn inspect(diagnostics: &Diagnostics) {
    assert!(!diagnostics.is_empty());
    let mut last = None;
    for d in diagnostics {
        let related = d.related.iter().map(|(place, _)| place);
        for place in related.chain([&d.place]) {
            let text = diagnostics.text(place.origin);
            assert!(
                text.get(place.span.clone()).is_some(),
                "{:?} of {} bytes",
                place.span,
                text.len()
            );
            assert!(place.line >= 1 && place.column >= 1);
        }
        let key = (d.place.origin, d.place.span.start);
        assert!(last <= Some(key), "sorted by place");
        last = Some(key);
        assert!(!d.message.chars().any(char::is_control), "{:?}", d.message);
        assert!(d.message.len() < 2000, "{} bytes", d.message.len());
    }
    let rendered = diagnostics.to_string();
    assert!(!rendered.chars().any(|c| c.is_control() && c != '\n'));
}

/// Pieces of the language, whole and broken, to be strung together.
const PIECES: &[&str] = &[
    "[scenario]\n",
    "title = \"t\"\n",
    "[[vm]]\n",
    "[[target]]\n",
    "[workload.w]\n",
    "[plan]\n",
    "[[plan]]\n",
    "[[goal]]\n",
    "[[claim]]\n",
    "name = ",
    "\"vm{1..8}\"\n",
    "\"vm*\"\n",
    "on = ",
    "block = ",
    "\"8KiB\"\n",
    "sweep = { depth = \"1..8\" }\n",
    "measure = \"1s\"\n",
    "workload = \"w\"\n",
    "rows = [{ size = \"4KiB\" }]\n",
    "preset = \"oblload\"\n",
    "[[array]]\nname = \"store\"\n",
    "[[volume]]\nname = \"data\"\narray = \"store\"\n",
    "embedded = { ports = [{ name = \"p{1..2}\", rate = \"4gfc\" }], scale = \"1%\" }\n",
    "disks = [{ lun = \"store/data\", ports = [\"p1\", \"p*\"], policy = \"fixed\" }]\n",
    "faults = [{ at = \"0s\", kill = \"store.*\" }, { at = \"0s\", slow = \"*\", to = \"1 KB/s\" }]\n",
    "sweep = { port = [\"8gfc\", \"1 KB/s\"] }\n",
    "rate = 1e308\n",
    "seed = 0xffffffffffffffff\n",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "'",
    "=",
    ".",
    ",",
    "\n",
    "\r\n",
    "\t",
    "ü",
    "日",
    "\u{0}",
    "\u{feff}",
    "1..2",
    "nan",
    "-1",
    "1979-05-27",
    "#",
];

proptest! {
    #[test]
    fn any_text(text in "\\PC*") {
        survive(&text, &[]);
    }

    #[test]
    fn pieces_of_the_language(chosen in prop::collection::vec(prop::sample::select(PIECES), 0..60)) {
        survive(&chosen.concat(), &[]);
    }

    #[test]
    fn a_good_scenario_with_a_hole(
        which in 0..GOOD.len(),
        from in 0.0..1.0,
        length in 0..40usize,
        piece in prop::sample::select(PIECES),
    ) {
        let mut chars: Vec<char> = GOOD[which].chars().collect();
        let from = (from * chars.len() as f64) as usize;
        let to = (from + length).min(chars.len());
        chars.splice(from..to, piece.chars());
        survive(&chars.into_iter().collect::<String>(), &[]);
    }

    #[test]
    fn any_override(key in "[a-z.\"*{}]{0,20}|(plan|target|workload|vm)\\.[a-z0-9.\"]{0,12}", value in "\\PC{0,20}") {
        survive(GOOD[1], &[(&key, &value)]);
    }
}

/// A file of about a megabyte that is bad or large in one respect.
#[track_caller]
fn large(piece: &str) {
    let count = (1 << 20) / piece.len();
    let text = format!("scenario.title = \"t\"\n{}", piece.repeat(count));
    inspect(&bad(&text));
}

#[test]
fn a_megabyte_of_syntax_errors() {
    large("=\n");
    large("] ");
}

#[test]
fn a_megabyte_of_nesting() {
    large("[");
    large("x = { y = ");
    large("a.");
}

#[test]
fn a_megabyte_of_one_text() {
    large("title = \"");
    let name = "x".repeat(1 << 20);
    inspect(&bad(&format!("[[host]]\nname = \"{name}\"\n")));
    inspect(&bad(&format!("[{name}]\n")));
    inspect(&bad(&format!(
        "[plan]\nmeasure = \"{name}\"\nworkload = \"{name}\"\non = \"{name}*\"\n"
    )));
}

#[test]
fn a_megabyte_of_vms() {
    large("[[vm]]\nname = \"vm{1..9999}\"\nhost = \"esx*\"\ndisks = [{ lun = \"s*/auto\" }]\n");
}

#[test]
fn a_megabyte_of_goals() {
    large("[[goal]]\nstep = { depth = 1 }\nover = \"vm*\"\n");
}

#[test]
fn a_megabyte_of_plans() {
    large("[[plan]]\nworkload = \"w\"\non = \"n*\"\nsweep = { depth = \"1..4096\" }\n");
}

#[test]
fn a_megabyte_of_keys() {
    let keys: String = (0..60_000).map(|n| format!("k{n} = {n}\n")).collect();
    let d = bad(&format!("[scenario]\ntitle = \"t\"\n{keys}"));
    assert_eq!((d.len(), d.omitted()), (500, 59_500));
    inspect(&d);
    let axes: String = (0..40_000).map(|n| format!("w{n}.depth = [1]\n")).collect();
    inspect(&bad(&format!("[plan.sweep]\n{axes}")));
}

#[test]
fn a_megabyte_of_references() {
    let hosts = "[[host]]\nname = \"h{1..100}\"\nadapters = [{ name = \"a{1..90}\" }]\n";
    let zones = "[[zone]]\nname = \"z\"\nmembers = [\"h*\", \"a*\", \"h1.a{1..90}\"]\n".repeat(900);
    inspect(&bad(&format!("scenario.title = \"t\"\n{hosts}{zones}")));
    let vms = format!(
        "[[vm]]\nname = \"v{{1..9000}}\"\ndisks = [{}]\n",
        "{ target = \"t\" },".repeat(900)
    );
    let target = "[[target]]\nname = \"t\"\nurl = \"null:\"\nsize = \"1GiB\"\n";
    inspect(&bad(&format!("scenario.title = \"t\"\n{target}{vms}")));
}

#[test]
fn more_than_a_scenario_can_be() {
    let d = bad(&"#\n".repeat(3 << 20));
    assert_eq!(
        d.iter().next().expect("a mistake").message,
        "the file is larger than 4 MiB: this is not a scenario"
    );
}
