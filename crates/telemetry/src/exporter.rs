//! Exporters of Prometheus: the text that they serve, the metrics of node_exporter, and the gauges of NetApp Harvest.

use crate::measure::{Flow, Measure};
use hop::HopKind;
use std::collections::BTreeMap;

/// A metric of node_exporter: its place's kind and label, and what it counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Is {
    /// A difference over time of this measure.
    Rate(Measure),
    /// Seconds that operations took, summed: divided by operations.
    Spent(Flow),
    /// Seconds of processors, idle or waiting.
    Idle,
    /// A level in bytes a second.
    Speed,
    /// Identities of a place, in labels.
    Identity,
    /// The name of the host, in a label.
    Node,
    /// The UUID of the machine, in a label.
    Machine,
}

/// What a metric of node_exporter is; `None` for any other.
pub fn metric(name: &str) -> Option<(HopKind, &'static str, Is)> {
    use Flow::{Read, Write};
    let disk = |is| Some((HopKind::BlockDevice, "device", is));
    let port = |is| Some((HopKind::InitiatorPort, "device", is));
    match current(name) {
        "node_disk_reads_completed_total" => disk(Is::Rate(Measure::Ops(Read))),
        "node_disk_writes_completed_total" => disk(Is::Rate(Measure::Ops(Write))),
        "node_disk_read_bytes_total" => disk(Is::Rate(Measure::Bytes(Read))),
        "node_disk_written_bytes_total" => disk(Is::Rate(Measure::Bytes(Write))),
        "node_disk_read_time_seconds_total" => disk(Is::Spent(Read)),
        "node_disk_write_time_seconds_total" => disk(Is::Spent(Write)),
        "node_disk_io_time_seconds_total" => disk(Is::Rate(Measure::Busy)),
        "node_disk_io_time_weighted_seconds_total" => disk(Is::Rate(Measure::InFlight)),
        "node_network_receive_bytes_total" => port(Is::Rate(Measure::Bytes(Read))),
        "node_network_transmit_bytes_total" => port(Is::Rate(Measure::Bytes(Write))),
        "node_network_receive_errs_total" | "node_network_transmit_errs_total" => {
            port(Is::Rate(Measure::Errors))
        }
        "node_network_receive_drop_total" | "node_network_transmit_drop_total" => {
            port(Is::Rate(Measure::Discards))
        }
        "node_network_speed_bytes" => port(Is::Speed),
        "node_disk_info" => disk(Is::Identity),
        "node_network_info" => port(Is::Identity),
        "node_uname_info" => Some((HopKind::HostCpu, "nodename", Is::Node)),
        "node_dmi_info" => Some((HopKind::HostCpu, "product_uuid", Is::Machine)),
        "node_cpu_seconds_total" => Some((HopKind::HostCpu, "cpu", Is::Idle)),
        _ => None,
    }
}

/// Metrics that node_exporter named otherwise before version 0.16, and by what their numbers are multiplied: it counted
/// milliseconds.
const BEFORE: &[(&str, &str, f64)] = &[
    ("node_disk_reads_completed", "node_disk_reads_completed_total", 1.0),
    ("node_disk_writes_completed", "node_disk_writes_completed_total", 1.0),
    ("node_disk_bytes_read", "node_disk_read_bytes_total", 1.0),
    ("node_disk_bytes_written", "node_disk_written_bytes_total", 1.0),
    ("node_disk_read_time_ms", "node_disk_read_time_seconds_total", 0.001),
    ("node_disk_write_time_ms", "node_disk_write_time_seconds_total", 0.001),
    ("node_disk_io_time_ms", "node_disk_io_time_seconds_total", 0.001),
    ("node_disk_io_time_weighted", "node_disk_io_time_weighted_seconds_total", 0.001),
    ("node_network_receive_bytes", "node_network_receive_bytes_total", 1.0),
    ("node_network_transmit_bytes", "node_network_transmit_bytes_total", 1.0),
    ("node_network_receive_errs", "node_network_receive_errs_total", 1.0),
    ("node_network_transmit_errs", "node_network_transmit_errs_total", 1.0),
    ("node_network_receive_drop", "node_network_receive_drop_total", 1.0),
    ("node_network_transmit_drop", "node_network_transmit_drop_total", 1.0),
    ("node_cpu", "node_cpu_seconds_total", 1.0),
];

/// The present name of a metric.
fn current(name: &str) -> &str {
    BEFORE.iter().find(|(old, ..)| *old == name).map_or(name, |(_, new, _)| new)
}

