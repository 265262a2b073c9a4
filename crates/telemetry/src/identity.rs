//! Identities of places: WWNs, MAC addresses, NAA and EUI identifiers, in one spelling.

/// An identity in one spelling: hexadecimal digits without separators behind the name of its kind. `None` for any other text:
/// names are no identities.
pub fn canonical(text: &str) -> Option<String> {
    let text = text.trim().to_ascii_lowercase();
    for prefix in ["naa.", "eui.", "t10.", "uuid."] {
        if let Some(rest) = text.strip_prefix(prefix) {
            return (rest.len() >= 8).then(|| format!("{prefix}{rest}"));
        }
    }
    let hex = |text: &str| text.bytes().all(|b| b.is_ascii_hexdigit());
    let parts: Vec<&str> = text.split([':', '-']).collect();
    let pairs = parts.iter().all(|part| part.len() == 2 && hex(part));
    match parts.len() {
        8 if pairs => return Some(format!("wwn.{}", parts.concat())),
        6 if pairs => return Some(format!("mac.{}", parts.concat())),
        _ => {}
    }
    let bare = text.strip_prefix("0x").unwrap_or(&text);
    match bare.len() {
        16 if hex(bare) && matches!(bare.as_bytes()[0], b'1' | b'2' | b'5' | b'c') => {
            Some(format!("wwn.{bare}"))
        }
        32 if hex(bare) && bare.starts_with('6') => Some(format!("naa.{bare}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[test]
    fn one_identity_has_one_spelling_and_a_name_none() {
        let wwn = Some("wwn.10000000c9123456".to_owned());
        for text in ["10:00:00:00:C9:12:34:56", "0x10000000c9123456", "10-00-00-00-c9-12-34-56"] {
            assert_eq!(canonical(text), wwn, "{text}");
        }
        assert_eq!(canonical("00:1b:21:aa:bb:cc").as_deref(), Some("mac.001b21aabbcc"));
        for text in ["eth0", "port 1", "", "naa.12", "fc1/1", "3600140512345678"] {
            assert_eq!(canonical(text), None, "{text}");
        }
    }
}
