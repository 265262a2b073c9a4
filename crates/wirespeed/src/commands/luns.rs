//! `wirespeed target ls iscsi://HOST[:PORT]`: what there is at a portal, each LUN with the URL that leads to it.

use crate::cli::{Format, Luns};
use crate::exit::{Exit, Failure};
use crate::out;
use san::initiator::{DialError, DiscoverError, FoundLun, FoundTarget, LunFacts, discover};
use serde_json::{Value, json};
use std::fmt::Write;

pub fn luns(args: &Luns) -> Result<Exit, Failure> {
    let found = discover(&args.url).map_err(|e| match e {
        DiscoverError::Url(e) => Failure::usage(e),
        DiscoverError::Dial(DialError::Secret(e)) => Failure::usage(e),
        e => Failure::incomplete(e),
    })?;
    if found.is_empty() {
        return Err(Failure::incomplete(format!(
            "{} shows this initiator no target; the target may let in others only",
            args.url
        )));
    }
    let text = match args.output.format {
        Format::Text => found.iter().map(page).collect::<Vec<_>>().join("\n"),
        Format::Json => {
            let targets: Vec<Value> = found.iter().map(document).collect();
            format!("{:#}\n", json!({ "targets": targets }))
        }
    };
    out::result(&text)?;
    Ok(Exit::Met)
}

/// The target, its portals, and two lines a LUN.
fn page(target: &FoundTarget) -> String {
    let portals: Vec<String> = target.portals.iter().map(ToString::to_string).collect();
    let mut text = format!("{}\n  portals: {}\n", target.name, portals.join(" "));
    let _infallible = match &target.luns {
        Err(e) => writeln!(text, "  its LUNs cannot be listed: {e}"),
        Ok(luns) if luns.is_empty() => writeln!(text, "  no LUN"),
        Ok(luns) => luns.iter().try_for_each(|lun| {
            writeln!(text, "  LUN {:<4} {}\n           {}", lun.number, about(lun), lun.url)
        }),
    };
    text
}

/// `256MiB in blocks of 512 B, IET VIRTUAL-DISK 0001, serial beaf11, thin, write protected`.
fn about(lun: &FoundLun) -> String {
    let facts = match &lun.facts {
        Ok(facts) => facts,
        Err(e) => return format!("cannot be used: {e}"),
    };
    let LunFacts { vendor, product, revision, serial, block, thin, read_only, .. } = facts;
    let size = units::binary_bytes(facts.size());
    let mut text = format!("{size} in blocks of {block} B, {vendor} {product} {revision}");
    if let Some(serial) = serial {
        let _infallible = write!(text, ", serial {serial}");
    }
    for (is, word) in [(thin, "thin"), (read_only, "write protected")] {
        if *is {
            let _infallible = write!(text, ", {word}");
        }
    }
    text
}

fn document(target: &FoundTarget) -> Value {
    let portals: Vec<String> = target.portals.iter().map(ToString::to_string).collect();
    let head = json!({ "name": target.name, "portals": portals });
    let rest = match &target.luns {
        Ok(luns) => json!({ "luns": luns.iter().map(entry).collect::<Vec<_>>() }),
        Err(e) => json!({ "luns": null, "error": e.to_string() }),
    };
    joined(head, rest)
}

fn entry(lun: &FoundLun) -> Value {
    let rest = match &lun.facts {
        Err(e) => json!({ "error": e.to_string() }),
        Ok(facts) => json!({
            "size": facts.size(),
            "block": facts.block,
            "vendor": facts.vendor,
            "product": facts.product,
            "revision": facts.revision,
            "serial": facts.serial,
            "designator": facts.designator,
            "thin": facts.thin,
            "read_only": facts.read_only,
        }),
    };
    joined(json!({ "lun": lun.number, "url": lun.url }), rest)
}

/// One object with the members of both.
fn joined(mut head: Value, mut rest: Value) -> Value {
    if let (Some(head), Some(rest)) = (head.as_object_mut(), rest.as_object_mut()) {
        head.append(rest);
    }
    head
}
