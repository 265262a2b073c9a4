//! The models of hardware that a scenario knows besides those of the embedded catalog.

use crate::catalog;
use crate::datum::Decoded;
use crate::diagnostics::Sink;
use crate::model::Part;

/// The models that this file defines, then those of catalogs that were kept with it, then those of users' catalogs; each
/// with the figures of the part that it is like. The first of a name counts.
pub(super) fn parts(root: &Decoded, users: &[Part], sink: &mut Sink) -> Vec<Part> {
    let catalogs = root.records("catalog");
    let kept: Vec<&Decoded> = catalogs.iter().flat_map(|one| one.records("part")).collect();
    let kept = catalog::parts_of(&kept, &[catalog::catalog()], sink);
    let own = root.records("part");
    let mut parts = catalog::parts_of(&own, &[&kept, users, catalog::catalog()], sink);
    parts.extend(kept);
    parts.extend(users.iter().cloned());
    parts
}
