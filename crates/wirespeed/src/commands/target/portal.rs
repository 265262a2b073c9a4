//! `--portal ADDR:PORT[,group=N][,rate=RATE]`: where a target listens, and how fast that port is.

use san::server::PortalConfig;
use std::net::{SocketAddr, ToSocketAddrs};

/// The port of iSCSI (RFC 7143, 4.4): what an address without one means.
const PORT: u16 = 3260;

/// Reads a portal; the message of an error says what would have been right.
pub fn portal(text: &str) -> Result<PortalConfig, String> {
    let mut parts = text.split(',').map(str::trim);
    let mut portal = PortalConfig::new(address(parts.next().unwrap_or_default())?);
    let (mut grouped, mut paced) = (false, false);
    for option in parts {
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        let given = match key.trim() {
            "group" => {
                portal.group = group(value.trim())?;
                &mut grouped
            }
            "rate" => {
                portal.rate =
                    Some(value.parse().map_err(|e: san::server::RateError| e.to_string())?);
                &mut paced
            }
            other => return Err(unknown(other)),
        };
        if std::mem::replace(given, true) {
            return Err(format!("`{}` is given twice", key.trim()));
        }
    }
    Ok(portal)
}

fn address(text: &str) -> Result<SocketAddr, String> {
    if text.is_empty() {
        return Err(format!("an address is missing: as in `127.0.0.1:{PORT}`"));
    }
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    // An IPv6 address needs brackets before a port, and none without one.
    let bare = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(text);
    if let Ok(ip) = bare.parse() {
        return Ok(SocketAddr::new(ip, PORT));
    }
    let (host, port) = text.rsplit_once(':').unwrap_or((text, ""));
    let port = match port {
        "" => PORT,
        port => port
            .parse()
            .map_err(|_| format!("`{port}` is no TCP port: 0 to 65535, as in `{host}:{PORT}`"))?,
    };
    let mut found = (host, port).to_socket_addrs().map_err(|_| {
        format!("`{host}` is neither an address of this machine nor a name that resolves to one")
    })?;
    found.next().ok_or_else(|| format!("the name `{host}` resolves to no address"))
}

/// RFC 7143, 13.9: a 16-bit tag; some initiators take 0 for none, so it is not given out.
fn group(text: &str) -> Result<u16, String> {
    let tag = text.parse().ok().filter(|tag| *tag != 0);
    tag.ok_or_else(|| {
        format!("`{text}` is no portal group: a number from 1 to 65535, as in `group=2`")
    })
}

fn unknown(option: &str) -> String {
    let meant = match option.chars().next() {
        Some('g' | 't') => "did you mean `group=N`?",
        Some('r' | 's') => "did you mean `rate=RATE`?",
        _ => "it takes `group=N` and `rate=RATE`",
    };
    format!("a portal has no option `{option}`; {meant}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, address: &str, group: u16, rate: Option<&str>) {
        let rate = rate.map(|rate| rate.parse().unwrap());
        let expected = PortalConfig { address: address.parse().unwrap(), group, rate };
        assert_eq!(portal(text), Ok(expected), "{text}");
    }

    #[test]
    fn a_portal_is_an_address_with_options() {
        check("127.0.0.1:3261", "127.0.0.1:3261", 1, None);
        check("127.0.0.1", "127.0.0.1:3260", 1, None);
        check("[::1]:0,group=65535", "[::1]:0", 65535, None);
        check("::1", "[::1]:3260", 1, None);
        check("[::1]", "[::1]:3260", 1, None);
        check("10.0.0.1:1, group=2, rate=8gfc", "10.0.0.1:1", 2, Some("8gfc"));
        check("10.0.0.1:1,rate=400 MB/s", "10.0.0.1:1", 1, Some("400 MB/s"));
    }

    #[track_caller]
    fn refused(text: &str, hint: &str) {
        let error = portal(text).unwrap_err();
        assert!(error.contains(hint), "{text}: {error}");
    }

    #[test]
    fn a_wrong_portal_is_told_what_would_be_right() {
        refused("", "as in `127.0.0.1:3260`");
        refused("127.0.0.1:66000", "0 to 65535");
        refused("127.0.0.1:x", "`x` is no TCP port");
        refused("127.0.0.1:1,grup=2", "did you mean `group=N`?");
        refused("127.0.0.1:1,speed=4gfc", "did you mean `rate=RATE`?");
        refused("127.0.0.1:1,x", "it takes `group=N` and `rate=RATE`");
        refused("127.0.0.1:1,group=0", "from 1 to 65535");
        refused("127.0.0.1:1,group", "from 1 to 65535");
        refused("127.0.0.1:1,group=1,group=1", "twice");
        refused("127.0.0.1:1,rate=4gcf", "`4gcf` is no speed");
    }
}
