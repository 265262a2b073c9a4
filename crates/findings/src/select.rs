//! Which steps a goal or claim selects.

use crate::sweep::number;

/// Whether a step has all the settings asked for. `plan` selects a plan; `block` also finds `WORKLOAD.block`; values are
/// compared as quantities, so that `8192B` finds `8KiB`.
pub fn selects(wanted: &[(String, String)], plan: &str, settings: &[(String, String)]) -> bool {
    wanted.iter().all(|(key, value)| match key.as_str() {
        "plan" => value == plan,
        _ => settings.iter().any(|(k, v)| same_key(k, key) && same_value(v, value)),
    })
}

/// Whether a key of a step is the one that is wanted: `WORKLOAD.block` is a `block`.
pub fn same_key(key: &str, wanted: &str) -> bool {
    key == wanted || key.strip_suffix(wanted).is_some_and(|rest| rest.ends_with('.'))
}

/// Whether two values are the same quantity.
pub(crate) fn same_value(value: &str, wanted: &str) -> bool {
    value == wanted || number(value).is_some_and(|v| number(wanted) == Some(v))
}
