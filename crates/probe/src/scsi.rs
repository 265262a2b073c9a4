//! SCSI devices of this machine with their queues, NVMe namespaces and multipath devices, from sysfs.
//!
//! A device counts commands asked for, done, failed and late (`iorequest_cnt` and its siblings, hexadecimal); what was asked
//! for and is not done is in flight. Its queue depth says how many may be. Names of devices change with every boot, so they are
//! known by their WWID, and by the serial number of their controller.

use crate::source::{Amount, Look, Place, Source, Trouble};
use crate::sysfs;
use hop::HopKind;
use record::CounterId;
use std::fs;
use std::path::{Path, PathBuf};

/// SCSI devices of a machine as the queues of LUNs that they are.
pub struct ScsiDevices {
    sys: PathBuf,
    names: Vec<String>,
}

impl ScsiDevices {
    /// With the tree at this root in the place of `/sys`.
    pub fn new(sys: &Path) -> ScsiDevices {
        ScsiDevices { sys: sys.to_owned(), names: Vec::new() }
    }

    fn node(&self, name: &str) -> PathBuf {
        self.sys.join("class/scsi_device").join(name).join("device")
    }
}

impl Source for ScsiDevices {
    fn discover(&mut self) -> Result<Vec<Place>, Trouble> {
        self.names = sysfs::names(&self.sys.join("class/scsi_device"));
        let place = |name: &String| {
            let node = self.node(name);
            let of = |file: &str| sysfs::text(&node.join(file)).unwrap_or_default();
            let host = name.split(':').next().unwrap_or_default();
            let adapter = self.sys.join("class/scsi_host").join(format!("host{host}"));
            let of_host = |file: &str| sysfs::text(&adapter.join(file)).unwrap_or_default();
            let mut place = Place::new(HopKind::LunQueue, name).known_as(&of("wwid"));
            for block in sysfs::names(&node.join("block")) {
                place = place.known_as(&block).fact("device", block);
            }
            place
                .fact("wwid", of("wwid"))
                .fact("model", of("model"))
                .fact("state", of("state"))
                .fact("adapter", of_host("proc_name"))
                .fact("adapter-slots", of_host("can_queue"))
        };
        Ok(self.names.iter().map(place).collect())
    }

    fn look(&mut self) -> Result<Option<Look>, Trouble> {
        let place = |name: &String| {
            let node = self.node(name);
            let number = |file: &str| sysfs::number(&node.join(file));
            let bits = number("iocounterbits").map_or(0, |bits| u32::try_from(bits).unwrap_or(0));
            // Done before asked for: what is done in between is not in flight twice.
            let done = number("iodone_cnt");
            let asked = number("iorequest_cnt");
            let grows =
                |id, raw: Option<u64>| Some((id, Amount::Grows { raw: raw?, bits, unit: 1.0 }));
            let level = |id, value: Option<u64>| Some((id, Amount::Level(value? as f64)));
            let open = asked.zip(done).map(|(asked, done)| asked.saturating_sub(done));
            let depth = number("queue_depth").filter(|depth| *depth > 0);
            [
                grows(CounterId::Commands, done),
                grows(CounterId::Errors, number("ioerr_cnt")),
                grows(CounterId::Timeouts, number("iotmo_cnt")),
                level(CounterId::SlotsUsed, open.filter(|_| depth.is_some())),
                level(CounterId::QueueDepthEnd, open),
                level(CounterId::Slots, depth),
            ]
            .into_iter()
            .flatten()
            .collect()
        };
        let places = self.names.iter().map(place).collect();
        Ok(Some(Look { at: clock::now(), life: 0, places }))
    }
}

/// Identities of a block device: its WWID, the serial number of its controller, the UUID of what the device mapper made.
pub fn identities(sys: &Path, device: &str) -> Vec<String> {
    let node = sys.join("block").join(device);
    let files = ["wwid", "device/wwid", "device/serial", "serial", "dm/uuid"];
    let mut found: Vec<String> =
        files.iter().filter_map(|file| sysfs::text(&node.join(file))).collect();
    // `mpath-3600…`: a 3 for NAA before the identifier itself.
    let naa = found.iter().find_map(|id| Some(format!("naa.{}", id.strip_prefix("mpath-3")?)));
    found.extend(naa);
    found.dedup();
    found
}

