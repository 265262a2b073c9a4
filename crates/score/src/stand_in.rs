//! A stand-in part for virtual machines without a named virtual adapter, so that solver defaults of theirs can be
//! varied.
//!
//! A figure is varied by giving it to a part, and such a VM has none. The stand-in has no figures of its own: the same
//! defaults are assumed with it as without it. It is used only where it changes no plant, and is never shown.

use crate::built::Built;
use scenario::{AssumedSetting, CatalogFile, Source};
use sim::plant::Plant;
use std::collections::BTreeSet;

/// The part's name.
pub const NAME: &str = "scsi-not-given";

/// The scenario with the stand-in, and its plants; `None` where every VM names its adapter, or where the stand-in would
/// change the lab.
pub fn with(source: &Source, plants: &[Plant]) -> Option<(Source, Built, Vec<Plant>)> {
    let bare = bare(source);
    if bare.is_empty() {
        return None;
    }
    let mut stood = source.clone();
    stood.catalogs.push(CatalogFile {
        name: NAME.to_owned(),
        text: format!("[[part]]\nname = \"{NAME}\"\nkind = \"virtual-scsi\"\nfigures = []\n"),
    });
    stood
        .overrides
        .extend(bare.into_iter().map(|vm| (format!("{vm}scsi"), format!("[\"{NAME}\"]"))));
    let built = Built::new(&stood).ok()?;
    let found = (0..built.steps.len()).map(|at| built.plant(at));
    let found: Vec<Plant> = found.collect::<Result<_, _>>().ok()?;
    let same = found.len() == plants.len()
        && found.iter().zip(plants).all(|(found, plant)| found.network == plant.network);
    same.then_some((stood, built, found))
}

/// The paths of virtual machines that name no adapter.
fn bare(source: &Source) -> BTreeSet<String> {
    let vms = |tail: &str, key: &str| {
        let found = scenario::settings(source, &format!("vm.*.{tail}")).into_iter();
        let end = format!(".{key}");
        let path = |of: AssumedSetting| of.path.rfind(&end).map(|at| of.path[..=at].to_owned());
        found.filter_map(path).collect::<BTreeSet<String>>()
    };
    &vms("name", "name") - &vms("scsi.*", "scsi")
}
