//! JSON as monitoring programs write it, also where it is broken: decimal commas, missing and stray commas, an end that is
//! cut off. Each is mended and counted; what cannot be mended is a mistake at its place.

use super::error::ReadError;
use super::lines::is_prompt;

/// Nesting at most.
const DEEP: usize = 64;
/// Values at most: what a file of 256 MiB may hold of the smallest.
const VALUES: usize = 40_000_000;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Json {
    Null,
    Bool(bool),
    Number(f64),
    Text(Box<str>),
    List(Vec<Json>),
    Map(Vec<(Box<str>, Json)>),
}

impl Json {
    /// The value of a key of a map.
    pub fn get(&self, key: &str) -> Option<&Json> {
        match self {
            Json::Map(pairs) => pairs.iter().find(|(k, _)| &**k == key).map(|(_, v)| v),
            _ => None,
        }
    }

    /// The value of the first of these keys that there is.
    pub fn first(&self, keys: &[&str]) -> Option<&Json> {
        keys.iter().find_map(|key| self.get(key))
    }

    /// A value below: keys separated by `/`.
    pub fn path(&self, path: &str) -> Option<&Json> {
        path.split('/').try_fold(self, |json, key| json.get(key))
    }

    /// Elements of a list; none of anything else.
    pub fn items(&self) -> &[Json] {
        match self {
            Json::List(items) => items,
            _ => &[],
        }
    }

    /// Pairs of a map.
    pub fn pairs(&self) -> &[(Box<str>, Json)] {
        match self {
            Json::Map(pairs) => pairs,
            _ => &[],
        }
    }

    /// A number, also one that stands in quotes.
    pub fn number(&self) -> Option<f64> {
        match self {
            Json::Number(number) => Some(*number),
            Json::Text(text) => super::number::number(text),
            _ => None,
        }
    }

