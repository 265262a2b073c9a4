//! A device with units to test, and helpers that compare answers.

use iscsi::scsi::{
    Action, CdbBytes, Device, Ending, Geometry, Medium, Nexus, ScsiStatus, UnitDescription,
};

/// Blocks of the unit under test.
pub const BLOCKS: u64 = 131_072;

/// A device with four units: thin, thick, read-only, and thin with blocks of 4096 bytes. Two initiators are logged in
/// and have no pending attentions; the second one uses the other port.
pub struct Rig {
    pub device: Device,
    pub a: Nexus,
    pub b: Nexus,
}

pub const THIN: u64 = 0;
pub const THICK: u64 = 1 << 48;
pub const READ_ONLY: u64 = 2 << 48;
pub const LARGE: u64 = 3 << 48;

pub fn description(serial: &str) -> UnitDescription {
    UnitDescription {
        geometry: Geometry { block: 512, blocks: BLOCKS },
        thin: false,
        read_only: false,
        write_back: true,
        keeps_reservations: true,
        serial: serial.to_owned(),
        product: "volume".to_owned(),
        revision: "1".to_owned(),
    }
}

impl Rig {
    pub fn new() -> Rig {
        let large = Geometry { block: 4096, blocks: BLOCKS / 8 };
        let units = vec![
            UnitDescription { thin: true, ..description("thin") },
            description("thick"),
            UnitDescription { read_only: true, ..description("read-only") },
            UnitDescription {
                thin: true,
                geometry: large,
                write_back: false,
                ..description("large")
            },
        ];
        let device = Device::new("iqn.2026-01.example:target", &[1, 2], units);
        let a = Nexus::new("iqn.2026-01.example:a", [0x40, 0, 0, 0, 0, 1], 1);
        let b = Nexus::new("iqn.2026-01.example:b", [0x40, 0, 0, 0, 0, 2], 2);
        let rig = Rig { device, a, b };
        for nexus in [&rig.a, &rig.b] {
            rig.join(nexus);
        }
        rig
    }

    /// Logs a nexus in and clears its POWER ON attention.
    pub fn join(&self, nexus: &Nexus) {
        self.device.join(nexus);
        for lun in [THIN, THICK, READ_ONLY, LARGE] {
            let heard = self.on(lun, nexus, "00 00 00 00 00 00", &[]);
            assert_eq!(code(&heard), Some(0x2900), "{nexus:?}");
        }
    }

    /// The same for the thin unit only.
    pub fn join_thin(&self, nexus: &Nexus) {
        self.device.join(nexus);
        assert_eq!(code(&self.on(THIN, nexus, "00", &[])), Some(0x2900));
    }

    /// A command of the first initiator to the thin unit.
    pub fn run(&self, cdb: &str) -> Action {
        self.on(THIN, &self.a, cdb, &[])
    }

    /// The same with parameters or the data of one block.
    pub fn with(&self, cdb: &str, data: &[u8]) -> Action {
        self.on(THIN, &self.a, cdb, data)
    }

    /// Executes a command, with parameters if it wants them.
    pub fn on(&self, lun: u64, nexus: &Nexus, cdb: &str, data: &[u8]) -> Action {
        let cdb = parse(cdb);
        match self.device.begin(lun, nexus, &cdb, data.len() as u32) {
            Action::Parameters(len) => {
                let len = data.len().min(len as usize);
                self.device.parameters(lun, nexus, &cdb, &data[..len])
            }
            action => action,
        }
    }
}

/// A CDB from hexadecimal digits.
#[track_caller]
pub fn parse(text: &str) -> CdbBytes {
    let mut cdb = [0; 16];
    let bytes = bytes(text);
    cdb[..bytes.len()].copy_from_slice(&bytes);
    cdb
}

/// Bytes from hexadecimal digits.
#[track_caller]
pub fn bytes(text: &str) -> Vec<u8> {
    let digits: String = text.split_whitespace().collect();
    assert!(digits.len().is_multiple_of(2), "{text}");
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
        .collect()
}

/// The sense code that an action ends with.
pub fn code(action: &Action) -> Option<u16> {
    match action {
        Action::End(Ending { sense: Some(sense), .. }) => Some(sense.code),
        _ => None,
    }
}

/// The invalid byte of the CDB or of the parameters.
pub fn field(action: &Action) -> Option<(bool, u16)> {
    match action {
        Action::End(Ending { sense: Some(sense), .. }) => {
            sense.field.map(|(cdb, byte, _)| (cdb, byte))
        }
        _ => None,
    }
}

#[track_caller]
pub fn reply(action: Action) -> Vec<u8> {
    match action {
        Action::Reply(bytes) => bytes,
        other => panic!("no reply: {other:?}"),
    }
}

#[track_caller]
pub fn medium(action: Action) -> Medium {
    match action {
        Action::Medium(medium) => medium,
        other => panic!("nothing for the medium: {other:?}"),
    }
}

#[track_caller]
pub fn good(action: Action) {
    assert_eq!(action, Action::End(Ending::GOOD));
}

#[track_caller]
pub fn refused(action: Action, sense: u16) {
    assert_eq!(code(&action), Some(sense), "{action:x?}");
}

#[track_caller]
pub fn conflict(action: Action) {
    assert_eq!(action, Action::End(Ending::bare(ScsiStatus::ReservationConflict)));
}
