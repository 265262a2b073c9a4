//! Which agents may carry a VM or the VMs of a host: by name, by label, by what their machine has, or any so many.
//!
//! ```text
//! agents = "esx1"                    the agent of this name; `esx*` is any that begins so
//! agents = "site=a && cores>=8"      every VM on an agent of its own of which this holds
//! agents = "4 of site=a"             the VMs in turns on four such agents
//! agents = "4"                       in turns on any four
//! ```

use std::fmt;

/// What agents may carry something.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentChoice {
    /// As the scenario has it.
    pub text: String,
    /// On so many agents in turns; on one each where it is not given.
    pub count: Option<u32>,
    /// The name of the first VM or host of the same table: those of one table share the agents of a count.
    pub table: String,
    condition: Condition,
}

#[derive(Clone, Debug, PartialEq)]
enum Condition {
    Any,
    All(Vec<Condition>),
    Some(Vec<Condition>),
    Not(Box<Condition>),
    Name(String),
    Compare { key: String, op: Op, value: String },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Is,
    IsNot,
    AtLeast,
    AtMost,
    Above,
    Below,
}

const OPS: [(&str, Op); 7] = [
    (">=", Op::AtLeast),
    ("<=", Op::AtMost),
    ("!=", Op::IsNot),
    ("==", Op::Is),
    ("=", Op::Is),
    (">", Op::Above),
    ("<", Op::Below),
];

/// Why a text chooses no agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChoiceError(String);

impl fmt::Display for ChoiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; as in `site=a && cores>=8`, `esx*`, or `4 of site=a`", self.0)
    }
}

/// The deepest parentheses.
const DEPTH_MAX: usize = 32;

impl AgentChoice {
    /// The choice that a text makes, of a table whose first name is given.
    /// # Errors
    /// What is wrong with the text.
    pub fn parse(text: &str, table: &str) -> Result<AgentChoice, ChoiceError> {
        let (text, trimmed) = (text.to_owned(), text.trim());
        let whole = |count: &str| count.parse::<u32>().ok();
        let (count, rest) = match trimmed.split_once(" of ") {
            Some((count, rest)) if whole(count.trim()).is_some() => (whole(count.trim()), rest),
            _ => match whole(trimmed) {
                Some(count) => (Some(count), "*"),
                None => (None, trimmed),
            },
        };
        if count == Some(0) {
            return Err(ChoiceError("no agents are too few".to_owned()));
        }
        let mut reader = Reader { rest, depth: 0 };
        let condition = reader.some()?;
        match reader.rest.trim() {
            "" => Ok(AgentChoice { text, count, table: table.to_owned(), condition }),
            more => Err(ChoiceError(format!("`{more}` follows the condition"))),
        }
    }

    /// Any agent.
    pub fn any(table: &str) -> AgentChoice {
        let (text, table) = ("any".to_owned(), table.to_owned());
        AgentChoice { text, count: None, table, condition: Condition::Any }
    }

    /// Whether it takes the agent of this name, whose labels and facts are looked up by key.
    pub fn takes(&self, name: &str, of: &dyn Fn(&str) -> Option<String>) -> bool {
        self.condition.holds(name, of)
    }
}

impl Condition {
    fn holds(&self, name: &str, of: &dyn Fn(&str) -> Option<String>) -> bool {
        match self {
            Condition::Any => true,
            Condition::All(all) => all.iter().all(|one| one.holds(name, of)),
            Condition::Some(all) => all.iter().any(|one| one.holds(name, of)),
            Condition::Not(one) => !one.holds(name, of),
            Condition::Name(pattern) => matches(pattern, name),
            Condition::Compare { key, op, value } => {
                let has = if key == "name" { Some(name.to_owned()) } else { of(key) };
                // What is not known is not equal, and neither more nor less.
                let Some(has) = has else { return *op == Op::IsNot };
                let (numbers, equal) = (both(&has, value), matches(value, &has));
                match (op, numbers) {
                    (Op::Is, Some((a, b))) => a == b || equal,
                    (Op::IsNot, Some((a, b))) => a != b && !equal,
                    (Op::Is, None) => equal,
                    (Op::IsNot, None) => !equal,
                    (Op::AtLeast, Some((a, b))) => a >= b,
                    (Op::AtMost, Some((a, b))) => a <= b,
                    (Op::Above, Some((a, b))) => a > b,
                    (Op::Below, Some((a, b))) => a < b,
                    (_, None) => false,
                }
            }
        }
    }
}

/// Both as numbers; sizes in bytes.
fn both(a: &str, b: &str) -> Option<(f64, f64)> {
    let number = |text: &str| {
        let plain = text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
        plain.or_else(|| units::Bytes::parse(text).ok().map(|bytes| bytes.0 as f64))
    };
    Some((number(a)?, number(b)?))
}

