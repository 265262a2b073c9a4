//! What the embedded catalog says of its figures: where each comes from, and that this is of the kind that it claims.

use scenario::{Figure, FigureKind, Part, PartKind, catalog};
use std::path::Path;

/// Every name of hardware that the five labs give, with what it is and a word of its full name.
const LABS: &[(&str, PartKind, &str)] = &[
    ("xtremeserver", PartKind::Host, "XtremeServer"),
    ("poweredge-6850", PartKind::Host, "6850"),
    ("poweredge-quad", PartKind::Host, "PowerEdge"),
    ("proliant-dl360", PartKind::Host, "DL360"),
    ("proliant-dl580", PartKind::Host, "DL580"),
    ("xeon-e7-4870-quad", PartKind::Host, "E7-4870"),
    ("qle2460", PartKind::Hba, "QLE2460"),
    ("qle2462", PartKind::Hba, "QLE2462"),
    ("qle2560", PartKind::Hba, "QLE2560"),
    ("brocade-815", PartKind::Hba, "815"),
    ("lpe12000", PartKind::Hba, "LPe12000"),
    ("lpe12002", PartKind::Hba, "LPe12002"),
    ("qle3142", PartKind::Nic, "QLE3142"),
    ("qle3044", PartKind::Nic, "QLE3044"),
    ("sanbox-5602", PartKind::Switch, "5602"),
    ("sanbox-5802v", PartKind::Switch, "5802V"),
    ("brocade-300", PartKind::Switch, "300"),
    ("switch-10gbe", PartKind::Switch, "10GbE"),
    ("ramsan-400", PartKind::Array, "RamSan-400"),
    ("emprise-5000", PartKind::Array, "Emprise 5000"),
    ("vmax", PartKind::Array, "VMAX"),
    ("vmax-5-engines", PartKind::Array, "5 engines"),
    ("starwind-iscsi", PartKind::Array, "StarWind"),
    ("s2100-es2", PartKind::Tape, "S2100-ES2"),
    ("lto-4", PartKind::Tape, "LTO-4"),
    ("disk-15k", PartKind::Disk, "15,000"),
    ("pvscsi", PartKind::VirtualScsi, "Paravirtual"),
    ("lsi-logic-sas", PartKind::VirtualScsi, "LSI Logic SAS"),
    ("xen", PartKind::Hypervisor, "Xen"),
    ("esx-3.5", PartKind::Hypervisor, "3.5"),
    ("esx-4", PartKind::Hypervisor, "ESX 4"),
    ("vsphere-5.0", PartKind::Hypervisor, "5.0"),
];

/// Current ones, by what they are for.
const CURRENT: &[&str] = &[
    "qle2692",
    "qle2772",
    "qle2872",
    "lpe31002",
    "lpe32002",
    "lpe35002",
    "lpe36002",
    "brocade-g620",
    "brocade-g720",
    "e810-xxvda2",
    "e810-cqda2",
    "connectx-5-25",
    "connectx-6-100",
    "sn2010",
    "sn2700",
    "ssd-nvme-gen3",
    "ssd-nvme-gen4",
    "ssd-nvme-gen5",
    "ssd-sata",
    "disk-10k",
    "disk-7.2k",
    "cheetah-15k.7",
    "lto-5",
    "lto-6",
    "lto-7",
    "lto-8",
    "lto-9",
    "virtio-blk",
    "virtio-scsi",
    "lsi-logic",
    "all-flash",
    "nvme-array",
    "dual-socket-64",
    "esxi-8",
    "kvm",
];

fn part(name: &str) -> &'static Part {
    catalog().iter().find(|part| part.name == name).unwrap_or_else(|| panic!("no part {name}"))
}

fn figures() -> impl Iterator<Item = (&'static Part, &'static Figure)> {
    catalog().iter().flat_map(|part| part.figures.iter().map(move |figure| (part, figure)))
}

#[test]
fn all_hardware_of_the_labs_is_there() {
    for (name, kind, word) in LABS {
        let part = part(name);
        assert_eq!(part.kind, *kind, "{name}");
        let model = part.model.as_deref().unwrap_or_default();
        assert!(model.contains(word), "{name}: {model}");
    }
}

#[test]
fn current_hardware_is_there_with_what_it_carries() {
    for name in CURRENT {
        let part = part(name);
        let carries = match part.kind {
            PartKind::Hba | PartKind::Nic | PartKind::Switch | PartKind::Array => "port_rate",
            PartKind::Disk if part.figure("seek_mean").is_some() => "rotation_half",
            PartKind::Disk => "read_latency",
            PartKind::Tape => "drive_rate",
            PartKind::VirtualScsi => "disk_queue",
            PartKind::Hypervisor => "software_iscsi_queue",
            PartKind::Host => "cores",
        };
        assert!(part.number(carries).is_some(), "{name} has no {carries}");
    }
}

#[test]
fn every_figure_says_where_it_comes_from() {
    for (part, figure) in figures() {
        let (part, name, source) = (&part.name, &figure.name, figure.source.trim());
        assert!(source.len() >= 4, "{name} of {part}: `{source}` is no source");
        assert!(!source.contains("://"), "{name} of {part}: a document is named by its title");
        let reason = source.strip_prefix("assumed:").is_some_and(|reason| reason.trim().len() > 8);
        let assumed = figure.kind == FigureKind::Assumed;
        assert_eq!(
            assumed, reason,
            "{name} of {part}: what is assumed, and nothing else, begins `assumed: REASON`"
        );
        // Where a standard is meant, the sum or the standard's own word stands beside it.
        let derived = source.contains(|c: char| c.is_ascii_digit());
        assert!(
            figure.kind != FigureKind::Standard || derived,
            "{name} of {part}: no sum in `{source}`"
        );
    }
}

/// A claim names the scenario by its file, and a claim of that file by its name.
#[test]
fn what_is_calibrated_names_a_claim_that_exists() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    for (part, figure) in figures().filter(|(_, figure)| figure.kind == FigureKind::Calibrated) {
        let at = format!("{} of {}", figure.name, part.name);
        let claim = figure.claim.as_deref().unwrap_or_else(|| panic!("{at} names no claim"));
        let (file, name) = claim.split_once(": ").unwrap_or_else(|| panic!("{at}: `{claim}`"));
        let file = folder.join(format!("{file}.toml"));
        let text = std::fs::read_to_string(&file)
            .unwrap_or_else(|e| panic!("{at}: {}: {e}", file.display()));
        let source = scenario::Source { text, ..scenario::Source::default() };
        let scenario = scenario::load(&source).unwrap_or_else(|e| panic!("{at}: {e}"));
        assert!(scenario.claims.iter().any(|claim| claim.name == name), "{at}: no claim `{name}`");
    }
}

#[test]
fn half_a_turn_is_what_the_speed_makes_it() {
    for (name, rpm) in [
        ("disk-15k", 15_000.0),
        ("cheetah-15k.7", 15_000.0),
        ("savvio-15k.3", 15_000.0),
        ("disk-10k", 10_000.0),
        ("savvio-10k", 10_000.0),
        ("disk-7.2k", 7_200.0),
    ] {
        let half = part(name).number("rotation_half").unwrap_or_default();
        assert!((half - 60.0 / rpm / 2.0).abs() < 1e-5, "{name}: {half}");
    }
}
