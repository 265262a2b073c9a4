//! Commands that the unit's own device server executes: on the unit's thread with this thread's buffers, or here where none waits.

use super::{CommandContext, Data};
use crate::volume::MAX_TRANSFER;
use crate::volume::tape_unit::{UnitCommand, UnitOrder};
use iscsi::scsi::{Ending, PassedCommand, Sense, SenseKey};
use std::sync::{Arc, Mutex, PoisonError};

/// INTERNAL TARGET FAILURE.
const FAILED: Ending = Ending::check(Sense::new(SenseKey::HardwareError, 0x4400));

impl CommandContext<'_> {
    /// Has it executed. The data of the answer is what goes to the initiator, also where there is sense data.
    pub(super) async fn pass(&self, command: &PassedCommand, data: Data) -> (Ending, Data) {
        let Some(unit) = &self.volume.tape else { return (FAILED, data) };
        let mut room = match command.data_in.min(MAX_TRANSFER) as usize {
            0 => None,
            len => Some(self.hub.buffer(len).await),
        };
        let sent = data.as_slice().unwrap_or_default();
        let answer = Arc::new(Mutex::new(None));
        let order = UnitCommand {
            id: 0,
            mail: self.hub.mail(),
            command: command.clone(),
            data: (sent.as_ptr(), sent.len()),
            room: room
                .as_mut()
                .map_or((std::ptr::null_mut(), 0), |room| (room.as_mut_ptr(), room.len())),
            answer: Arc::clone(&answer),
        };
        let answer = match unit.at_once(order) {
            Ok(answer) => Some(answer),
            Err(order) => {
                let order = |id| unit.order(UnitOrder::Execute(UnitCommand { id, ..order }));
                self.hub.elsewhere(order).await;
                answer.lock().unwrap_or_else(PoisonError::into_inner).take()
            }
        };
        let Some(answer) = answer else { return (FAILED, data) };
        unit.note(&answer);
        match room {
            Some(mut room) if answer.moved > 0 => {
                room.truncate(answer.moved);
                (answer.ending, Data::Buffer(room))
            }
            Some(_) => (answer.ending, Data::None),
            None => (answer.ending, data),
        }
    }
}