    /// A text.
    pub fn text(&self) -> Option<&str> {
        match self {
            Json::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// What was mended.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Mended {
    pub decimal_commas: u64,
    pub commas: u64,
    /// Where the text ends before its values do.
    pub cut_off: Option<(u64, u64)>,
}

impl Mended {
    /// What was mended, in words; `None` where nothing was.
    pub fn told(&self) -> Option<String> {
        let mut parts = Vec::new();
        if self.decimal_commas > 0 {
            parts.push(format!("{} decimal commas", self.decimal_commas));
        }
        if self.commas > 0 {
            parts.push(format!("{} commas that were missing or too many", self.commas));
        }
        if let Some((line, column)) = self.cut_off {
            parts.push(format!("an end that is cut off at line {line}, column {column}"));
        }
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

/// All documents of a text, one after the other; text around them, as of a shell, is skipped.
pub(super) fn documents(text: &str) -> Result<(Vec<Json>, Mended), ReadError> {
    let mut parser =
        Parser { bytes: text.as_bytes(), text, at: 0, mended: Mended::default(), values: 0 };
    let mut out = Vec::new();
    loop {
        parser.blank();
        match parser.bytes.get(parser.at) {
            None => break,
            Some(b'[') if is_prompt(parser.line()) => parser.skip_line(),
            Some(b'{' | b'[') => out.push(parser.value(0)?),
            // `^C{`: a document begins behind what a terminal shows.
            Some(_) if parser.line().trim_end().ends_with('{') => {
                parser.at += parser.line().trim_end().len() - 1;
            }
            Some(_) => parser.skip_line(),
        }
    }
    Ok((out, parser.mended))
}

struct Parser<'a> {
    bytes: &'a [u8],
    text: &'a str,
    at: usize,
    mended: Mended,
    values: usize,
}

impl Parser<'_> {
    fn blank(&mut self) {
        while self.bytes.get(self.at).is_some_and(|b| b.is_ascii_whitespace() || *b == 0) {
            self.at += 1;
        }
    }

    /// What is left of the line.
    fn line(&self) -> &str {
        let rest = self.text.get(self.at..).unwrap_or_default();
        rest.split('\n').next().unwrap_or(rest)
    }

    fn skip_line(&mut self) {
        while self.bytes.get(self.at).is_some_and(|b| *b != b'\n') {
            self.at += 1;
        }
    }

    fn place(&self) -> (u64, u64) {
        let at = self.at.min(self.bytes.len());
        let before = &self.bytes[..at];
        let line = before.iter().filter(|b| **b == b'\n').count() as u64 + 1;
        let start = before.iter().rposition(|b| *b == b'\n').map_or(0, |p| p + 1);
        let column = String::from_utf8_lossy(&before[start..]).chars().count() as u64 + 1;
        (line, column)
    }

    fn wrong(&self, text: &str) -> ReadError {
        let (line, column) = self.place();
        ReadError::new(line, column, text)
    }

    fn cut(&mut self) -> Json {
        let place = self.place();
        self.mended.cut_off.get_or_insert(place);
        Json::Null
    }

    fn value(&mut self, depth: usize) -> Result<Json, ReadError> {
        self.values += 1;
        if depth > DEEP || self.values > VALUES {
            return Err(self.wrong("values are nested too deep, or there are too many of them"));
        }
        self.blank();
        match self.bytes.get(self.at) {
            None => Ok(self.cut()),
            Some(b'{') => self.map(depth),
            Some(b'[') => self.list(depth),
            Some(b'"') => Ok(match self.string()? {
                Some(text) => Json::Text(text),
                None => self.cut(),
            }),
            Some(_) => self.word(),
        }
    }

    fn map(&mut self, depth: usize) -> Result<Json, ReadError> {
        self.at += 1;
        let mut pairs = Vec::new();
        let mut separated = true;
        loop {
            self.blank();
            match self.bytes.get(self.at) {
                None => {
                    self.cut();
                    return Ok(Json::Map(pairs));
                }
                Some(b'}') => {
                    self.at += 1;
                    self.mended.commas += u64::from(separated && !pairs.is_empty());
                    return Ok(Json::Map(pairs));
                }
                Some(b',') => {
                    self.at += 1;
                    self.mended.commas += u64::from(separated);
                    separated = true;
                }
                Some(b'"') => {
                    self.mended.commas += u64::from(!separated);
                    separated = false;
                    let Some(key) = self.string()? else {
                        self.cut();
                        return Ok(Json::Map(pairs));
                    };
                    self.blank();
                    match self.bytes.get(self.at) {
                        None => {
                            self.cut();
                            return Ok(Json::Map(pairs));
                        }
                        Some(b':') => self.at += 1,
                        Some(_) => return Err(self.wrong("a `:` is expected behind a key")),
                    }
                    let value = self.value(depth + 1)?;
                    let value = self.decimal(value);
                    if self.mended.cut_off.is_none()
                        || !matches!(value, Json::Null | Json::Number(_))
                    {
                        pairs.push((key, value));
                    }
                }
                Some(_) => return Err(self.wrong("a key in quotes is expected")),
            }
        }
    }

    /// Within a map a comma and digits behind a number are its decimals: the next key would be in quotes.
    fn decimal(&mut self, value: Json) -> Json {
        let Json::Number(whole) = value else { return value };
        let digits = |from: usize| {
            self.bytes[from.min(self.bytes.len())..]
                .iter()
                .take_while(|b| b.is_ascii_digit())
                .count()
        };
        let count = digits(self.at + 1);
        if self.bytes.get(self.at) != Some(&b',') || count == 0 || count > 15 {
            return Json::Number(whole);
        }
        let decimals = &self.text[self.at + 1..self.at + 1 + count];
        let part = decimals.parse::<f64>().unwrap_or(0.0) / 10f64.powi(count as i32);
        self.at += 1 + count;
        self.mended.decimal_commas += 1;
        Json::Number(if whole < 0.0 { whole - part } else { whole + part })
    }

    fn list(&mut self, depth: usize) -> Result<Json, ReadError> {
        self.at += 1;
        let mut items = Vec::new();
        let mut separated = true;
        loop {
            self.blank();
            match self.bytes.get(self.at) {
                None => {
                    self.cut();
                    return Ok(Json::List(items));
                }
                Some(b']') => {
                    self.at += 1;
                    self.mended.commas += u64::from(separated && !items.is_empty());
                    return Ok(Json::List(items));
                }
                Some(b',') => {
                    self.at += 1;
                    self.mended.commas += u64::from(separated);
                    separated = true;
                }
                Some(b'}' | b':') => return Err(self.wrong("a `]` is missing before this")),
                Some(_) => {
                    self.mended.commas += u64::from(!separated);
                    separated = false;
                    let whole = self.mended.cut_off.is_none();
                    let item = self.value(depth + 1)?;
                    if whole
                        && self.mended.cut_off.is_some()
                        && !matches!(item, Json::Map(_) | Json::List(_))
                    {
                        return Ok(Json::List(items));
                    }
                    items.push(item);
                }
            }
        }
    }

    /// A text in quotes; `None` where its end is cut off.
    fn string(&mut self) -> Result<Option<Box<str>>, ReadError> {
        self.at += 1;
        let start = self.at;
        let mut out: Option<String> = None;
        loop {
            match self.bytes.get(self.at) {
                None => return Ok(None),
                Some(b'"') => {
                    let plain = &self.text[start..self.at];
                    self.at += 1;
                    return Ok(Some(out.map_or_else(|| plain.into(), String::into_boxed_str)));
                }
                Some(b'\\') => {
                    let text = out.get_or_insert_with(|| self.text[start..self.at].to_owned());
                    let Some(next) = self.text[self.at + 1..].chars().next() else {
                        return Ok(None);
                    };
                    self.at += 1 + next.len_utf8();
                    match next {
                        'n' => text.push('\n'),
                        't' => text.push('\t'),
                        'r' => text.push('\r'),
                        'b' | 'f' => text.push(' '),
                        'u' => {
                            let hex = self.text.get(self.at..self.at + 4);
                            let code = hex.and_then(|hex| u32::from_str_radix(hex, 16).ok());
                            let Some(code) = code else {
                                return Err(
                                    self.wrong("four hexadecimal digits are expected behind `\\u`")
                                );
                            };
                            self.at += 4;
                            text.push(char::from_u32(code).unwrap_or('\u{fffd}'));
                        }
                        other => text.push(other),
                    }
                }
                Some(_) => {
                    let c = self.text[self.at..].chars().next().unwrap_or(' ');
                    if let Some(text) = &mut out {
                        text.push(c);
                    }
                    self.at += c.len_utf8();
                }
            }
        }
    }

    fn word(&mut self) -> Result<Json, ReadError> {
        let rest = &self.bytes[self.at..];
        let end = rest
            .iter()
            .position(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'-' | b'+' | b'.')))
            .unwrap_or(rest.len());
        if end == 0 {
            return Err(self.wrong("a value is expected"));
        }
        let word = &self.text[self.at..self.at + end];
        let value = match word {
            "null" | "nan" | "-nan" | "NaN" | "inf" | "-inf" | "Infinity" => Json::Null,
            "true" => Json::Bool(true),
            "false" => Json::Bool(false),
            word => match word.parse::<f64>() {
                Ok(number) if number.is_finite() => Json::Number(number),
                _ if self.at + end == self.bytes.len() => {
                    self.at += end;
                    return Ok(self.cut());
                }
                _ => return Err(self.wrong("this is no value")),
            },
        };
        self.at += end;
        if self.at == self.bytes.len() {
            self.cut();
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (Json, Mended) {
        let (mut all, mended) = documents(text).unwrap_or_else(|e| panic!("{e} in {text}"));
        (all.remove(0), mended)
    }

    #[test]
    fn broken_documents_are_mended_and_it_is_counted() {
        let whole = parsed(r#"{"a":[{"x":6.90,"y":1},{"x":2}],"b":"é\u0041\n"}"#);
        assert_eq!(whole.1, Mended::default());
        assert_eq!(whole.0.path("a").unwrap().items()[0].get("x").unwrap().number(), Some(6.9));
        assert_eq!(whole.0.get("b").unwrap().text(), Some("éA\n"));
        let comma = parsed(r#"{"a":[{"x":6,90,"y":1,},{"x":2}{"x":3}]}"#);
        assert_eq!((comma.1.decimal_commas, comma.1.commas), (1, 2));
        assert_eq!(comma.0.path("a").unwrap().items()[0], whole.0.path("a").unwrap().items()[0]);
        let cut = parsed("{\"a\":[{\"x\":1},\n{\"x\":2");
        assert_eq!(cut.1.cut_off, Some((2, 7)));
        assert_eq!(cut.0.path("a").unwrap().items()[0].get("x").unwrap().number(), Some(1.0));
        assert_eq!(
            cut.0.path("a").unwrap().items()[1].get("x"),
            None,
            "a number that may go on is none"
        );
        let two = documents("fio: note\n{\"a\":1}\n{\"a\":2}\n").unwrap().0;
        assert_eq!(two.len(), 2);
    }

    #[test]
    fn what_cannot_be_mended_has_its_place() {
        let wrong = documents("{\n  \"a\" 1}").unwrap_err();
        assert_eq!((wrong.line, wrong.column), (2, 7));
        assert!(documents(&"[".repeat(100)).is_err());
        assert!(documents("{\"a\": ?}").is_err());
    }
}
