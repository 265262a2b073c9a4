//! What forms and addresses say: pairs of text, in their order, any of them more than once.

/// The fields of a form, as `application/x-www-form-urlencoded` has them.
pub(crate) fn fields(body: &[u8]) -> Vec<(String, String)> {
    let pairs = body.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let mut halves = pair.splitn(2, |byte| *byte == b'=');
            let mut half = || decoded(halves.next().unwrap_or_default());
            (half(), half())
        })
        .collect()
}

/// The value of a field; empty where there is none.
pub(crate) fn field<'a>(fields: &'a [(String, String)], name: &str) -> &'a str {
    fields.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
}

fn decoded(text: &[u8]) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, after @ ..] = rest {
        let hex = |byte: u8| char::from(byte).to_digit(16);
        rest = after;
        match (first, after) {
            (b'+', _) => out.push(b' '),
            (b'%', [high, low, more @ ..]) if hex(*high).is_some() && hex(*low).is_some() => {
                let byte = hex(*high).unwrap_or(0) * 16 + hex(*low).unwrap_or(0);
                out.push(byte as u8);
                rest = more;
            }
            (other, _) => out.push(*other),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_decoded_in_their_order() {
        let found = fields(b"a=1&b=x+y%26z%3D&a=&c&=d&%C3%A9=%ff%2");
        let expected =
            [("a", "1"), ("b", "x y&z="), ("a", ""), ("c", ""), ("", "d"), ("é", "\u{fffd}%2")];
        let found: Vec<(&str, &str)> =
            found.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(found, expected);
        assert_eq!(fields(b""), []);
    }
}
