//! Text requests of the full-feature phase: SendTargets, and nothing else that could be negotiated.

use super::bench::Bench;
use super::seat::Seat;
use crate::server::discovery;
use iscsi::target::ConnId;
use iscsi::text;

/// More keys than any initiator has to ask about.
const MOST_KEYS: usize = 32;

impl Seat {
    /// The answer to a text request.
    pub fn answer_text(&self, bench: &Bench, conn: ConnId, request: &[u8]) -> Vec<u8> {
        let mut answer = Vec::new();
        let Some(line) = self.lines[conn.index()].as_deref() else { return answer };
        for (key, value) in text::parse(request, MOST_KEYS).unwrap_or_default() {
            if key != "SendTargets" {
                text::push(&mut answer, key, "NotUnderstood");
                continue;
            }
            let shared = &bench.shared;
            for (key, value) in
                discovery::targets(shared.device.name(), &shared.ports, value, line.local)
            {
                text::push(&mut answer, &key, &value);
            }
        }
        answer
    }
}
