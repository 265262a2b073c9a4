//! All parts that scenarios can name without defining them: the embedded ones, and those of catalogs of the user.

use super::{UserCatalogs, catalog};
use crate::diagnostics::{Diagnostics, Sink};
use crate::model::Part;
use crate::nearest::{join, suggestion};
use crate::source::{CatalogFile, Source};
use crate::tree::clip;

/// The parts, in the order of their files.
#[derive(Clone, Debug)]
pub struct Shelf {
    parts: Vec<Shelved>,
}

/// A part and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Shelved {
    /// The part, with the figures of the one that it is like.
    pub part: Part,
    /// The catalog of the user; none for an embedded part.
    pub file: Option<String>,
}

impl Shelf {
    /// Reads catalogs beside the embedded one.
    /// # Errors
    /// Every mistake of the catalogs.
    pub fn read(catalogs: Vec<CatalogFile>) -> Result<Shelf, Diagnostics> {
        let source = Source { catalogs, ..Source::default() };
        let mut sink = Sink::default();
        let users = UserCatalogs::read(&source, &mut sink);
        if !sink.is_empty() {
            return Err(sink.finish(&source));
        }
        let embedded = catalog().iter().map(|part| Shelved { part: part.clone(), file: None });
        let file = |n: usize| source.catalogs.get(n).map(|file| file.name.clone());
        let of_users = users.parts.iter().zip(&users.files);
        let of_users = of_users.map(|(part, n)| Shelved { part: part.clone(), file: file(*n) });
        Ok(Shelf { parts: embedded.chain(of_users).collect() })
    }

    /// All of them.
    pub fn parts(&self) -> &[Shelved] {
        &self.parts
    }

    /// The part of a name.
    /// # Errors
    /// There is none; the text says which is meant by a name that is nearly one.
    pub fn find(&self, name: &str) -> Result<&Shelved, String> {
        self.parts.iter().find(|shelved| shelved.part.name == name).ok_or_else(|| {
            let names = self.parts.iter().map(|shelved| shelved.part.name.as_str());
            let help = self.by_model(name).or_else(|| suggestion(name, names.collect::<Vec<_>>()));
            let help = help.map_or_else(String::new, |help| format!("; {help}"));
            format!("no part is named `{}`{help}", clip(name))
        })
    }

    /// The parts whose name and maker's name hold all words of a text: `QLogic QLE2560`, `815`.
    fn by_model(&self, text: &str) -> Option<String> {
        const SHOWN_MAX: usize = 8;
        let text = text.to_lowercase();
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let words: Vec<&str> = words.collect();
        let holds = |part: &Part| {
            let model = part.model.as_deref().unwrap_or_default();
            let all = format!("{} {model}", part.name).to_lowercase();
            words.iter().all(|word| all.contains(word))
        };
        let meant = self.parts.iter().map(|shelved| &shelved.part).filter(|part| holds(part));
        let meant: Vec<String> = meant.map(|part| format!("`{}`", part.name)).collect();
        let few = !words.is_empty() && (1..=SHOWN_MAX).contains(&meant.len());
        few.then(|| format!("did you mean {}?", join(&meant, "or")))
    }
}
