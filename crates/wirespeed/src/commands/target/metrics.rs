//! The figures of a running target for monitoring: its counters as they stand when somebody asks. `docs/metrics.md` lists
//! the names. The number of series is that of ports and LUNs, which the command line says.

use super::show;
use crate::exit::Failure;
use san::server::{Latencies, TargetControl, TargetServer};
use san::volume::VolumeSpec;
use serve::metrics::{Labels, Listening, Sheet};
use std::net::SocketAddr;
use std::sync::Arc;

/// Tells the figures of a target until it is dropped.
pub fn listen(
    address: SocketAddr,
    target: &TargetServer,
    volumes: &[VolumeSpec],
) -> Result<Listening, Failure> {
    let control = target.control();
    let names: Vec<String> =
        volumes.iter().map(|volume| review::clean(&show::named(volume))).collect();
    serve::metrics::listen(address, Arc::new(move || sheet(&control, &names)))
        .map_err(|error| Failure::usage(format!("--metrics {address}: {error}")))
}

fn sheet(target: &TargetControl, names: &[String]) -> Sheet {
    let mut sheet = Sheet::new();
    let info = vec![("iqn", review::clean(target.name()))];
    sheet.gauge(("wirespeed_target_info", None), "The target; always 1", info, 1.0);
    for port in target.portals() {
        let counts = port.counts();
        let labels = vec![("port", port.address().to_string())];
        let up = f64::from(u8::from(!port.is_down()));
        sheet.gauge(
            ("wirespeed_target_port_up", None),
            "1 where the port listens",
            labels.clone(),
            up,
        );
        let help = "Open connections at a port";
        sheet.gauge(
            ("wirespeed_target_port_connections", None),
            help,
            labels.clone(),
            counts.connections as f64,
        );
        let help = "Commands under way at a port";
        sheet.gauge(
            ("wirespeed_target_port_commands", None),
            help,
            labels.clone(),
            counts.queue as f64,
        );
        for (direction, bytes) in [("read", counts.bytes_out), ("write", counts.bytes_in)] {
            let help = "Bytes of data that went through a port";
            let labels = with(&labels, "direction", direction);
            sheet.count(
                ("wirespeed_target_port_transferred", Some("bytes")),
                help,
                labels,
                bytes as f64,
            );
        }
        latencies(&mut sheet, "wirespeed_target_port_response_time", &labels, &port.latencies());
    }
    for (lun, (volume, name)) in target.volumes().iter().zip(names).enumerate() {
        let counters = volume.counters();
        let labels = vec![("lun", lun.to_string()), ("volume", name.clone())];
        for (direction, ops, bytes) in [
            ("read", counters.reads, counters.bytes_read),
            ("write", counters.writes, counters.bytes_written),
        ] {
            let labels = with(&labels, "direction", direction);
            let help = "Commands to a LUN that moved data";
            sheet.count(
                ("wirespeed_target_lun_operations", None),
                help,
                labels.clone(),
                ops as f64,
            );
            let help = "Bytes that were read from a LUN and written to it";
            sheet.count(
                ("wirespeed_target_lun_transferred", Some("bytes")),
                help,
                labels,
                bytes as f64,
            );
        }
        let help = "Commands to a LUN that did not end well";
        sheet.count(
            ("wirespeed_target_lun_failed_operations", None),
            help,
            labels.clone(),
            counters.failed as f64,
        );
        latencies(
            &mut sheet,
            "wirespeed_target_lun_response_time",
            &labels,
            &target.latencies(lun),
        );
    }
    sheet
}

/// Percentiles since the start; from the arrival of a command to its answer, at the target.
fn latencies(sheet: &mut Sheet, name: &'static str, labels: &Labels, of: &Latencies) {
    for (direction, counts) in [("read", &of.reads), ("write", &of.writes)] {
        for (quantile, p) in [("0.5", 0.5), ("0.99", 0.99)] {
            let Some(ns) = counts.percentile(p) else { continue };
            let labels = with(&with(labels, "direction", direction), "quantile", quantile);
            let help =
                "Percentiles of the time from a command's arrival to its answer, since the start";
            sheet.gauge((name, Some("seconds")), help, labels, ns.as_secs_f64());
        }
    }
}

fn with(labels: &Labels, name: &'static str, value: &str) -> Labels {
    labels.iter().cloned().chain([(name, value.to_owned())]).collect()
}
