//! Keys in the full-feature phase (RFC 7143, sections 6.2 and 13): what a target does with each of an initiator's text.

use super::rules::{KEYS, KeyId, Rule, ValueForm};
use crate::discovery::SendTargetsScope;
use crate::text;

/// The answer to a key that this end does not know.
pub const NOT_UNDERSTOOD: &str = "NotUnderstood";
/// The answer to a key, or to a value, that is known and not admissible here.
pub const REJECT: &str = "Reject";

/// Keys outside the table of operational ones that belong to a login.
const OF_LOGIN: [&str; 12] = [
    "AuthMethod",
    "CHAP_A",
    "CHAP_C",
    "CHAP_I",
    "CHAP_N",
    "CHAP_R",
    "IFMarker",
    "InitiatorName",
    "OFMarker",
    "SessionType",
    "TargetName",
    "TargetPortalGroupTag",
];

/// What a key of an initiator's text comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FullFeatureKey {
    /// A list of targets is asked for.
    SendTargets(SendTargetsScope),
    /// The initiator takes data segments of up to so many bytes from now on.
    MaxRecvDataSegmentLength(u32),
    /// A declaration that needs no answer.
    Declared,
    /// This is the answer.
    Answer(&'static str),
}

/// Reads a key and its value in a session that may only list targets (`discovery`), or in a normal one.
pub fn full_feature_key(key: &str, value: &str, discovery: bool) -> FullFeatureKey {
    let rule = KEYS.iter().find(|rule| rule.name == key);
    match key {
        "SendTargets" => match SendTargetsScope::parse(value) {
            // A normal session knows its own target alone, and a discovery session has none (RFC 7143, appendix C).
            Ok(SendTargetsScope::All) if !discovery => FullFeatureKey::Answer(REJECT),
            Ok(SendTargetsScope::This) if discovery => FullFeatureKey::Answer(REJECT),
            Ok(scope) => FullFeatureKey::SendTargets(scope),
            Err(_) => FullFeatureKey::Answer(REJECT),
        },
        "InitiatorAlias" => FullFeatureKey::Declared,
        _ if rule.is_some_and(|rule| rule.key == KeyId::MaxRecvDataSegmentLength) => {
            match (rule, text::number(value)) {
                (Some(Rule { form: ValueForm::Number { least, most }, .. }), Some(len))
                    if (*least..=*most).contains(&len) =>
                {
                    FullFeatureKey::MaxRecvDataSegmentLength(len)
                }
                _ => FullFeatureKey::Answer(REJECT),
            }
        }
        _ if rule.is_some() || OF_LOGIN.contains(&key) => FullFeatureKey::Answer(REJECT),
        // The other end does not know a key of ours: nothing is to be said.
        _ if value == NOT_UNDERSTOOD => FullFeatureKey::Declared,
        _ => FullFeatureKey::Answer(NOT_UNDERSTOOD),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_told_apart() {
        use FullFeatureKey::{Answer, Declared, MaxRecvDataSegmentLength, SendTargets};
        let name = "iqn.2024-01.org.example:a";
        let one = SendTargetsScope::One(name.parse().unwrap());
        for (key, value, normal, discovery) in [
            ("SendTargets", "All", Answer(REJECT), SendTargets(SendTargetsScope::All)),
            ("SendTargets", "", SendTargets(SendTargetsScope::This), Answer(REJECT)),
            ("SendTargets", name, SendTargets(one.clone()), SendTargets(one)),
            ("SendTargets", "all", Answer(REJECT), Answer(REJECT)),
            ("SendTargets", "iqn.2024-01.org.example:a b", Answer(REJECT), Answer(REJECT)),
            (
                "MaxRecvDataSegmentLength",
                "4096",
                MaxRecvDataSegmentLength(4096),
                MaxRecvDataSegmentLength(4096),
            ),
            ("MaxRecvDataSegmentLength", "511", Answer(REJECT), Answer(REJECT)),
            ("MaxRecvDataSegmentLength", "many", Answer(REJECT), Answer(REJECT)),
            ("HeaderDigest", "CRC32C,None", Answer(REJECT), Answer(REJECT)),
            ("CHAP_N", "me", Answer(REJECT), Answer(REJECT)),
            ("InitiatorAlias", "host", Declared, Declared),
            ("X-com.example.key", "1", Answer(NOT_UNDERSTOOD), Answer(NOT_UNDERSTOOD)),
            ("sendtargets", "All", Answer(NOT_UNDERSTOOD), Answer(NOT_UNDERSTOOD)),
            ("X-com.example.key", NOT_UNDERSTOOD, Declared, Declared),
        ] {
            assert_eq!(full_feature_key(key, value, false), normal, "{key}={value}");
            assert_eq!(full_feature_key(key, value, true), discovery, "{key}={value}");
        }
    }
}
