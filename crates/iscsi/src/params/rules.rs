//! The table of operational keys (RFC 7143, section 13; RFC 7144, section 7): the format of a value, how two values
//! are combined, the default, and where a key is allowed.

use crate::text;

/// An index into [`KEYS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyId {
    HeaderDigest,
    DataDigest,
    MaxConnections,
    InitialR2T,
    ImmediateData,
    MaxRecvDataSegmentLength,
    MaxBurstLength,
    FirstBurstLength,
    DefaultTime2Wait,
    DefaultTime2Retain,
    MaxOutstandingR2T,
    DataPDUInOrder,
    DataSequenceInOrder,
    ErrorRecoveryLevel,
    TaskReporting,
    ISCSIProtocolLevel,
}

/// The format of a value. In memory each is a number: the index of a word in its list, or 1 for `Yes`.
#[derive(Clone, Copy, Debug)]
pub(super) enum ValueForm {
    Boolean,
    Number { least: u32, most: u32 },
    OneOf(&'static [&'static str]),
}

/// How an offer and an answer yield the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResultRule {
    /// The smaller number; for booleans: AND.
    Least,
    /// The larger number; for booleans: OR.
    Most,
    /// The first entry of the offered list that the responder accepts.
    First,
    /// None: each end declares its own value.
    Declared,
}

/// One line of the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    pub key: KeyId,
    pub name: &'static str,
    pub form: ValueForm,
    pub choice: ResultRule,
    pub default: u32,
    /// Session-wide: negotiated by the leading connection only.
    pub leading_only: bool,
    /// Irrelevant in a discovery session.
    pub normal_only: bool,
}

pub(super) const NONE: u32 = 0;
pub(super) const CRC32C: u32 = 1;

const DIGESTS: ValueForm = ValueForm::OneOf(&["None", "CRC32C"]);
const COUNT: ValueForm = ValueForm::Number { least: 1, most: 65535 };
const LENGTH: ValueForm = ValueForm::Number { least: 512, most: 0x00ff_ffff };
const SECONDS: ValueForm = ValueForm::Number { least: 0, most: 3600 };
const LEVEL: ValueForm = ValueForm::Number { least: 0, most: 2 };
const PROTOCOL: ValueForm = ValueForm::Number { least: 0, most: 31 };
const REPORTING: ValueForm = ValueForm::OneOf(&["RFC3720", "ResponseFence", "FastAbort"]);

/// A key that every connection negotiates.
const fn each(
    key: KeyId,
    name: &'static str,
    form: ValueForm,
    choice: ResultRule,
    default: u32,
) -> Rule {
    Rule { key, name, form, choice, default, leading_only: false, normal_only: false }
}

/// A key that the first connection negotiates.
const fn first(
    key: KeyId,
    name: &'static str,
    form: ValueForm,
    choice: ResultRule,
    default: u32,
) -> Rule {
    Rule { leading_only: true, ..each(key, name, form, choice, default) }
}

/// A key that the first connection of a normal session negotiates.
const fn normal(
    key: KeyId,
    name: &'static str,
    form: ValueForm,
    choice: ResultRule,
    default: u32,
) -> Rule {
    Rule { normal_only: true, ..first(key, name, form, choice, default) }
}

/// In the order of [`KeyId`], which is the order of offers.
pub(super) const KEYS: [Rule; 16] = {
    use ResultRule::{Declared, First, Least, Most};
    use ValueForm::Boolean;
    [
        each(KeyId::HeaderDigest, "HeaderDigest", DIGESTS, First, NONE),
        each(KeyId::DataDigest, "DataDigest", DIGESTS, First, NONE),
        normal(KeyId::MaxConnections, "MaxConnections", COUNT, Least, 1),
        normal(KeyId::InitialR2T, "InitialR2T", Boolean, Most, 1),
        normal(KeyId::ImmediateData, "ImmediateData", Boolean, Least, 1),
        each(KeyId::MaxRecvDataSegmentLength, "MaxRecvDataSegmentLength", LENGTH, Declared, 8192),
        normal(KeyId::MaxBurstLength, "MaxBurstLength", LENGTH, Least, 262_144),
        normal(KeyId::FirstBurstLength, "FirstBurstLength", LENGTH, Least, 65_536),
        first(KeyId::DefaultTime2Wait, "DefaultTime2Wait", SECONDS, Most, 2),
        first(KeyId::DefaultTime2Retain, "DefaultTime2Retain", SECONDS, Least, 20),
        normal(KeyId::MaxOutstandingR2T, "MaxOutstandingR2T", COUNT, Least, 1),
        normal(KeyId::DataPDUInOrder, "DataPDUInOrder", Boolean, Most, 1),
        normal(KeyId::DataSequenceInOrder, "DataSequenceInOrder", Boolean, Most, 1),
        first(KeyId::ErrorRecoveryLevel, "ErrorRecoveryLevel", LEVEL, Least, 0),
        normal(KeyId::TaskReporting, "TaskReporting", REPORTING, First, 0),
        normal(KeyId::ISCSIProtocolLevel, "iSCSIProtocolLevel", PROTOCOL, Least, 1),
    ]
};

// A rule is indexed by its key.
const _: () = {
    let mut at = 0;
    while at < KEYS.len() {
        assert!(KEYS[at].key as usize == at);
        at += 1;
    }
};

impl Rule {
    /// The rule of this name.
    pub fn of(name: &str) -> Option<&'static Rule> {
        KEYS.iter().find(|rule| rule.name == name)
    }

    /// Parses a value and checks its range.
    pub fn parse(&self, value: &str) -> Option<u32> {
        match self.form {
            ValueForm::Boolean => text::boolean(value).map(u32::from),
            ValueForm::Number { least, most } => {
                text::number(value).filter(|number| (least..=most).contains(number))
            }
            ValueForm::OneOf(words) => {
                words.iter().position(|word| *word == value).map(|place| place as u32)
            }
        }
    }

    /// Formats a value.
    pub fn write(&self, value: u32) -> String {
        match self.form {
            ValueForm::Boolean => if value != 0 { "Yes" } else { "No" }.to_owned(),
            ValueForm::Number { .. } => value.to_string(),
            ValueForm::OneOf(words) => {
                words.get(value as usize).copied().unwrap_or_default().to_owned()
            }
        }
    }

    /// The result of two values.
    pub fn combine(&self, one: u32, other: u32) -> u32 {
        match self.choice {
            ResultRule::Least => one.min(other),
            ResultRule::Most => one.max(other),
            ResultRule::First | ResultRule::Declared => other,
        }
    }

    /// Whether an offer decides alone, so that the answer may be omitted (RFC 7143, 6.2.2): `No` if both must agree.
    pub fn decides(&self, offer: u32) -> bool {
        match (self.form, self.choice) {
            (ValueForm::Boolean, ResultRule::Least) => offer == 0,
            (ValueForm::Boolean, ResultRule::Most) => offer == 1,
            _ => self.choice == ResultRule::Declared,
        }
    }

    /// The nearest value within the range.
    pub fn clamp(&self, value: u32) -> u32 {
        match self.form {
            ValueForm::Number { least, most } => value.clamp(least, most),
            ValueForm::Boolean | ValueForm::OneOf(_) => value,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Values([u32; KEYS.len()]);

impl Values {
    /// The values without negotiation.
    pub fn defaults() -> Values {
        Values(KEYS.map(|rule| rule.default))
    }

    pub fn get(&self, key: KeyId) -> u32 {
        self.0[key as usize]
    }

    pub fn set(&mut self, key: KeyId, value: u32) {
        self.0[key as usize] = value;
    }
}
