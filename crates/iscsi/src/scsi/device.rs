//! The SCSI target device: its name, ports and logical units. All commands of sessions enter here.

use super::cdb::CdbBytes;
use super::unit::{CommandResult, LogicalUnit};
use super::{Action, CommandSpec, Nexus, UnitAttention, UnitDescription, copy, luns};

/// Most logical units of a device: the range of the flat addressing method.
pub const MOST_UNITS: usize = 1 << 14;

/// A target device.
#[derive(Debug)]
pub struct Device {
    name: String,
    ports: Vec<u16>,
    units: Vec<LogicalUnit>,
}

/// The meaning of an eight-byte LUN (SAM-5, 4.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LunAddress {
    /// A logical unit by its number.
    Unit(usize),
    /// The well-known logical unit REPORT LUNS.
    Reporter,
    /// An impossible address.
    Nowhere,
}

impl Device {
    /// A device with its iSCSI name, its portal group tags (each is one target port and one target port group) and
    /// its logical units, LUN 0 first. Units beyond [`MOST_UNITS`] are left out.
    pub fn new(name: &str, ports: &[u16], units: Vec<UnitDescription>) -> Device {
        let units =
            units.into_iter().take(MOST_UNITS).map(|unit| LogicalUnit::new(unit, ports)).collect();
        Device { name: name.to_owned(), ports: ports.to_vec(), units }
    }

    /// Adds a unit, unless there are [`MOST_UNITS`]. `commands`: those of a unit that is no disk, which its own device server
    /// executes.
    pub fn add(&mut self, unit: UnitDescription, commands: Option<&'static [CommandSpec]>) {
        if self.units.len() < MOST_UNITS {
            self.units.push(LogicalUnit::new(unit, &self.ports).passing(commands));
        }
    }

    /// The iSCSI name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The tags of the portal groups.
    pub fn ports(&self) -> &[u16] {
        &self.ports
    }

    /// The logical units in order of their numbers.
    pub fn units(&self) -> &[LogicalUnit] {
        &self.units
    }

    /// The index into [`Device::units`] that a LUN field names.
    pub fn index(&self, lun: u64) -> Option<usize> {
        match LunAddress::parse(lun) {
            LunAddress::Unit(index) if index < self.units.len() => Some(index),
            _ => None,
        }
    }

    /// The logical unit that a LUN field names.
    pub fn unit(&self, lun: u64) -> Option<&LogicalUnit> {
        self.units.get(self.index(lun)?)
    }

    /// Starts a command. `expected`: the expected data transfer length in bytes. Missing LUNs are answered too.
    pub fn begin(&self, lun: u64, nexus: &Nexus, cdb: &CdbBytes, expected: u32) -> Action {
        self.act(lun, nexus, cdb, expected, None)
    }

    /// Continues a command for which [`Action::Parameters`] was returned, with its parameters.
    pub fn parameters(&self, lun: u64, nexus: &Nexus, cdb: &CdbBytes, bytes: &[u8]) -> Action {
        self.act(lun, nexus, cdb, bytes.len() as u32, Some(bytes))
    }

    /// A session has logged in: every unit raises a unit attention for its nexus.
    pub fn join(&self, nexus: &Nexus) {
        self.units.iter().for_each(|unit| unit.join(nexus));
    }

    /// A session has ended in any way: the nexus is lost.
    pub fn leave(&self, nexus: &Nexus) {
        self.units.iter().for_each(|unit| unit.leave(nexus));
    }

    /// TARGET WARM RESET or TARGET COLD RESET. For LOGICAL UNIT RESET see [`LogicalUnit::reset`].
    pub fn reset(&self) {
        self.units.iter().for_each(|unit| unit.reset(UnitAttention::BusReset));
    }

    fn act(
        &self,
        lun: u64,
        nexus: &Nexus,
        cdb: &CdbBytes,
        expected: u32,
        parameters: Option<&[u8]>,
    ) -> Action {
        let outcome = match LunAddress::parse(lun) {
            LunAddress::Unit(index) if index < self.units.len() => {
                let unit = &self.units[index];
                unit.call(self, nexus, cdb, expected, parameters)
                    .and_then(|action| self.checked(unit, nexus, action))
            }
            LunAddress::Reporter => luns::well_known(self, cdb),
            _ => luns::absent(self, cdb),
        };
        outcome.unwrap_or_else(Action::End)
    }
}

impl Device {
    /// A copy needs the permission of the other units too.
    fn checked(&self, unit: &LogicalUnit, nexus: &Nexus, action: Action) -> CommandResult {
        if let Action::Copy { list, segments } = &action
            && let Err(refused) = copy::admit_others(self, unit, nexus, segments)
        {
            unit.copied(nexus, *list, &refused);
            return Err(refused);
        }
        Ok(action)
    }
}

impl LunAddress {
    /// Decodes a LUN field. Peripheral device addressing of bus 0 and flat addressing name the same units.
    pub fn parse(lun: u64) -> LunAddress {
        let [a, b, rest @ ..] = lun.to_be_bytes();
        if rest != [0; 6] {
            return LunAddress::Nowhere;
        }
        match (a >> 6, a & 0x3f, b) {
            (0, 0, number) => LunAddress::Unit(usize::from(number)),
            (1, high, low) => LunAddress::Unit(usize::from(high) << 8 | usize::from(low)),
            (3, 0x01, 0x01) => LunAddress::Reporter,
            _ => LunAddress::Nowhere,
        }
    }

    /// Encodes the number of a logical unit as a LUN field.
    pub fn field(index: usize) -> [u8; 8] {
        let [high, low] = (index as u16).to_be_bytes();
        let method = if index < 256 { 0 } else { 0x40 };
        [method | high, low, 0, 0, 0, 0, 0, 0]
    }
}
