//! Fibre Channel hosts and their virtual ports (NPIV) in sysfs: counters, speed, names, creation and removal.
//!
//! Counters are hexadecimal, payload in words of 4 bytes; all ones says that the driver does not count. A virtual port is an
//! FC host of its own below the one that carries it, known by its WWPN: that is how a VM is found.

use crate::source::{Amount, Look, Place, Source, Trouble};
use crate::sysfs;
use hop::HopKind;
use record::CounterId;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

const WORD: f64 = 4.0;

/// FC hosts of a machine.
pub struct FcHosts {
    sys: PathBuf,
    names: Vec<String>,
}

impl FcHosts {
    /// With the tree at this root in the place of `/sys`.
    pub fn new(sys: &Path) -> FcHosts {
        FcHosts { sys: sys.to_owned(), names: Vec::new() }
    }

    fn node(&self, host: &str) -> PathBuf {
        self.sys.join("class/fc_host").join(host)
    }

    /// The host that carries a virtual port; `None` for a port of its own.
    fn carrier(&self, host: &str) -> Option<String> {
        let real = fs::canonicalize(self.node(host)).ok()?;
        let mut hosts = real.ancestors().filter_map(|at| {
            let name = at.file_name()?.to_str()?;
            name.strip_prefix("host")?.parse::<u32>().ok()?;
            Some(name.to_owned())
        });
        hosts.find(|of| of != host)
    }

    fn speed(&self, host: &str) -> Option<f64> {
        sysfs::text(&self.node(host).join("speed")).and_then(|text| telemetry::fc_speed(&text))
    }
}

impl Source for FcHosts {
    fn discover(&mut self) -> Result<Vec<Place>, Trouble> {
        self.names = sysfs::names(&self.sys.join("class/fc_host"));
        let place = |host: &String| {
            let of = |file: &str| sysfs::text(&self.node(host).join(file)).unwrap_or_default();
            let place = Place::new(HopKind::InitiatorPort, host).known_as(&of("port_name"));
            let place = place
                .fact("wwpn", of("port_name"))
                .fact("wwnn", of("node_name"))
                .fact("fabric", of("fabric_name"))
                .fact("state", of("port_state"))
                .fact("speed", of("speed"))
                .fact("npiv-of", self.carrier(host).unwrap_or_default());
            let used = of("npiv_vports_inuse");
            match (used.as_str(), of("max_npiv_vports").as_str()) {
                ("", _) | (_, "" | "0") => place,
                (used, most) => place.fact("npiv-ports", format!("{used} of {most}")),
            }
        };
        Ok(self.names.iter().map(place).collect())
    }

    fn look(&mut self) -> Result<Option<Look>, Trouble> {
        let place = |host: &String| {
            let statistics = self.node(host).join("statistics");
            let grows = |id, file: &str, unit| {
                let raw = sysfs::number(&statistics.join(file))?;
                Some((id, Amount::Grows { raw, bits: 64, unit }))
            };
            let mut out = Vec::new();
            out.extend(grows(CounterId::ReadBytes, "rx_words", WORD));
            out.extend(grows(CounterId::WriteBytes, "tx_words", WORD));
            for file in
                ["error_frames", "invalid_crc_count", "link_failure_count", "loss_of_sync_count"]
            {
                out.extend(grows(CounterId::Errors, file, 1.0));
            }
            out.extend(grows(CounterId::Discards, "dumped_frames", 1.0));
            out.extend(self.speed(host).map(|rate| (CounterId::PortRate, Amount::Level(rate))));
            out
        };
        let places = self.names.iter().map(place).collect();
        Ok(Some(Look { at: clock::now(), life: 0, places }))
    }
}

/// A port of an FC host, its own or a virtual one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FcPort {
    /// The FC host: `host4`.
    pub host: String,
    /// Its port's name in the fabric.
    pub wwpn: String,
    /// Its node's name.
    pub wwnn: String,
    /// `Online`, `Linkdown`, …
    pub state: String,
    /// `8 Gbit`.
    pub speed: String,
    /// The FC host that carries it, where it is a virtual port.
    pub carrier: Option<String>,
    /// Block devices that are reached through it.
    pub disks: Vec<String>,
}

/// The ports of all FC hosts of a machine.
pub fn ports(sys: &Path) -> Vec<FcPort> {
    let hosts = FcHosts { sys: sys.to_owned(), names: sysfs::names(&sys.join("class/fc_host")) };
    let port = |host: &String| {
        let of = |file: &str| sysfs::text(&hosts.node(host).join(file)).unwrap_or_default();
        FcPort {
            host: host.clone(),
            wwpn: of("port_name"),
            wwnn: of("node_name"),
            state: of("port_state"),
            speed: of("speed"),
            carrier: hosts.carrier(host),
            disks: disks(sys, host),
        }
    };
    hosts.names.iter().map(port).collect()
}

