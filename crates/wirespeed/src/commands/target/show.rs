//! What a target says of itself once it listens: its name, its portals, and a URL for each volume by each portal.

use crate::cli::Format;
use san::server::PortalConfig;
use san::volume::{VolumeAttributes, VolumeKind, VolumeSpec};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::net::SocketAddr;

/// A target that listens.
pub struct Shown<'a> {
    pub iqn: &'a str,
    /// As they were asked for, with the addresses that they have got.
    pub portals: Vec<PortalConfig>,
    /// As they were asked for, with what they are.
    pub volumes: Vec<(String, VolumeAttributes)>,
    /// How many of them are disks; the others are units of a tape library.
    pub disks: usize,
}

impl Shown<'_> {
    /// The same for people or for programs.
    pub fn render(&self, format: Format) -> String {
        match format {
            Format::Text => self.text(),
            Format::Json => format!("{:#}\n", self.document()),
        }
    }

    fn text(&self) -> String {
        let mut out = format!("{}\n", self.iqn);
        for portal in &self.portals {
            let rate =
                portal.rate.map_or_else(String::new, |rate| format!(", {rate} in each direction"));
            writeln!(out, "  portal {}, group {}{rate}", portal.address, portal.group)
                .expect("a String takes every line");
        }
        for (lun, (name, is)) in self.volumes.iter().enumerate() {
            let what = match lun < self.disks {
                true => format!("{}, {}", units::Bytes(is.blocks * u64::from(is.block)), words(is)),
                false => format!("serial {}", is.serial),
            };
            writeln!(out, "  lun {lun}: {name}, {what}").expect("a String takes every line");
            for url in self.urls(lun) {
                writeln!(out, "    {url}").expect("a String takes every line");
            }
        }
        out
    }

    fn document(&self) -> Value {
        let portals = self.portals.iter().map(|portal| {
            let rate = portal.rate.map(|rate| rate.bytes_per_s());
            json!({ "address": portal.address.to_string(), "group": portal.group, "bytes_per_s": rate })
        });
        let luns = self.volumes.iter().enumerate().map(|(lun, (name, is))| {
            if lun >= self.disks {
                let urls = self.urls(lun).collect::<Vec<_>>();
                return json!({ "lun": lun, "tape": name, "serial": is.serial, "urls": urls });
            }
            json!({
                "lun": lun,
                "volume": name,
                "bytes": is.blocks * u64::from(is.block),
                "block": is.block,
                "thin": is.thin,
                "read_only": is.read_only,
                "write_back": is.write_back,
                "serial": is.serial,
                "urls": self.urls(lun).collect::<Vec<_>>(),
            })
        });
        json!({
            "version": 1,
            "iqn": self.iqn,
            "portals": portals.collect::<Vec<_>>(),
            "luns": luns.collect::<Vec<_>>(),
        })
    }

    fn urls(&self, lun: usize) -> impl Iterator<Item = String> {
        self.portals
            .iter()
            .map(move |portal| format!("iscsi://{}/{}/{lun}", reached(portal.address), self.iqn))
    }
}

/// What holds a volume's bytes, as the user names it; tokens and sizes are left out.
pub fn named(spec: &VolumeSpec) -> String {
    match &spec.kind {
        VolumeKind::Ram { size } => format!("ram:{}", units::Bytes(*size)),
        VolumeKind::File { path, .. } => format!("file:{path}"),
        VolumeKind::Block { path } => format!("block:{path}"),
    }
}

fn words(is: &VolumeAttributes) -> String {
    let mut words = vec![format!("blocks of {}", is.block)];
    let flags = [
        (is.thin, "thin"),
        (is.read_only, "read-only"),
        (!is.read_only && !is.write_back, "write-through"),
    ];
    words.extend(flags.into_iter().filter(|(holds, _)| *holds).map(|(_, word)| word.to_owned()));
    words.push(format!("serial {}", is.serial));
    words.join(", ")
}

/// How others reach an address: a wildcard address is none to connect to.
fn reached(address: SocketAddr) -> String {
    if !address.ip().is_unspecified() {
        return address.to_string();
    }
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match name.trim() {
        "" => format!("localhost:{}", address.port()),
        name => format!("{name}:{}", address.port()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(spec: &VolumeSpec) -> Shown<'static> {
        let portal = |address: &str| PortalConfig::new(address.parse().unwrap());
        let is = VolumeAttributes {
            block: 512,
            blocks: 2048,
            thin: true,
            read_only: false,
            write_back: true,
            serial: "S1".to_owned(),
            granularity: 8,
        };
        let mut slow = portal("[::1]:3261");
        (slow.group, slow.rate) = (2, Some("4gfc".parse().unwrap()));
        Shown {
            iqn: "iqn.x:y",
            portals: vec![portal("127.0.0.1:3260"), slow],
            volumes: vec![(named(spec), is)],
            disks: 1,
        }
    }

    #[test]
    fn every_volume_has_a_url_by_every_portal() {
        let spec = "file:/a,,b,size=1MiB,thin".parse().unwrap();
        let shown = shown(&spec);
        let text = shown.render(Format::Text);
        let expected = "iqn.x:y\n  portal 127.0.0.1:3260, group 1\n  portal [::1]:3261, group 2, 413 MB/s in each direction\n  \
                        lun 0: file:/a,b, 1MiB, blocks of 512, thin, serial S1\n    iscsi://127.0.0.1:3260/iqn.x:y/0\n    \
                        iscsi://[::1]:3261/iqn.x:y/0\n";
        assert_eq!(text, expected);
        let document: Value = serde_json::from_str(&shown.render(Format::Json)).unwrap();
        assert_eq!(document["luns"][0]["urls"][1], "iscsi://[::1]:3261/iqn.x:y/0");
        assert_eq!(document["portals"][0]["bytes_per_s"], Value::Null);
        assert_eq!(document["portals"][1]["bytes_per_s"], 413_259_668);
        assert_eq!(document["luns"][0]["bytes"], 1 << 20);
    }

    #[test]
    fn no_token_is_shown() {
        let spec = "file:/a,write-token=ws-vg04y-mx10r,overwrite".parse().unwrap();
        for format in [Format::Text, Format::Json] {
            assert!(!shown(&spec).render(format).contains("ws-vg04y"));
        }
    }

    #[test]
    fn an_address_that_stands_for_all_is_not_shown_as_one() {
        assert_eq!(reached("10.0.0.1:7".parse().unwrap()), "10.0.0.1:7");
        for all in ["0.0.0.0:7", "[::]:7"] {
            let reached = reached(all.parse().unwrap());
            assert!(reached.ends_with(":7") && !reached.starts_with(['0', '[']), "{reached}");
        }
    }
}
