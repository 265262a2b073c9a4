//! The axis `members`: how many of those that a load is on run it. The first so many do, so that each step holds those of
//! every smaller one, and a curve over it is one of growth. That a load has so many has been checked by `load`.

use crate::model::{Load, Setting, Step};
use crate::settle::concerns;

/// The name of the setting.
pub(crate) const KEY: &str = "members";

/// Who runs a load, as the settings of a step leave it.
pub(crate) fn of(load: &Load, settings: &[(&str, &Setting)]) -> Vec<String> {
    let mut on = load.on.clone();
    settings.iter().for_each(|(key, setting)| cut(&mut on, &load.workload, key, setting));
    on
}

/// Applies a setting to every load of a step that it speaks of.
pub(crate) fn settle(step: &mut Step, key: &str, setting: &Setting) {
    let Step { loads, nets, copies, .. } = step;
    loads.iter_mut().for_each(|l| cut(&mut l.on, &l.workload.name, key, setting));
    nets.iter_mut().for_each(|l| cut(&mut l.on, &l.workload.name, key, setting));
    copies.iter_mut().for_each(|l| cut(&mut l.on, &l.workload.name, key, setting));
}

fn cut(on: &mut Vec<String>, workload: &str, key: &str, setting: &Setting) {
    if let Setting::Members(n) = setting
        && concerns(key, workload)
    {
        on.truncate(usize::try_from(*n).unwrap_or(usize::MAX));
    }
}
