//! `wirespeed target release URL`: takes back the registrations, and the reservation with them, that a killed run left.

use crate::cli::{Format, Release};
use crate::exit::{Exit, Failure};
use crate::out;
use disk::Unreachable;
use san::initiator::Released;
use serde_json::json;

pub fn release(args: &Release) -> Result<Exit, Failure> {
    let found = san::initiator::release(&args.url).map_err(|e| match e {
        Unreachable::Url(why) => Failure::usage(why),
        Unreachable::Target(why) => Failure::incomplete(why),
    })?;
    let text = match args.output.format {
        Format::Text => text(&found),
        Format::Json => {
            let Released { released, alive, foreign } = &found;
            let document = json!({
                "released": keys(released), "alive": keys(alive), "foreign": keys(foreign),
            });
            format!("{document:#}\n")
        }
    };
    out::result(&text)?;
    Ok(if found.alive.is_empty() && found.foreign.is_empty() { Exit::Met } else { Exit::Refused })
}

fn text(found: &Released) -> String {
    let line = |what: &str, all: &[u64]| match all {
        [] => String::new(),
        all => format!("{what}: {}\n", keys(all).join(", ")),
    };
    let text = [
        line("released", &found.released),
        line("left alone, of a run on this machine that is alive", &found.alive),
        line("left alone, not of Wirespeed", &found.foreign),
    ];
    let text = text.concat();
    if text.is_empty() { "nothing is registered there\n".to_owned() } else { text }
}

fn keys(all: &[u64]) -> Vec<String> {
    all.iter().map(|key| format!("{key:#018x}")).collect()
}
