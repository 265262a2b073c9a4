//! What holds for every command to a unit of a library, whatever its bytes are. The fuzz targets hold it too.

use iscsi::scsi::{CommandSpec, PassAccess, PassedCommand, ScsiStatus};
use tape::Library;

/// Executes a command as the target does, and checks its answer.
pub fn hold(library: &Library, unit: usize, command: &PassedCommand, data: &[u8]) {
    let Ok(spec) = CommandSpec::find(Library::commands(unit), &command.cdb) else { return };
    if spec.fits(&command.cdb).is_err() || spec.access == PassAccess::Common {
        return;
    }
    let mut room = vec![0xa5; command.data_in as usize];
    let answer = library.execute(unit, clock::Ns::secs(1), command, data, &mut room);
    assert!(answer.moved <= room.len(), "{command:?}");
    assert!(room[answer.moved..].iter().all(|byte| *byte == 0xa5), "{command:?} wrote beyond");
    match answer.ending.status {
        ScsiStatus::Good => assert_eq!(answer.ending.sense, None),
        ScsiStatus::CheckCondition => {
            let sense = answer.ending.sense.expect("sense data");
            assert_ne!(sense.code, 0x4400, "{command:?}: an internal failure");
            for descriptor in [false, true] {
                assert!(sense.encode(descriptor).len() <= iscsi::scsi::Sense::LONGEST);
            }
        }
        status => panic!("{command:?}: {status:?}"),
    }
    let inventory = library.inventory();
    let mut barcodes: Vec<_> = inventory.iter().filter_map(|one| one.1.as_ref()).collect();
    let count = barcodes.len();
    barcodes.sort();
    barcodes.dedup();
    assert_eq!(barcodes.len(), count, "{command:?}: a cartridge is in two elements");
    assert_eq!(count, 3, "{command:?}: a cartridge is lost");
}