/// The block devices below an FC host, but not those of its virtual ports: the nearest SCSI host above a device is its own.
fn disks(sys: &Path, host: &str) -> Vec<String> {
    let own = |disk: &String| {
        let real = fs::canonicalize(sys.join("block").join(disk)).ok()?;
        let mut hosts = real.ancestors().filter_map(|at| {
            let name = at.file_name()?.to_str()?;
            name.strip_prefix("host")?.parse::<u32>().ok()?;
            Some(name.to_owned())
        });
        hosts.next().filter(|nearest| nearest == host)
    };
    sysfs::names(&sys.join("block")).into_iter().filter(|disk| own(disk).is_some()).collect()
}

/// Creates a virtual port at an FC host, or removes it.
/// # Errors
/// The names are no WWNs, the host carries no virtual ports, or the driver refuses: its answer.
pub fn vport(sys: &Path, host: &str, wwpn: &str, wwnn: &str, create: bool) -> io::Result<()> {
    let bare = |name: &str| {
        let known = telemetry::canonical(name);
        let known = known.as_deref().and_then(|known| known.strip_prefix("wwn."));
        known.map(str::to_owned).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, format!("`{name}` is no WWN"))
        })
    };
    let names = format!("{}:{}", bare(wwpn)?, bare(wwnn)?);
    let file = if create { "vport_create" } else { "vport_delete" };
    // It exists where the driver can: opened without making it.
    let path = sys.join("class/fc_host").join(host).join(file);
    File::options().append(true).open(path)?.write_all(names.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A port with a virtual one below it, as lpfc shows them.
    fn tree() -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a directory");
        let port = dir.path().join("devices/pci0/host4/fc_host/host4");
        let virtual_port = dir.path().join("devices/pci0/host4/vport-4:0-0/host9/fc_host/host9");
        let class = dir.path().join("class/fc_host");
        fs::create_dir_all(&class).expect("a class");
        for (node, wwpn, words) in
            [(&port, "0x10000000c9123456", "0x100"), (&virtual_port, "0xc0507600a1b20001", "0x10")]
        {
            fs::create_dir_all(node.join("statistics")).expect("a host");
            for (file, text) in [
                ("port_name", wwpn),
                ("node_name", "0x20000000c9123456"),
                ("speed", "8 Gbit"),
                ("port_state", "Online"),
                ("statistics/rx_words", words),
                ("statistics/tx_words", "0xffffffffffffffff"),
                ("statistics/invalid_crc_count", "0x3"),
                ("statistics/error_frames", "0x2"),
            ] {
                fs::write(node.join(file), format!("{text}\n")).expect(file);
            }
            std::os::unix::fs::symlink(node, class.join(node.file_name().expect("a name")))
                .expect("a link");
        }
        fs::write(port.join("vport_create"), "").expect("a switch");
        fs::write(port.join("vport_delete"), "").expect("a switch");
        dir
    }

    #[test]
    fn a_port_is_known_by_its_wwpn_and_a_virtual_one_by_whose_it_is() {
        let dir = tree();
        let places = FcHosts::new(dir.path()).discover().expect("hosts");
        let names: Vec<&str> = places.iter().map(|place| place.name.as_str()).collect();
        assert_eq!(names, ["host4", "host9"]);
        assert!(
            places[0].is("10:00:00:00:c9:12:34:56") && !places[0].is("10:00:00:00:c9:12:34:57")
        );
        assert!(places[1].is("c0:50:76:00:a1:b2:00:01"));
        let of = |n: usize| places[n].facts.iter().find(|f| f.0 == "npiv-of").map(|f| f.1.as_str());
        assert_eq!((of(0), of(1)), (None, Some("host4")));
    }

    #[test]
    fn all_ones_are_absent_and_words_are_four_bytes() {
        let dir = tree();
        let mut hosts = FcHosts::new(dir.path());
        hosts.discover().expect("hosts");
        let look = hosts.look().expect("a look").expect("news");
        let of = |id| look.places[0].iter().filter(|e| e.0 == id).map(|e| e.1).collect::<Vec<_>>();
        let words = Amount::Grows { raw: 256, bits: 64, unit: 4.0 };
        assert_eq!(of(CounterId::ReadBytes), [words]);
        assert_eq!(of(CounterId::WriteBytes), []);
        assert_eq!(of(CounterId::Errors).len(), 2);
        assert_eq!(of(CounterId::PortRate), [Amount::Level(850e6)]);
    }

    #[test]
    fn a_virtual_port_is_made_and_removed_where_the_driver_can() {
        let dir = tree();
        let (wwpn, wwnn) = ("c0:50:76:00:a1:b2:00:02", "0x20000000c9123456");
        for create in [true, false] {
            vport(dir.path(), "host4", wwpn, wwnn, create).expect("a switch");
        }
        let written = |file| fs::read_to_string(dir.path().join("class/fc_host/host4").join(file));
        let expected = "c0507600a1b20002:20000000c9123456";
        assert_eq!(written("vport_create").expect("text"), expected);
        assert_eq!(written("vport_delete").expect("text"), expected);
        assert!(vport(dir.path(), "host9", wwpn, wwnn, true).is_err());
        assert!(vport(dir.path(), "host4", "a name", wwnn, true).is_err());
        assert!(!dir.path().join("class/fc_host/host9/vport_create").exists());
    }
}
