//! `wirespeed vport ls|create|delete`: virtual Fibre Channel ports (NPIV) of this machine.

use crate::cli::{Format, VportAction, VportArgs, VportNames};
use crate::exit::{Exit, Failure};
use crate::out;
use probe::fc::{self, FcPort};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;

pub fn vport(args: &VportArgs) -> Result<Exit, Failure> {
    match &args.action {
        VportAction::Ls(ls) => list(&args.sys, ls.output.format),
        VportAction::Create(names) => create(&args.sys, names),
        VportAction::Delete(names) => delete(&args.sys, names),
    }
}

fn list(sys: &Path, format: Format) -> Result<Exit, Failure> {
    let ports = fc::ports(sys);
    if format == Format::Json {
        let all: Vec<Value> = ports.iter().map(as_json).collect();
        return out::result(&format!("{:#}\n", json!({ "ports": all }))).map(|()| Exit::Met);
    }
    let mut text = String::new();
    for port in &ports {
        let what = match &port.carrier {
            Some(host) => format!("virtual port of {host}"),
            None => format!("{}, {}", port.state, port.speed),
        };
        let disks = match &port.disks[..] {
            [] => String::new(),
            disks => format!(", carries {}", disks.join(", ")),
        };
        let _ = writeln!(text, "{:<8} {}  {what}{disks}", port.host, port.wwpn);
    }
    if ports.is_empty() {
        text += "no Fibre Channel host is on this machine\n";
    }
    out::result(&text).map(|()| Exit::Met)
}

fn as_json(port: &FcPort) -> Value {
    json!({
        "host": port.host,
        "wwpn": port.wwpn,
        "wwnn": port.wwnn,
        "state": port.state,
        "speed": port.speed,
        "virtual_port_of": port.carrier,
        "disks": port.disks,
    })
}

fn create(sys: &Path, names: &VportNames) -> Result<Exit, Failure> {
    carrier(sys, names)?;
    if let Some(port) = known(sys, names) {
        return Err(Failure::usage(format!("{} is the port {} already", names.wwpn, port.host)));
    }
    change(sys, names, true)
}

fn delete(sys: &Path, names: &VportNames) -> Result<Exit, Failure> {
    carrier(sys, names)?;
    let Some(port) = known(sys, names).filter(|port| port.carrier.as_ref() == Some(&names.host))
    else {
        return Err(Failure::usage(format!(
            "{} is no virtual port of {}; `wirespeed vport ls` lists them",
            names.wwpn, names.host
        )));
    };
    if !port.disks.is_empty() {
        return Err(Failure::Other(
            Exit::Refused,
            format!(
                "{} carries {}, which would be gone; remove these disks first (`echo 1 > /sys/block/{}/device/delete`)",
                port.host,
                port.disks.join(", "),
                port.disks[0]
            ),
        ));
    }
    change(sys, names, false)
}

/// The port that is to carry the virtual one.
fn carrier(sys: &Path, names: &VportNames) -> Result<(), Failure> {
    let ports = fc::ports(sys);
    if ports.iter().any(|port| port.host == names.host) {
        return Ok(());
    }
    let all: Vec<&str> = ports.iter().map(|port| port.host.as_str()).collect();
    let there = match &all[..] {
        [] => "there is none on this machine".to_owned(),
        all => format!("there are {}", all.join(", ")),
    };
    Err(Failure::usage(format!("no Fibre Channel host is called {}: {there}", names.host)))
}

/// The port that has the WWPN.
fn known(sys: &Path, names: &VportNames) -> Option<FcPort> {
    let wanted = telemetry::canonical(&names.wwpn)?;
    fc::ports(sys)
        .into_iter()
        .find(|port| telemetry::canonical(&port.wwpn).as_ref() == Some(&wanted))
}

fn change(sys: &Path, names: &VportNames, create: bool) -> Result<Exit, Failure> {
    let done = fc::vport(sys, &names.host, &names.wwpn, &names.wwnn, create);
    done.map(|()| Exit::Met).map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidInput => Failure::usage(error.to_string()),
        std::io::ErrorKind::NotFound => {
            Failure::incomplete(format!("{} carries no virtual ports (NPIV)", names.host))
        }
        _ => Failure::incomplete(format!("{}: the driver refuses: {error}", names.host)),
    })
}
