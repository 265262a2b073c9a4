//! A figure of a part as a number to be fitted: which figures those are, their starting values and bounds, and how a
//! number becomes the text that a part states.
//!
//! The search is over logarithms, so no figure becomes negative and a step has the same relative size at 1 us and at 1
//! ms.

use scenario::{Dimension, Figure, FigureKind, Part, PartKind, figures_of};

/// Figures that are fitted unless others are named: costs, queue limits and delays, by kind of part. Speeds of ports
/// and shares are usually known, and are fitted on request.
pub(crate) fn usual(kind: PartKind) -> &'static [&'static str] {
    match kind {
        PartKind::Host => &["cores"],
        PartKind::Hypervisor => &["cpu_per_io", "cpu_per_byte", "software_iscsi_queue"],
        PartKind::VirtualScsi => &["cpu_per_io", "adapter_queue", "disk_queue"],
        PartKind::Hba => &["latency", "iops_max", "lun_queue", "throttle"],
        PartKind::Nic => {
            &["latency", "cpu_per_packet_offload", "cpu_per_packet", "cpu_per_byte", "lun_queue"]
        }
        PartKind::Switch => &["latency"],
        PartKind::Array => &["latency", "controller_time_per_io", "cache_hit_time"],
        PartKind::Disk => &["read_latency", "write_latency", "seek_mean", "rotation_half", "queue"],
        PartKind::Tape => &["drive_rate"],
    }
}

/// A figure that is fitted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FitParameter {
    pub part: String,
    pub kind: PartKind,
    pub figure: &'static str,
    pub dimension: Dimension,
    /// The figure that the part states, if any.
    pub given: Option<Figure>,
    /// Starting value of the search, in the base unit.
    pub start: f64,
}

impl FitParameter {
    /// The figure `name` of `part`; `None` where it has no such figure, or the value is not a number of this kind.
    /// `assumed` is the model's default where the part gives nothing.
    pub fn new(part: &Part, name: &str, assumed: Option<&str>) -> Option<FitParameter> {
        let def = figures_of(part.kind).iter().find(|def| def.name == name)?;
        let given = part.figure(name).cloned();
        let of_text = |text: &str| def.dimension.number(text);
        let start = given.as_ref().and_then(|figure| of_text(&figure.value));
        let start = start.or_else(|| assumed.and_then(of_text)).or(blind(def.dimension))?;
        let mut parameter = FitParameter {
            part: part.name.clone(),
            kind: part.kind,
            figure: def.name,
            dimension: def.dimension,
            given,
            start,
        };
        let (low, high) = parameter.bounds();
        parameter.start = parameter.start.clamp(low, high);
        Some(parameter)
    }

    /// The range of the search.
    pub fn bounds(&self) -> (f64, f64) {
        match self.figure {
            // The least is what hypervisors and deep idle states begin with. A processor that halts earlier is one that
            // wakes slowly, and one that wakes much later has been given to others.
            "halt_time" => return (20e-6, 10e-3),
            "halt_wake_time" => return (100e-9, 1e-3),
            _ => {}
        }
        match self.dimension {
            Dimension::Count(least, most) => (least.max(1) as f64, most as f64),
            Dimension::Time => (2e-9, 10.0),
            Dimension::PerByte => (1e-14, 1e-4),
            Dimension::Iops => (1.0, 1e9),
            Dimension::Share => (1e-3, 1.0),
            Dimension::Size => (4096.0, 1e15),
            _ => (1e4, 1e12),
        }
    }

    /// Whether only whole numbers are valid.
    pub fn is_whole(&self) -> bool {
        matches!(self.dimension, Dimension::Count(..))
    }

    /// Its full name, as in overrides and results.
    pub fn name(&self) -> String {
        format!("{}.{}", self.part, self.figure)
    }

    /// A value as the model reads it, with every digit that matters to it.
    pub fn exact(&self, value: f64) -> String {
        self.dimension.text(value).unwrap_or_default()
    }

    /// A value for people and for part files, with four digits.
    pub fn shown(&self, value: f64) -> String {
        match self.dimension {
            Dimension::Count(..) => format!("{:.0}", value.round()),
            Dimension::Size => format!("{:.0}B", value.round()),
            Dimension::Time => match value {
                v if v < 1e-6 => format!("{:.0}ns", (v * 1e9).max(1.0)),
                v if v < 1e-3 => format!("{}us", digits(v * 1e6)),
                v if v < 1.0 => format!("{}ms", digits(v * 1e3)),
                v => format!("{}s", digits(v)),
            },
            Dimension::PerByte => match value * 1e9 {
                ns if ns < 0.1 => format!("{} ps/B", digits(ns * 1e3)),
                ns => format!("{} ns/B", digits(ns)),
            },
            Dimension::Iops => format!("{} IOPS", digits(value)),
            Dimension::Share => format!("{}%", digits(value * 100.0)),
            _ => format!("{} MB/s", digits(value / 1e6)),
        }
    }
}

/// Four significant digits, without an exponent.
fn digits(value: f64) -> String {
    let whole = value.abs().max(1e-12).log10().floor() as i32 + 1;
    let places = usize::try_from(4 - whole).unwrap_or(0).min(9);
    let text = format!("{value:.places$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// A starting value where nothing else gives one; `None` for what is not a number.
fn blind(dimension: Dimension) -> Option<f64> {
    match dimension {
        Dimension::Count(..) => Some(32.0),
        Dimension::Size => Some(1e9),
        Dimension::Time => Some(10e-6),
        Dimension::PerByte => Some(0.2e-9),
        Dimension::Rate | Dimension::Link | Dimension::Bus => Some(1e9),
        Dimension::Iops => Some(100e3),
        Dimension::Share => Some(0.5),
        Dimension::Frequency | Dimension::Flag | Dimension::Word(_) => None,
    }
}

/// An empty figure.
pub(crate) fn blank() -> Figure {
    Figure {
        name: String::new(),
        value: String::new(),
        source: String::new(),
        kind: FigureKind::Calibrated,
        claim: None,
        interval: None,
    }
}