/// By what the number of a metric is multiplied.
pub fn scale(name: &str) -> f64 {
    BEFORE.iter().find(|(old, ..)| *old == name).map_or(1.0, |(.., scale)| *scale)
}

/// A gauge of NetApp Harvest: a rate or a level that the array computed over its own interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gauge {
    /// What is counted there.
    pub kind: HopKind,
    /// The labels that name the place, from the widest to the narrowest.
    pub labels: &'static [&'static str],
    /// What it is: a rate a second of operations and bytes, or a share of the time.
    pub measure: Measure,
    /// What its value is multiplied by: shares are percentages.
    pub factor: f64,
}

/// What a gauge of Harvest is; `None` for any other metric.
pub fn gauge(name: &str) -> Option<Gauge> {
    use Flow::{Read, Write};
    const VOLUME: &[&str] = &["svm", "volume"];
    const LUN: &[&str] = &["svm", "volume", "lun"];
    const PORT: &[&str] = &["node", "port"];
    const NODE: &[&str] = &["node"];
    let of = |kind, labels, measure, factor| Some(Gauge { kind, labels, measure, factor });
    match name {
        "volume_read_ops" => of(HopKind::Volume, VOLUME, Measure::Ops(Read), 1.0),
        "volume_write_ops" => of(HopKind::Volume, VOLUME, Measure::Ops(Write), 1.0),
        "volume_read_data" => of(HopKind::Volume, VOLUME, Measure::Bytes(Read), 1.0),
        "volume_write_data" => of(HopKind::Volume, VOLUME, Measure::Bytes(Write), 1.0),
        "lun_read_ops" => of(HopKind::Volume, LUN, Measure::Ops(Read), 1.0),
        "lun_write_ops" => of(HopKind::Volume, LUN, Measure::Ops(Write), 1.0),
        "lun_read_data" => of(HopKind::Volume, LUN, Measure::Bytes(Read), 1.0),
        "lun_write_data" => of(HopKind::Volume, LUN, Measure::Bytes(Write), 1.0),
        "fcp_read_data" => of(HopKind::TargetPort, PORT, Measure::Bytes(Read), 1.0),
        "fcp_write_data" => of(HopKind::TargetPort, PORT, Measure::Bytes(Write), 1.0),
        "nic_tx_bytes" => of(HopKind::TargetPort, PORT, Measure::Bytes(Read), 1.0),
        "nic_rx_bytes" => of(HopKind::TargetPort, PORT, Measure::Bytes(Write), 1.0),
        "node_cpu_busy" => of(HopKind::Controller, NODE, Measure::Busy, 0.01),
        _ => None,
    }
}

/// A line of an exposition: the metric, its labels, and the text behind them.
pub type Labelled<'a> = (String, BTreeMap<String, String>, &'a str);

/// Reads `name{label="value",…} rest`.
pub fn labelled(line: &str) -> Option<Labelled<'_>> {
    let end = line.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | ':')))?;
    let (name, rest) = line.split_at(end);
    let mut labels = BTreeMap::new();
    let Some(mut rest) = rest.strip_prefix('{') else {
        return (!name.is_empty() && rest.starts_with(' '))
            .then(|| (name.to_owned(), labels, rest));
    };
    loop {
        rest = rest.trim_start_matches([',', ' ']);
        if let Some(behind) = rest.strip_prefix('}') {
            return Some((name.to_owned(), labels, behind));
        }
        let (label, value) = rest.split_once("=\"")?;
        let (value, behind) = quoted(value)?;
        labels.insert(label.trim().to_owned(), value);
        rest = behind;
    }
}

/// A value up to its closing quote, with its escapes resolved.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut out = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((out, &text[at + 1..])),
            '\\' => match chars.next()?.1 {
                'n' => out.push('\n'),
                other => out.push(other),
            },
            c => out.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_may_hold_anything_between_quotes() {
        let line = r#"a_total{x="1",y="a\"b}\\,\n"} 3"#;
        let (name, labels, rest) = labelled(line).expect("a sample");
        assert_eq!((name.as_str(), rest), ("a_total", " 3"));
        assert_eq!(labels["y"], "a\"b}\\,\n");
        for broken in ["", "a", "a{", "a{x=1} 2", "a{x=\"1} 2", "{} 1 2 3x"] {
            assert!(labelled(broken).is_none_or(|of| of.1.is_empty()), "{broken}");
        }
    }
}
