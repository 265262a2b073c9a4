//! Text requests of the full-feature phase: lists of targets, and a new length of data segments.

use super::context::Context;
use super::session::WorkerSession;
use crate::server::discovery;
use iscsi::params::{FullFeatureKey, full_feature_key};
use iscsi::target::ConnId;
use iscsi::text;

/// More keys than any initiator has to ask about.
const MOST_KEYS: usize = 32;

impl WorkerSession {
    /// Answers a text request, or rejects one that is not well-formed.
    pub fn answer_text(&mut self, ctx: &Context, conn: ConnId, request: &[u8]) {
        let Some(connection) = self.connections[conn.index()].as_deref() else { return };
        let local = connection.local;
        let Ok(pairs) = text::parse(request, MOST_KEYS) else {
            return self.protocol.reject_text(conn);
        };
        let mut answer = Vec::new();
        for (key, value) in pairs {
            match full_feature_key(key, value, self.discovery) {
                FullFeatureKey::SendTargets(scope) => {
                    let shared = &ctx.shared;
                    let name = shared.device.name();
                    for (key, value) in discovery::targets(name, &shared.ports, &scope, local) {
                        text::push(&mut answer, &key, &value);
                    }
                }
                FullFeatureKey::MaxRecvDataSegmentLength(len) => {
                    self.protocol.limit_data_segments(conn, len);
                }
                FullFeatureKey::Declared => {}
                FullFeatureKey::Answer(word) => text::push(&mut answer, key, word),
            }
        }
        self.protocol.text(conn, answer);
    }
}
