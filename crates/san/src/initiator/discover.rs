//! Discovery at a portal: targets, their portals, their LUNs.

use super::client::{Client, CommandError};
use super::dial::{Call, DialError};
use super::inquiry::LunFacts;
use super::link::Lost;
use super::url::{PortalUrl, Url, UrlError};
use super::{fresh_call, initiator_name};
use iscsi::discovery::{self, DiscoveryError};
use iscsi::initiator::Cdb;
use iscsi::pdu::Lun;
use thiserror::Error;

/// Pairs of an answer to SendTargets that are read: targets and their addresses.
const PAIRS_MAX: usize = 4096;

/// Bytes of an answer to REPORT LUNS that are read: 2,047 LUNs.
const LUNS: u32 = 16 << 10;

/// Why nothing can be listed.
#[derive(Debug, Error)]
pub enum DiscoverError {
    /// The URL is wrong.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// The portal does not answer, or refuses the login.
    #[error(transparent)]
    Dial(#[from] DialError),
    /// The target's answers fail or make no sense.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The list of targets makes no sense.
    #[error("the list of targets is invalid: {0}")]
    List(#[from] DiscoveryError),
}

/// A target that was found.
#[derive(Debug)]
pub struct FoundTarget {
    /// Its name.
    pub name: String,
    /// Where it can be reached, each with its portal group.
    pub portals: Vec<discovery::DiscoveredPortal>,
    /// Its LUNs, or why they cannot be listed.
    pub luns: Result<Vec<FoundLun>, DiscoverError>,
}

/// A LUN that was found.
#[derive(Debug)]
pub struct FoundLun {
    /// Its number.
    pub number: u16,
    /// What to write to use it.
    pub url: String,
    /// What it is, or why that is not known.
    pub facts: Result<LunFacts, CommandError>,
}

/// Lists the targets of a portal with their LUNs; one target where the URL names it.
/// # Errors
/// The URL is wrong, or the portal cannot be asked for its targets.
pub fn discover(url: &str) -> Result<Vec<FoundTarget>, DiscoverError> {
    let url = Url::parse(url)?;
    let initiator = initiator_name();
    let (url, mut client) = reach(url, &initiator)?;
    let answer = client.text(b"SendTargets=All\0")?;
    drop(client);
    let mut listed = discovery::read(&answer, PAIRS_MAX)?;
    if let Some(wanted) = &url.target {
        listed.retain(|target| target.name.as_str() == wanted);
    }
    let found = |target: discovery::DiscoveredTarget| {
        let name = target.name.to_string();
        let luns = luns(&url, &name, &initiator);
        FoundTarget { name, portals: target.portals, luns }
    };
    Ok(listed.into_iter().map(found).collect())
}

/// A discovery session by the first portal that answers, and the URL with that one alone.
fn reach(url: Url, initiator: &str) -> Result<(Url, Client), DialError> {
    let mut trouble = None;
    for portal in &url.portals {
        let one = Url { portals: vec![portal.clone()], ..url.clone() };
        match Client::new(&fresh_call(&one, None, initiator)) {
            Ok(client) => return Ok((one, client)),
            Err(e) => trouble = trouble.or(Some(e)),
        }
    }
    // A URL has a portal.
    Err(trouble.unwrap_or(DialError::Lost(Lost::Closed)))
}

/// The LUNs of a target, asked for where the list came from: it is the way that is known to work.
fn luns(url: &Url, target: &str, initiator: &str) -> Result<Vec<FoundLun>, DiscoverError> {
    let call: Call = fresh_call(url, Some(target), initiator);
    let mut client = Client::new(&call)?;
    let answer = client.ask(Lun::new(0), Cdb::report_luns(LUNS), LUNS as usize)?;
    let numbers = reported(&answer).ok_or(CommandError::Nonsense("REPORT LUNS"))?;
    let mut all = Vec::with_capacity(numbers.len());
    for number in numbers {
        let facts = LunFacts::ask(&mut client, Lun::new(number));
        all.push(FoundLun { number, url: url_of(url.portal(), target, number), facts });
    }
    Ok(all)
}

fn url_of(portal: &PortalUrl, target: &str, lun: u16) -> String {
    let user = portal.user.as_ref().map_or(String::new(), |user| format!("{user}@"));
    format!("iscsi://{user}{portal}/{target}/{lun}")
}

/// The numbers in an answer to REPORT LUNS. LUNs that are addressed in other ways are left out, as no URL can name them.
fn reported(answer: &[u8]) -> Option<Vec<u16>> {
    let (len, _) = answer.split_first_chunk::<4>()?;
    let len = (u32::from_be_bytes(*len) as usize).min(answer.len().saturating_sub(8));
    let entries = answer.get(8..8 + len)?.chunks_exact(8);
    let number = |entry: &[u8]| Lun(u64::from_be_bytes(*entry.first_chunk()?)).number();
    Some(entries.filter_map(number).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn luns_are_read_as_far_as_there_are_any() {
        let list = |len: u32, luns: &[Lun]| {
            let mut answer = [&len.to_be_bytes()[..], &[0; 4]].concat();
            answer.extend(luns.iter().flat_map(|lun| lun.0.to_be_bytes()));
            reported(&answer)
        };
        let two = [Lun::new(0), Lun::new(300)];
        assert_eq!(list(16, &two), Some(vec![0, 300]));
        assert_eq!(list(8, &two), Some(vec![0]));
        assert_eq!(list(u32::MAX, &two), Some(vec![0, 300]));
        assert_eq!(list(12, &two), Some(vec![0]));
        assert_eq!(list(8, &[Lun(0xc101_0000_0000_0000)]), Some(vec![]));
        assert_eq!(reported(&[0, 0]), None);
        assert_eq!(reported(&[0, 0, 0, 9]), None);
    }

    #[test]
    fn a_lun_is_listed_as_it_is_to_be_written() {
        let portal = PortalUrl {
            host: "::1".to_owned(),
            port: 3261,
            user: Some("me".to_owned()),
            secret: None,
        };
        let url = url_of(&portal, "iqn.2026-11.example:disk", 3);
        assert_eq!(url, "iscsi://me@[::1]:3261/iqn.2026-11.example:disk/3");
        assert!(Url::lun(&url).is_ok());
    }
}
