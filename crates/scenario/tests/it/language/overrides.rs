//! `--set`: what it reaches, and what its values mean. Mistakes in it are among the cases of `bad.rs`.

use crate::language::support::{good_with, source};
use scenario::{Dimension, FigureKind, LinkRate, Origin, Scenario, load};

const FILES: &str = include_str!("../../good/files.toml");
const SINGLE: &str = "scenario.title = \"t\"\n[[target]]\nname = \"n\"\nurl = \"null:\"\nsize = \"1GiB\"\n\
                      [workload.w]\nblock = \"8KiB\"\n[plan]\nname = \"only\"\nworkload = \"w\"\non = \"n\"\n\
                      measure = \"1s\"\n";

fn set(text: &str, key: &str, value: &str) -> Scenario {
    good_with(text, &[(key, value)])
}

#[test]
fn an_override_reaches_every_part() {
    assert_eq!(set(FILES, "scenario.seed", "7").head.seed, 7);
    assert_eq!(set(FILES, "scenario.title", "Another").head.title, "Another");
    assert_eq!(set(FILES, "scenario.source", "here").head.source.as_deref(), Some("here"));
    assert_eq!(
        set(FILES, "target.null.size", "2GiB").lab.targets[2].size.map(|s| s.0),
        Some(2 << 30)
    );
    assert_eq!(
        set(FILES, "target.\"data{1..2}\".create", "1MiB").lab.targets[1].create.map(|s| s.0),
        Some(1 << 20)
    );
    assert_eq!(set(FILES, "plan.both.repeat", "1").steps().len(), 8);
    assert_eq!(set(FILES, "plan.daemons.measure", "250ms").plans[0].measure.as_millis(), 250);
    assert_eq!(set(FILES, "plan.daemons.sweep.depth", "[8]").steps().len(), 9);
    assert_eq!(
        set(FILES, "workload.load.workers", "3").workloads[0].disk().map(|w| w.workers),
        Some(3)
    );
    assert_eq!(set(FILES, "workload.load.transaction.page", "16KiB").workloads.len(), 2);
}

