//! Catalogs of the user: what a scenario takes from them and keeps with its text. `bad.rs` has their mistakes.

use crate::language::support::source;
use scenario::{CatalogFile, Diagnostics, Part, Scenario, Source, load};

const BASE: &str = r#"
[[part]]
name = "base"
like = "qle2560"
figures = [{ name = "lun_queue", value = "64", source = "a \"vendor's\" guide\tof 2012", kind = "published" }]

[[part]]
name = "unused"
kind = "nic"
"#;
const WIDE: &str = r#"
[[part]]
name = "wide"
model = "Wide Ümlaut 9"
like = "base"
figures = [{ name = "latency", value = "9 us", source = "a run", kind = "calibrated", interval = "8 us to 10 us" }]
"#;
const LAB: &str = r#"
scenario.title = "t"
[[host]]
name = "esx"
adapters = [{ name = "hba", part = "wide" }]"#;

fn of_catalogs(text: &str, catalogs: &[&str], overrides: &[(&str, &str)]) -> Source {
    let named = catalogs.iter().zip(["one.toml", "two\n\".toml", "three.toml"]);
    let file =
        |(text, name): (&&str, &str)| CatalogFile { name: name.into(), text: (*text).into() };
    Source { catalogs: named.map(file).collect(), ..source(text, overrides) }
}

#[track_caller]
fn good(source: &Source) -> Scenario {
    load(source).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

/// The scenario as a record has it: what was kept, with the overrides, and no catalog beside it.
#[track_caller]
fn from_record(source: &Source) -> Scenario {
    let text = good(source).text_kept(source);
    good(&Source { text, catalogs: Vec::new(), ..source.clone() })
}

/// Loads, and loads what a record keeps: both have the same lab, in which the part has these numbers.
#[track_caller]
fn check(source: &Source, part: &str, numbers: &[(&str, Option<f64>)]) {
    let (first, again) = (good(source), from_record(source));
    assert_eq!(first.lab, again.lab);
    for (figure, number) in numbers {
        let found = first.lab.part(part).and_then(|part| part.number(figure));
        assert_eq!(found, *number, "{figure} of {part}");
    }
}

#[test]
fn a_part_has_what_those_that_it_is_like_have() {
    let source = of_catalogs(LAB, &[WIDE, BASE], &[]);
    let figures = [("latency", Some(9e-6)), ("lun_queue", Some(64.0)), ("ports", Some(1.0))];
    let scenario = good(&source);
    check(&source, "wide", &figures);
    let names: Vec<&str> = scenario.lab.parts.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(names, ["wide"], "what is not used is left out");
    let part = scenario.lab.part("wide").unwrap();
    assert_eq!(part.figure("lun_queue").unwrap().source, "a \"vendor's\" guide\tof 2012");
    assert_eq!(part.interval("latency"), Some((8e-6, 10e-6)));
    let kept = scenario.text_kept(&source);
    assert!(kept.starts_with(LAB) && kept.contains("[[catalog.part]]"), "{kept}");
    assert!(!kept.contains("unused"), "{kept}");
}

#[test]
fn a_scenario_that_uses_nothing_of_them_is_kept_as_it_is() {
    let text = LAB.replace("\"wide\"", "\"qle2560\"");
    let source = of_catalogs(&text, &[BASE, WIDE], &[]);
    assert_eq!(good(&source).text_kept(&source), text);
    assert_eq!(good(&source).lab.parts, []);
}

#[test]
fn what_is_set_is_kept_beside() {
    let set = |key: &str, value: &str, part: &str, numbers: &[(&str, Option<f64>)]| {
        check(&of_catalogs(LAB, &[BASE, WIDE], &[(key, value)]), part, numbers);
    };
    set("part.wide.latency", "1 us", "wide", &[("latency", Some(1e-6)), ("lun_queue", Some(64.0))]);
    set("part.base.throttle", "8", "base", &[("throttle", Some(8.0)), ("lun_queue", Some(64.0))]);
    set("host.esx.adapters.hba.part", "base", "base", &[("lun_queue", Some(64.0))]);
}

#[test]
fn a_part_of_the_file_takes_the_place_of_one_and_may_be_like_it() {
    let own = format!(
        "{LAB}\n[[part]]\nname = \"wide\"\nlike = \"wide\"\nfigures = [{{ name = \"ports\", value = \"2\", source = \"s\", \
         kind = \"assumed\" }}]\n"
    );
    let figures = [("ports", Some(2.0)), ("latency", Some(9e-6))];
    check(&of_catalogs(&own, &[BASE, WIDE], &[]), "wide", &figures);
    let other =
        LAB.replace("\"wide\"", "\"mine\"") + "\n[[part]]\nname = \"mine\"\nlike = \"base\"\n";
    check(&of_catalogs(&other, &[BASE, WIDE], &[]), "mine", &[("lun_queue", Some(64.0))]);
}

#[test]
fn what_was_kept_comes_before_the_catalogs_of_today() {
    let source = of_catalogs(LAB, &[BASE, WIDE], &[]);
    let kept = good(&source).text_kept(&source);
    let today = WIDE.replace("9 us", "9.5 us");
    check(&of_catalogs(&kept, &[BASE, &today], &[]), "wide", &[("latency", Some(9e-6))]);
    // A later catalog of Wirespeed's own may have a part of that name.
    let kept = kept.replace("\"wide\"", "\"lpe12000\"");
    check(&of_catalogs(&kept, &[], &[]), "lpe12000", &[("latency", Some(9e-6))]);
}

#[test]
fn a_catalog_may_be_empty() {
    check(
        &of_catalogs(LAB, &["# nothing yet\n", WIDE, BASE], &[]),
        "wide",
        &[("ports", Some(1.0))],
    );
}

#[track_caller]
fn first_mistake(source: &Source) -> (String, usize, String) {
    let mistakes: Diagnostics = load(source).expect_err("a mistake was expected");
    let first = mistakes.iter().next().expect("never empty");
    (mistakes.name(first.place.origin).to_owned(), first.place.line, first.message.clone())
}

#[test]
fn mistakes_name_the_file_and_the_line() {
    let wrong = WIDE.replace("9 us", "9 parsec");
    let (file, line, _) =
        first_mistake(&of_catalogs(LAB, &[BASE, &wrong], &[("scenario.seed", "3")]));
    assert_eq!((file.as_str(), line), ("two\n\".toml", 6));
    let (file, line, what) = first_mistake(&of_catalogs(LAB, &["\u{1}\u{0}\u{feff}]]"], &[]));
    assert_eq!((file.as_str(), line), ("one.toml", 1), "{what}");
    let huge = "#".repeat((4 << 20) + 1);
    let (file, _, what) = first_mistake(&of_catalogs(LAB, &[BASE, WIDE, &huge], &[]));
    assert_eq!((file.as_str(), what.contains("larger than 4 MiB")), ("three.toml", true), "{what}");
}

#[test]
fn a_part_as_text_is_read_back() {
    for part in scenario::catalog() {
        let text = format!("scenario.title = \"t\"\n{}", part.to_toml());
        let alone = Part { like: None, ..part.clone() };
        assert_eq!(good(&source(&text, &[])).lab.parts, [alone]);
    }
}