/// A path below a multipath device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MultipathPath {
    /// The block device.
    pub device: String,
    /// What the kernel says of it: `running`, `offline`, `transport-offline`, `live`.
    pub state: String,
}

/// The paths below a block device, where it is one of dm-multipath or of NVMe with several controllers.
pub fn paths(sys: &Path, device: &str) -> Vec<MultipathPath> {
    let node = sys.join("block").join(device);
    let is_multipath =
        sysfs::text(&node.join("dm/uuid")).is_some_and(|id| id.starts_with("mpath-"));
    let below = match is_multipath {
        true => sysfs::names(&node.join("slaves")),
        false => sysfs::names(&node.join("multipath")),
    };
    let path = |device: String| {
        let node = fs::canonicalize(sys.join("block").join(&device)).unwrap_or_default();
        let state = sysfs::text(&node.join("device/state")).unwrap_or_else(|| "unknown".to_owned());
        MultipathPath { device, state }
    };
    below.into_iter().map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, files: &[(&str, &str)]) {
        for (file, text) in files {
            let path = root.join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
            fs::write(path, format!("{text}\n")).expect(file);
        }
    }

    #[test]
    fn commands_asked_for_and_not_done_fill_the_queue() {
        let dir = tempfile::tempdir().expect("a directory");
        let node = "class/scsi_device/4:0:1:0/device";
        let file = |name: &str| format!("{node}/{name}");
        write(
            dir.path(),
            &[
                (&file("iocounterbits"), "32"),
                (&file("iorequest_cnt"), "0x1f"),
                (&file("iodone_cnt"), "0x10"),
                (&file("ioerr_cnt"), "0x2"),
                (&file("queue_depth"), "32"),
                (&file("wwid"), "naa.600140512345678"),
                (&file("block/sdc/size"), "1"),
                ("class/scsi_host/host4/can_queue", "2048"),
            ],
        );
        let mut devices = ScsiDevices::new(dir.path());
        let places = devices.discover().expect("devices");
        assert!(
            places[0].is("naa.600140512345678") && places[0].is("sdc") && places[0].is("4:0:1:0")
        );
        assert!(places[0].facts.contains(&("adapter-slots".to_owned(), "2048".to_owned())));
        let look = devices.look().expect("a look").expect("news");
        let of = |id| look.places[0].iter().find(|e| e.0 == id).map(|e| e.1);
        assert_eq!(of(CounterId::SlotsUsed), Some(Amount::Level(15.0)));
        assert_eq!(of(CounterId::Slots), Some(Amount::Level(32.0)));
        assert_eq!(of(CounterId::Commands), Some(Amount::Grows { raw: 16, bits: 32, unit: 1.0 }));
        // An older kernel counts no timeouts.
        assert_eq!(of(CounterId::Timeouts), None);
    }

    #[test]
    fn a_multipath_device_names_its_paths_and_its_lun() {
        let dir = tempfile::tempdir().expect("a directory");
        write(
            dir.path(),
            &[
                ("block/dm-3/dm/uuid", "mpath-3600140500000000000000000000000ab"),
                ("block/dm-3/slaves/sdb/size", "1"),
                ("block/dm-3/slaves/sdaa/size", "1"),
                ("block/sdb/device/state", "running"),
                ("block/sdaa/device/state", "transport-offline"),
                ("block/dm-4/dm/uuid", "LVM-abc"),
                ("block/dm-4/slaves/sdb/size", "1"),
                ("block/nvme0n1/wwid", "eui.0025385b71b00001"),
                ("block/nvme0n1/device/serial", "S4EVNF0M"),
                ("block/nvme0n1/multipath/nvme0c0n1/size", "1"),
            ],
        );
        let of = |device| -> Vec<String> {
            let all = paths(dir.path(), device);
            all.into_iter().map(|path| format!("{} {}", path.device, path.state)).collect()
        };
        assert_eq!(of("dm-3"), ["sdb running", "sdaa transport-offline"]);
        assert_eq!(of("dm-4"), Vec::<String>::new());
        assert_eq!(of("nvme0n1"), ["nvme0c0n1 unknown"]);
        let ids = identities(dir.path(), "dm-3");
        assert_eq!(ids[1], "naa.600140500000000000000000000000ab");
        assert_eq!(identities(dir.path(), "nvme0n1"), ["eui.0025385b71b00001", "S4EVNF0M"]);
    }
}
