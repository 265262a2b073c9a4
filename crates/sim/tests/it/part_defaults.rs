//! What is said to be taken for figures that parts of the catalog lack.

use scenario::{catalog, figures_of};
use sim::lab::part_defaults::{PartDefault, part_defaults};

/// Values that are no numbers.
const WORDS: &[&str] = &["no limit", "yes", "ram"];

#[test]
fn it_is_a_figure_that_the_part_could_have_and_lacks() {
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
fn it_depends_on_what_the_part_is() {
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
