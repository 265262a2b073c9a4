//! Settings applied to network loads, and to the interfaces that they go by.

use crate::model::Setting;
use crate::network::NetWorkload;
use crate::settle::{Side, speaks};
use workload::{Frames, Heading};

/// Applies one setting, or says why the workload cannot have it. What does not go together is a problem of the settled load.
pub(crate) fn apply(workload: &mut NetWorkload, setting: &Setting) -> Result<(), String> {
    let network = &mut workload.network;
    match *setting {
        // Those of arrays and of interfaces, whatever the workload is.
        Setting::Members(_) | Setting::Port(_) | Setting::Mtu(_) | Setting::Offload(_) => {}
        Setting::Message(size) => {
            network.message = u32::try_from(size.0)
                .map_err(|_| format!("{size} is more than one message can carry"))?;
        }
        Setting::Batch(n) => network.batch = n,
        Setting::Streams(n) => network.streams = n,
        Setting::Direction(heading) if network.is_transactions() && heading != Heading::Send => {
            return Err("requests go one way: the sender asks, the receiver answers".into());
        }
        Setting::Direction(heading) => network.heading = heading,
        Setting::StreamRate(rate) => network.rate = Some(rate.0 as u64),
        Setting::Rate(rate) => {
            return Err(format!(
                "a network workload has a rate of data a stream, such as `100 MB/s`, not {} IOPS",
                rate.0
            ));
        }
        Setting::Block(_)
        | Setting::Depth(_)
        | Setting::Workers(_)
        | Setting::Read(_)
        | Setting::Random(_)
        | Setting::WorkingSet(_) => {
            return Err("it belongs to disk workloads, and this is a network workload".into());
        }
    }
    Ok(())
}

/// Applies the setting of an axis to a workload that it speaks of.
pub(crate) fn settle_net(workload: &mut NetWorkload, key: &str, setting: &Setting) {
    if speaks(key, setting, &workload.name, Side::Net) {
        let _refused_by_load = apply(workload, setting);
    }
}

/// What a step sets at interfaces: what the plan says, and what its axes say instead.
pub(crate) fn frames(plan: Frames, settings: &[(&str, &Setting)]) -> Frames {
    settings.iter().fold(plan, |frames, (_, setting)| match setting {
        Setting::Mtu(mtu) => Frames { mtu: Some(*mtu), ..frames },
        Setting::Offload(on) => Frames { offload: Some(*on), ..frames },
        _ => frames,
    })
}
