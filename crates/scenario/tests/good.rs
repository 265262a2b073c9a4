//! Scenarios that load: the whole language in use, and what comes out of it.

use scenario::{Scenario, Source, load};

#[track_caller]
fn good(name: &str, text: &str) -> Scenario {
    let source = Source { name: name.into(), text: text.into(), overrides: Vec::new() };
    load(&source).unwrap_or_else(|d| panic!("{d}"))
}

#[test]
fn eight_vms_through_one_adapter() {
    let s = good("eight-vms.toml", include_str!("good/eight-vms.toml"));
    assert_eq!(s.lab.vms.len(), 8);
    assert_eq!(s.lab.vms[7].disks[0].adapter.as_deref(), Some("esx.hba"));
    let names: Vec<String> = s.steps().iter().map(|step| step.name()).collect();
    assert_eq!(names, ["block=4KiB", "block=8KiB", "block=16KiB", "block=32KiB", "block=64KiB"]);
}

#[test]
fn two_plans_on_files() {
    let s = good("files.toml", include_str!("good/files.toml"));
    assert_eq!(s.steps().len(), 4 + 2 * 4);
}