#[test]
fn a_pattern_or_a_range_names_workloads() {
    let text = "scenario.title = \"t\"\n[[target]]\nname = \"n\"\nurl = \"null:\"\nsize = \"1GiB\"\n\
                [workload.vm-1]\nblock = \"8KiB\"\n[workload.vm-2]\nblock = \"8KiB\"\n\
                [workload.other]\nblock = \"8KiB\"\n[plan]\nworkload = \"vm-1\"\non = \"n\"\nmeasure = \"1s\"\n";
    let depths = |key: &str| {
        let of = |scenario: Scenario| {
            let depth = |of: &scenario::Workload| of.disk().expect("of disks").spec.arrivals;
            let deep = |of: &&scenario::Workload| format!("{:?}", depth(of)).contains('7');
            let all = scenario.workloads.iter();
            all.filter(deep).map(|of| of.name().to_owned()).collect::<Vec<_>>()
        };
        load(&source(text, &[(key, "7")])).map(of).map_err(|mistakes| mistakes.to_string())
    };
    let named = |all: &[&str]| Ok(all.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    assert_eq!(depths("workload.vm-*.depth"), named(&["vm-1", "vm-2"]));
    assert_eq!(depths("workload.\"vm-{1..2}\".depth"), named(&["vm-1", "vm-2"]));
    assert_eq!(depths("workload.other.depth"), named(&["other"]));
    let said = depths("workload.vm-{1..3}.depth").expect_err("one is missing");
    assert!(said.contains("names 3 of workload, and 2 are there"), "{said}");
    let said = depths("workload.x*.depth").expect_err("none has that name");
    assert!(said.contains("no workload is named `x*`"), "{said}");
}

/// What a text of several targets, each of which reads as `name size`, becomes with `key=3MiB`.
#[track_caller]
fn sizes(names: &[&str], key: &str) -> Result<Vec<u64>, String> {
    let mut text = "scenario.title = \"t\"\n".to_owned();
    for name in names {
        text += &format!("[[target]]\nname = \"{name}\"\nurl = \"null:\"\nsize = \"1MiB\"\n");
    }
    text +=
        "[workload.w]\nblock = \"8KiB\"\n[plan]\nworkload = \"w\"\non = \"*\"\nmeasure = \"1s\"\n";
    let source = source(&text, &[(key, "3MiB")]);
    let sizes = |of: Scenario| of.lab.targets.iter().map(|t| t.size.unwrap().0 >> 20).collect();
    load(&source).map(sizes).map_err(|mistakes| mistakes.to_string())
}

#[test]
fn a_name_is_a_name_or_a_range_or_a_pattern_and_may_be_quoted() {
    let names = ["a{1..2}", "b", "c.d"];
    for (key, expected) in [
        ("target.b.size", [1, 1, 3, 1]),
        ("target.'b'.size", [1, 1, 3, 1]),
        ("target.\"c.d\".size", [1, 1, 1, 3]),
        ("target.'c.d'.size", [1, 1, 1, 3]),
        ("target.a{1..2}.size", [3, 3, 1, 1]),
        ("target.\"a{1..2}\".size", [3, 3, 1, 1]),
        ("target.a*.size", [3, 3, 1, 1]),
        ("target.*.size", [3, 3, 3, 3]),
    ] {
        assert_eq!(sizes(&names, key), Ok(expected.to_vec()), "{key}");
    }
    for (key, says) in [
        ("target.a1.size", "write `target.a{1..2}` for all of them"),
        ("target.a{2..2}.size", "names 1 of its 2 items"),
        ("target.a{1..3}.size", "names 3 of target, and 2 are there"),
        ("target.x.size", "NAME is a name, a range such as"),
        ("target.x*.size", "no target is named `x*`"),
    ] {
        let told = sizes(&names, key).unwrap_err();
        assert!(told.contains(says), "{key}: {told}");
    }
}

#[test]
fn a_single_plan_is_reached_with_and_without_its_name() {
    assert_eq!(set(SINGLE, "plan.measure", "3s").plans[0].measure.as_secs(), 3);
    assert_eq!(set(SINGLE, "plan.only.measure", "3s").plans[0].measure.as_secs(), 3);
    assert_eq!(set(SINGLE, "plan.sweep", "{ depth = [1, 2] }").steps().len(), 2);
    assert_eq!(set(SINGLE, "target.url", "null:x").lab.targets[0].url, "null:x");
}

#[test]
fn a_value_is_toml_or_else_text() {
    let title = |value: &str| set(FILES, "scenario.title", value).head.title;
    assert_eq!(title("\"quoted\""), "quoted");
    assert_eq!(title("2s"), "2s");
    assert_eq!(title("a = b"), "a = b");
    assert_eq!(set(FILES, "workload.stream.read", "67%").workloads.len(), 2);
    assert_eq!(set(FILES, "workload.stream.read", "67").workloads.len(), 2);
}

#[test]
fn the_last_override_wins() {
    let twice = [("scenario.seed", "2"), ("scenario.seed", "3")];
    assert_eq!(good_with(FILES, &twice).head.seed, 3);
}

#[test]
fn an_override_mends_a_mistake_of_the_file() {
    let text = SINGLE.replace("\"1s\"", "1");
    assert!(load(&source(&text, &[])).is_err());
    assert_eq!(set(&text, "plan.measure", "1s").steps().len(), 1);
}

#[test]
fn a_mistake_points_into_its_own_text() {
    let sets = [("scenario.seed", "7"), ("plan.measure", "ten")];
    let mistakes = load(&source(SINGLE, &sets)).expect_err("`ten` is no duration");
    let place = &mistakes.iter().next().expect("a mistake").place;
    assert_eq!(place.origin, Origin::Set(1));
    assert_eq!(mistakes.text(place.origin), "plan.measure=ten");
    assert_eq!(&mistakes.text(place.origin)[place.span.clone()], "ten");
    assert_eq!(mistakes.name(place.origin), "--set");
}

/// What an assumption calls a setting is what `--set` takes.
#[test]
fn an_element_without_a_name_is_reached_by_its_number() {
    const EVERYTHING: &str = include_str!("../../good/everything.toml");
    let plain = good_with(EVERYTHING, &[]);
    for setting in plain.assumed.iter().flat_map(|assumed| &assumed.settings) {
        let same = set(EVERYTHING, &setting.path, &setting.value);
        assert_eq!(same.lab, plain.lab, "{}", setting.path);
    }
    let other = set(EVERYTHING, "vm.\"vm{1..4}\".disks.0.size", "1GiB");
    assert_eq!(other.lab.vms[0].disks[0].size.map(|size| size.0), Some(1 << 30));
}

/// A figure of a part after overrides: value, source, and what reads it.
#[track_caller]
fn figure(text: &str, overrides: &[(&str, &str)], part: &str, figure: &str) -> (String, String) {
    let lab = good_with(text, overrides).lab;
    let part = lab.part(part).unwrap_or_else(|| panic!("no part {part}"));
    let found = part.figure(figure).unwrap_or_else(|| panic!("no figure {figure}"));
    assert!(part.number(figure).is_some(), "{figure} can be read");
    (found.value.clone(), found.source.clone())
}

#[test]
fn a_figure_of_any_part_can_be_set() {
    let own = format!(
        "{SINGLE}[[part]]\nname = \"mine\"\nlike = \"qle2560\"\nfigures = [{{ name = \"lun_queue\", value = \"8\", \
         source = \"its box\", kind = \"calibrated\", claim = \"a: b\" }}]\n"
    );
    let check = |part: &str, name: &str, key: &str, value: &str| {
        let found = figure(&own, &[(key, value)], part, name);
        assert_eq!(found, (value.trim_matches('"').to_owned(), "set by --set".to_owned()), "{key}");
    };
    check("qle2560", "iops_max", "part.qle2560.iops_max", "300k IOPS");
    check("qle2560", "lun_queue", "part.qle2560.lun_queue", "64");
    check("qle2560", "lun_queue", "part.\"qle2560\".lun_queue", "\"64\"");
    check("esx-3.5", "cpu_per_io", "part.esx-3.5.cpu_per_io", "16us");
    check("esx-3.5", "cpu_per_io", "part.\"esx-3.5\".cpu_per_io", "16us");
    check("vmax", "hit_share", "part.vmax.hit_share", "99%");
    check("mine", "lun_queue", "part.mine.lun_queue", "9");
    check("mine", "port_rate", "part.mine.port_rate", "16gfc");
}

#[test]
fn setting_one_figure_keeps_the_others_and_the_last_wins() {
    let twice = [
        ("part.qle2560.iops_max", "1k IOPS"),
        ("part.qle2560.latency", "2 us"),
        ("part.qle2560.iops_max", "2k IOPS"),
    ];
    let lab = good_with(SINGLE, &twice).lab;
    let part = lab.part("qle2560").unwrap();
    let numbers = ["iops_max", "latency", "ports"].map(|name| part.number(name));
    assert_eq!(numbers, [Some(2000.0), Some(2e-6), Some(1.0)]);
    assert_eq!(part.figure("iops_max").unwrap().kind, FigureKind::Assumed);
    let own = format!("{SINGLE}[[part]]\nname = \"mine\"\nlike = \"qle2560\"\n");
    let lab = good_with(&own, &[("part.qle2560.latency", "2 us")]).lab;
    assert_eq!(lab.part("mine").unwrap().number("latency"), Some(2e-6), "like what was set");
    let fitted = format!(
        "{own}figures = [{{ name = \"latency\", value = \"9 us\", source = \"a run\", kind = \"calibrated\", interval = \"8.5 us to 9.5 us\" }}]\n"
    );
    let lab = good_with(&fitted, &[]).lab;
    assert_eq!(lab.part("mine").unwrap().interval("latency"), Some((8.5e-6, 9.5e-6)));
    let lab = good_with(&fitted, &[("part.mine.latency", "1 ms")]).lab;
    assert_eq!(lab.part("mine").unwrap().interval("latency"), None, "it was fitted no more");
}

#[test]
fn numbers_are_written_as_figures_are_read() {
    #[track_caller]
    fn check(dimension: Dimension, number: f64) {
        let text = dimension.text(number).unwrap();
        let read = dimension.number(&text).unwrap_or_else(|| panic!("{text} cannot be read"));
        assert!((read - number).abs() <= number * 1e-6, "{number} came back from {text} as {read}");
    }
    check(Dimension::Count(1, 4096), 254.0);
    check(Dimension::Size, 6.4e9);
    check(Dimension::Time, 12.345e-6);
    check(Dimension::Time, 3600.0);
    check(Dimension::PerByte, 1.05e-10);
    check(Dimension::Rate, 1_300.5e6);
    check(Dimension::Link, 909_187_154.0);
    check(Dimension::Bus, 4.4e9);
    check(Dimension::Iops, 123_456.7);
    check(Dimension::Share, 0.0005);
    check(Dimension::Frequency, 3.66e9);
    assert_eq!(Dimension::Flag.text(1.0), None);
    let payload = LinkRate::parse("8gfc").unwrap().payload();
    assert_eq!(Dimension::Link.number("8gfc"), Some(payload.0));
}
