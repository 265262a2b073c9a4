//! The defaults for figures that parts of the catalog lack.

use scenario::{catalog, figures_of};
use sim::lab::part_defaults::{PartDefault, part_defaults};

/// Values that are not numbers.
const WORDS: &[&str] = &["no limit", "yes", "ram"];

#[test]
fn defaults_are_figures_that_the_part_lacks() {
    for part in catalog() {
        for PartDefault { figure, value, reason } in part_defaults(part) {
            let name = &part.name;
            let def = figures_of(part.kind).iter().find(|def| def.name == figure);
            assert!(def.is_some(), "{name} cannot have {figure}");
            assert!(part.figure(figure).is_none(), "{name} has {figure}");
            assert!(reason.contains("not given"), "{name}: {figure}: {reason}");
            let number = value.starts_with(|c: char| c.is_ascii_digit());
            assert!(number || WORDS.contains(&value.as_str()), "{name}: {figure} as `{value}`");
        }
    }
}

#[test]
fn defaults_depend_on_the_kind_of_part() {
    #[track_caller]
    fn check(name: &str, figure: &str, expected: Option<&str>) {
        let part = catalog().iter().find(|part| part.name == name).expect("a part of the catalog");
        let all = part_defaults(part);
        let found = all.iter().find(|one| one.figure == figure).map(|one| one.value.as_str());
        assert_eq!(found, expected, "{figure} of {name}");
    }
    check("qle2872", "iops_max", Some("no limit"));
    check("qle2872", "lun_queue", None);
    check("qle2872", "credits", Some("8"));
    check("poweredge-6850", "cores", None);
    check("ssd-sata", "seek_mean", None);
    check("disk-7.2k", "queue", Some("32"));
    check("brocade-g720", "latency", Some("700 ns"));
    check("vmax", "write_back", Some("yes"));
    check("starwind-iscsi", "write_back", None);
}
