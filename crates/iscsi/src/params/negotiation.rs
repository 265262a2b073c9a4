//! Offers and answers (RFC 7143, section 6.2). A key is negotiated once: either end offers, the other one answers.

use super::rules::{KEYS, KeyId, ResultRule, Rule, Values};
use super::{DesiredParams, NOT_UNDERSTOOD, Negotiator, Params, REJECT, SessionType};
use crate::text;

const IRRELEVANT: &str = "Irrelevant";

/// Why negotiation failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NegotiationError {
    /// A key was negotiated twice.
    #[error("{0} was negotiated twice")]
    Repeated(&'static str),
    /// A session-wide key came over a connection other than the leading one.
    #[error("{0} is negotiated by the first connection of a session only")]
    LeadingOnly(&'static str),
    /// An invalid declaration.
    #[error("{value:?} is not a valid {key}")]
    Value {
        /// The key.
        key: &'static str,
        /// The declared value.
        value: String,
    },
    /// An answer that does not follow from the offer.
    #[error("{answer:?} does not answer {key}={offer}")]
    Answer {
        /// The key.
        key: &'static str,
        /// What was offered.
        offer: String,
        /// The answer.
        answer: String,
    },
    /// An offer without an answer.
    #[error("{0} was offered and never answered")]
    Unanswered(&'static str),
    /// One end requires a digest that the other one does not support.
    #[error("{0}=CRC32C is required, and the other end does not support it")]
    DigestRequired(&'static str),
}

/// The progress of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
enum KeyState {
    /// Not negotiated yet.
    Open,
    /// This end has offered this value and waits for the answer.
    Offered(String),
    /// Negotiated.
    Settled,
}

/// The negotiation of one connection, at one end.
#[derive(Clone, Debug)]
pub struct Negotiation {
    role: Negotiator,
    session: SessionType,
    /// The leading connection of its session.
    leading: bool,
    wishes: DesiredParams,
    values: Values,
    states: [KeyState; KEYS.len()],
    /// The other end has declared its MaxRecvDataSegmentLength; declarations have no answer.
    heard: bool,
    /// This end has declared its own.
    declared: bool,
    /// The obsolete keys received; each may come once.
    markers: [bool; MARKERS.len()],
}

/// Keys of RFC 3720 that RFC 7143, section 13.25, keeps only to be answered.
const MARKERS: [(&str, &str); 4] =
    [("IFMarker", "No"), ("OFMarker", "No"), ("IFMarkInt", REJECT), ("OFMarkInt", REJECT)];

/// Whether a key is negotiated in the operational stage only.
pub(crate) fn is_operational(name: &str) -> bool {
    Rule::of(name).is_some() || MARKERS.iter().any(|(marker, _)| *marker == name)
}

impl Negotiation {
    /// Starts with the defaults. `leading`: for the first connection of its session.
    pub fn new(
        role: Negotiator,
        session: SessionType,
        leading: bool,
        wishes: DesiredParams,
    ) -> Negotiation {
        Negotiation {
            role,
            session,
            leading,
            wishes,
            values: Values::defaults(),
            states: KEYS.map(|_| KeyState::Open),
            heard: false,
            declared: false,
            markers: [false; MARKERS.len()],
        }
    }

    /// Appends this end's remaining offers and declarations. An initiator offers every key in which it differs from
    /// the default or has several choices; a target only those whose default contradicts its settings. Returns
    /// whether there was an offer, which the other end must be able to answer.
    pub fn offer(&mut self, out: &mut Vec<u8>) -> bool {
        let mut offered = false;
        for rule in &KEYS {
            if rule.choice == ResultRule::Declared {
                if !std::mem::replace(&mut self.declared, true) {
                    text::push(out, rule.name, &rule.write(self.wishes.value(rule.key)));
                }
            } else if self.states[rule.key as usize] == KeyState::Open && self.wants(rule) {
                let words = self.words(rule);
                text::push(out, rule.name, &words);
                if let Some(offer) = rule.parse(&words).filter(|offer| rule.decides(*offer)) {
                    self.values.set(rule.key, offer);
                }
                self.states[rule.key as usize] = KeyState::Offered(words);
                offered = true;
            }
        }
        offered
    }

    /// Whether offers of this end await a mandatory answer.
    pub fn is_waiting(&self) -> bool {
        KEYS.iter().any(|rule| self.unanswered(rule))
    }

    /// Processes one pair, and appends the answer if there is one.
    /// # Errors
    /// The login must end.
    pub fn receive(
        &mut self,
        name: &str,
        value: &str,
        out: &mut Vec<u8>,
    ) -> Result<(), NegotiationError> {
        let Some(rule) = Rule::of(name) else {
            return self.receive_other(name, value, out);
        };
        if rule.choice == ResultRule::Declared {
            return self.receive_declaration(rule, value);
        }
        match std::mem::replace(&mut self.states[rule.key as usize], KeyState::Settled) {
            KeyState::Settled => Err(NegotiationError::Repeated(rule.name)),
            KeyState::Offered(words) => self.receive_answer(rule, &words, value),
            KeyState::Open if rule.leading_only && !self.leading => {
                Err(NegotiationError::LeadingOnly(rule.name))
            }
            KeyState::Open => {
                let answer = self.answer(rule, value)?;
                text::push(out, rule.name, &answer);
                Ok(())
            }
        }
    }

    /// The result.
    /// # Errors
    /// An offer was not answered, or a required digest was not agreed.
    pub fn finish(&self) -> Result<Params, NegotiationError> {
        if let Some(rule) = KEYS.iter().find(|rule| self.unanswered(rule)) {
            return Err(NegotiationError::Unanswered(rule.name));
        }
        for key in [KeyId::HeaderDigest, KeyId::DataDigest] {
            if !self.wishes.digests(key).contains(&self.values.get(key)) {
                return Err(NegotiationError::DigestRequired(KEYS[key as usize].name));
            }
        }
        let max_recv = match self.declared {
            true => self.wishes.value(KeyId::MaxRecvDataSegmentLength),
            false => KEYS[KeyId::MaxRecvDataSegmentLength as usize].default,
        };
        Ok(Params::new(self.session, &self.values, max_recv))
    }

    /// Whether this end offers a key that has not been negotiated yet.
    fn wants(&self, rule: &Rule) -> bool {
        let relevant = (self.leading || !rule.leading_only)
            && (self.session == SessionType::Normal || !rule.normal_only);
        let wish = self.wishes.value(rule.key);
        relevant
            && match (rule.key, self.role) {
                (KeyId::HeaderDigest | KeyId::DataDigest, Negotiator::Initiator) => true,
                (KeyId::HeaderDigest | KeyId::DataDigest, Negotiator::Target) => {
                    !self.wishes.digests(rule.key).contains(&rule.default)
                }
                (KeyId::FirstBurstLength | KeyId::MaxBurstLength, Negotiator::Initiator) => true,
                // Times are irrelevant without error recovery.
                (KeyId::DefaultTime2Wait | KeyId::DefaultTime2Retain, Negotiator::Target) => false,
                (_, Negotiator::Target) => rule.combine(rule.default, wish) != rule.default,
                (_, Negotiator::Initiator) => wish != rule.default,
            }
    }

    /// The text of an offer.
    fn words(&self, rule: &Rule) -> String {
        match rule.key {
            KeyId::HeaderDigest | KeyId::DataDigest => {
                let words = self.wishes.digests(rule.key).iter().map(|&digest| rule.write(digest));
                words.collect::<Vec<_>>().join(",")
            }
            key => rule.write(self.wishes.value(key)),
        }
    }

    fn unanswered(&self, rule: &Rule) -> bool {
        match &self.states[rule.key as usize] {
            KeyState::Offered(words) => !rule.parse(words).is_some_and(|offer| rule.decides(offer)),
            KeyState::Open | KeyState::Settled => false,
        }
    }

    fn receive_declaration(&mut self, rule: &Rule, value: &str) -> Result<(), NegotiationError> {
        if std::mem::replace(&mut self.heard, true) {
            return Err(NegotiationError::Repeated(rule.name));
        }
        let wrong = || NegotiationError::Value { key: rule.name, value: value.to_owned() };
        self.values.set(rule.key, rule.parse(value).ok_or_else(wrong)?);
        Ok(())
    }

    /// The answer to this end's offer. If the other end declines to answer, the default holds.
    fn receive_answer(
        &mut self,
        rule: &Rule,
        offer: &str,
        answer: &str,
    ) -> Result<(), NegotiationError> {
        if [REJECT, IRRELEVANT, NOT_UNDERSTOOD].contains(&answer) {
            return Ok(());
        }
        let follows = |&value: &u32| match rule.choice {
            ResultRule::First => text::list(offer).any(|word| rule.parse(word) == Some(value)),
            _ => rule.parse(offer).is_some_and(|offer| rule.combine(offer, value) == value),
        };
        let value = rule.parse(answer).filter(follows).ok_or_else(|| NegotiationError::Answer {
            key: rule.name,
            offer: offer.to_owned(),
            answer: answer.to_owned(),
        })?;
        self.values.set(rule.key, value);
        Ok(())
    }

    /// This end's answer to an offer. An unacceptable offer leaves the default in force.
    fn answer(&mut self, rule: &Rule, offer: &str) -> Result<String, NegotiationError> {
        if self.session == SessionType::Discovery && rule.normal_only {
            return Ok(IRRELEVANT.to_owned());
        }
        let result = match (rule.choice, rule.key) {
            (ResultRule::First, KeyId::HeaderDigest | KeyId::DataDigest) => {
                let accepted = self.wishes.digests(rule.key);
                let found = text::list(offer)
                    .filter_map(|word| rule.parse(word))
                    .find(|digest| accepted.contains(digest));
                if found.is_none() && !accepted.contains(&rule.default) {
                    return Err(NegotiationError::DigestRequired(rule.name));
                }
                found
            }
            (ResultRule::First, key) => {
                let wish = self.wishes.value(key);
                text::list(offer).filter_map(|word| rule.parse(word)).find(|word| *word == wish)
            }
            (_, key) => rule.parse(offer).map(|offer| rule.combine(offer, self.bound(key))),
        };
        let Some(value) = result else { return Ok(REJECT.to_owned()) };
        self.values.set(rule.key, value);
        Ok(rule.write(value))
    }

    /// This end's bound for an offer: FirstBurstLength must not exceed MaxBurstLength, if that is already known.
    fn bound(&self, key: KeyId) -> u32 {
        let wish = self.wishes.value(key);
        let settled = self.states[KeyId::MaxBurstLength as usize] == KeyState::Settled;
        match key {
            KeyId::FirstBurstLength if settled => wish.min(self.values.get(KeyId::MaxBurstLength)),
            _ => wish,
        }
    }

    /// Keys that are not in the table.
    fn receive_other(
        &mut self,
        name: &str,
        value: &str,
        out: &mut Vec<u8>,
    ) -> Result<(), NegotiationError> {
        if let Some(place) = MARKERS.iter().position(|(marker, _)| *marker == name) {
            let (marker, answer) = MARKERS[place];
            if std::mem::replace(&mut self.markers[place], true) {
                return Err(NegotiationError::Repeated(marker));
            }
            text::push(out, marker, answer);
        } else if value != NOT_UNDERSTOOD {
            text::push(out, name, NOT_UNDERSTOOD);
        }
        Ok(())
    }
}
