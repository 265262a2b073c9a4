//! Text requests of the full-feature phase: SendTargets only.

use super::context::Context;
use super::session::WorkerSession;
use crate::server::discovery;
use iscsi::target::ConnId;
use iscsi::text;

/// More keys than any initiator has to ask about.
const MOST_KEYS: usize = 32;

impl WorkerSession {
    /// The answer to a text request.
    pub fn answer_text(&self, ctx: &Context, conn: ConnId, request: &[u8]) -> Vec<u8> {
        let mut answer = Vec::new();
        let Some(connection) = self.connections[conn.index()].as_deref() else { return answer };
        for (key, value) in text::parse(request, MOST_KEYS).unwrap_or_default() {
            if key != "SendTargets" {
                text::push(&mut answer, key, "NotUnderstood");
                continue;
            }
            let shared = &ctx.shared;
            for (key, value) in
                discovery::targets(shared.device.name(), &shared.ports, value, connection.local)
            {
                text::push(&mut answer, &key, &value);
            }
        }
        answer
    }
}