/// Whether a text is as a pattern says, in which `*` stands for anything.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

struct Reader<'t> {
    rest: &'t str,
    depth: usize,
}

impl Reader<'_> {
    fn take(&mut self, word: &str) -> bool {
        let rest = self.rest.trim_start().strip_prefix(word);
        rest.is_some_and(|rest| {
            self.rest = rest;
            true
        })
    }

    fn some(&mut self) -> Result<Condition, ChoiceError> {
        let mut all = vec![self.all()?];
        while self.take("||") {
            all.push(self.all()?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Condition::Some(all) })
    }

    fn all(&mut self) -> Result<Condition, ChoiceError> {
        let mut all = vec![self.one()?];
        while self.take("&&") {
            all.push(self.one()?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Condition::All(all) })
    }

    fn one(&mut self) -> Result<Condition, ChoiceError> {
        if self.take("!") {
            self.deeper()?;
            let one = self.one()?;
            self.depth -= 1;
            return Ok(Condition::Not(Box::new(one)));
        }
        if self.take("(") {
            self.deeper()?;
            let inner = self.some()?;
            self.depth -= 1;
            return match self.take(")") {
                true => Ok(inner),
                false => Err(ChoiceError("a `)` is missing".to_owned())),
            };
        }
        let word = self.word("a name or a label")?;
        for (sign, op) in OPS {
            if self.take(sign) {
                let value = self.word(&format!("a value after `{word}{sign}`"))?;
                return Ok(Condition::Compare { key: word, op, value });
            }
        }
        Ok(if word == "*" { Condition::Any } else { Condition::Name(word) })
    }

    fn deeper(&mut self) -> Result<(), ChoiceError> {
        self.depth += 1;
        match self.depth {
            0..=DEPTH_MAX => Ok(()),
            _ => Err(ChoiceError("too many parentheses in each other".to_owned())),
        }
    }

    /// The next word: letters that are no sign of this language, inner blanks not included.
    fn word(&mut self, expected: &str) -> Result<String, ChoiceError> {
        let rest = self.rest.trim_start();
        let end =
            rest.find(|c: char| c.is_whitespace() || "()!=<>&|".contains(c)).unwrap_or(rest.len());
        if end == 0 {
            let found = if rest.is_empty() { "the end".to_owned() } else { format!("`{rest}`") };
            return Err(ChoiceError(format!("{expected} is expected, not {found}")));
        }
        self.rest = &rest[end..];
        Ok(rest[..end].to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(key: &str) -> Option<String> {
        let known = [("site", "a"), ("cores", "8"), ("memory", "16 GiB"), ("rack", "r12")];
        known.iter().find(|(k, _)| *k == key).map(|(_, value)| (*value).to_owned())
    }

    #[test]
    fn agents_are_chosen_by_name_label_and_figure() {
        for (text, takes) in [
            ("esx1", true),
            ("esx", false),
            ("esx*", true),
            ("*1", true),
            ("e*x*1", true),
            ("e*y*1", false),
            ("*", true),
            ("site=a", true),
            ("site = b", false),
            ("site!=b", true),
            ("color!=red", true),
            ("color=red", false),
            ("rack=r*", true),
            ("cores>=8", true),
            ("cores>8", false),
            ("cores<10 && site=a", true),
            ("memory>=8GiB", true),
            ("memory>17GB && memory<18GB", true),
            ("site=b || (cores=8 && !rack=r13)", true),
            ("!site=a || cores<2", false),
            ("name=esx1", true),
            ("site>=3", false),
        ] {
            let choice = AgentChoice::parse(text, "vm").expect(text);
            assert_eq!(choice.takes("esx1", &of), takes, "{text}");
        }
    }

    #[test]
    fn a_count_shares_agents() {
        let count = |text: &str| AgentChoice::parse(text, "vm").map(|choice| choice.count);
        assert_eq!(count("4"), Ok(Some(4)));
        assert_eq!(count("4 of site=a"), Ok(Some(4)));
        assert_eq!(count("site=a"), Ok(None));
        assert!(count("0").is_err() && count("0 of x").is_err());
    }

    #[test]
    fn mistakes_say_what_was_expected() {
        for (text, says) in [
            ("", "a name or a label is expected, not the end"),
            ("site=", "a value after `site=` is expected, not the end"),
            ("site=a cores>=8", "`cores>=8` follows the condition"),
            ("(site=a", "a `)` is missing"),
            ("site=a &&", "a name or a label is expected"),
            ("&& site=a", "not `&& site=a`"),
        ] {
            let error = AgentChoice::parse(text, "vm").expect_err(text).to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
        let deep = format!("{}a{}", "(".repeat(100), ")".repeat(100));
        assert!(AgentChoice::parse(&deep, "vm").is_err());
        assert!(AgentChoice::parse(&"!".repeat(100_000), "vm").is_err());
    }
}
