//! What holds for the documents: every link leads somewhere, every page can be found, and every command that is shown
//! exists with the options that it is shown with.

use crate::{Breach, Source, caught, none, root, sources};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

fn pages() -> impl Iterator<Item = &'static Source> {
    sources().iter().filter(|source| source.path.ends_with(".md"))
}

/// The lines of a page with their numbers, each with whether it stands within a code fence.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str, bool)> {
    let mut fenced = false;
    (1..).zip(text.lines()).map(move |(number, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (number, line, fenced || fence)
    })
}

/// `[text](target)` outside code, as (line, target).
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (number, line, _) in lines(text).filter(|(_, _, fenced)| !fenced) {
        for (start, opening) in line.match_indices("](") {
            let in_code = line[..start].matches('`').count() % 2 == 1;
            let target = line[start + opening.len()..].split_once(')').map(|(target, _)| target);
            found.extend(target.filter(|_| !in_code).map(|target| (number, target)));
        }
    }
    found
}

/// The anchors of a page, as GitHub makes them from its headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut seen = BTreeMap::new();
    let headings = lines(text).filter(|(_, line, fenced)| !fenced && line.starts_with('#'));
    headings
        .map(|(_, line, _)| {
            let slug = slug(line.trim_start_matches('#').trim());
            let count = seen.entry(slug.clone()).and_modify(|n| *n += 1).or_insert(0);
            if *count == 0 { slug } else { format!("{slug}-{count}") }
        })
        .collect()
}

fn slug(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Where a relative link of the page at `path` leads, without its anchor.
fn resolve(path: &str, target: &str) -> String {
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// `exists` answers for files that are not pages; `page` gives a page's text.
fn broken_links<'a>(
    source: &'a Source,
    exists: impl Fn(&str) -> bool,
    page: impl Fn(&str) -> Option<&'a str>,
) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for (line, link) in links(&source.text) {
        if link.contains("://") || link.starts_with("mailto:") {
            continue;
        }
        let (file, anchor) = link.split_once('#').map_or((link, None), |(f, a)| (f, Some(a)));
        let path = if file.is_empty() { source.path.clone() } else { resolve(&source.path, file) };
        if !exists(&path) {
            breaches.push(source.breach(line, format!("`{link}` leads nowhere")));
        } else if let (Some(anchor), Some(text)) = (anchor, page(&path))
            && !anchors(text).contains(anchor)
        {
            breaches.push(source.breach(line, format!("`{path}` has no heading `#{anchor}`")));
        }
    }
    breaches
}

/// Pages under `docs/` that neither the README nor the index of the documents leads to.
fn lost_pages(pages: &[&Source]) -> Vec<Breach> {
    let roots = ["README.md", "docs/README.md"];
    let linked: BTreeSet<String> = pages
        .iter()
        .filter(|page| roots.contains(&page.path.as_str()))
        .flat_map(|page| links(&page.text).into_iter().map(move |(_, link)| (page, link)))
        .map(|(page, link)| resolve(&page.path, link.split('#').next().unwrap_or_default()))
        .collect();
    let lost = |page: &&&Source| page.path.starts_with("docs/") && !linked.contains(&page.path);
    let breach = |page: &&Source| page.breach(1, "no link from README.md or docs/README.md");
    pages.iter().filter(lost).map(breach).collect()
}

/// A command as a document shows it.
#[derive(Debug, PartialEq)]
enum Shown<'a> {
    /// `make TARGET`
    Make(&'a str),
    /// `wirespeed COMMAND` with its long options
    Wirespeed(&'a str, Vec<&'a str>),
}

/// Commands within fences and within back-quotes.
fn commands(text: &str) -> Vec<(usize, Shown<'_>)> {
    let mut found = Vec::new();
    for (number, line, fenced) in lines(text) {
        let spans: Vec<&str> =
            if fenced { vec![line] } else { line.split('`').skip(1).step_by(2).collect() };
        found.extend(spans.into_iter().filter_map(command).map(|shown| (number, shown)));
    }
    found
}

fn command(span: &str) -> Option<Shown<'_>> {
    let span = span.split(" #").next().unwrap_or_default();
    let mut words = span.split_whitespace().skip_while(|word| *word == "$").peekable();
    let program = words.next()?.rsplit('/').next()?;
    let is_name = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    let first = words.next().filter(is_name).filter(|word| !word.starts_with('-'))?;
    match program {
        "make" => Some(Shown::Make(first)),
        "wirespeed" => {
            let name = |word: &'_ str| word.find(['=', ',', ']']).unwrap_or(word.len());
            let options = words.filter(|word| word.starts_with("--") && word.len() > 2);
            Some(Shown::Wirespeed(first, options.map(|word| &word[..name(word)]).collect()))
        }
        _ => None,
    }
}

fn made_up<'a>(
    source: &'a Source,
    makefile: &str,
    help: &mut impl FnMut(&'a str) -> Option<String>,
) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for (line, shown) in commands(&source.text) {
        match shown {
            Shown::Make(target)
                if !makefile.lines().any(|l| l.starts_with(&format!("{target}:"))) =>
            {
                breaches.push(source.breach(line, format!("the Makefile has no `{target}`")));
            }
            Shown::Make(_) => {}
            Shown::Wirespeed(name, options) => {
                let Some(help) = help(name) else {
                    breaches.push(source.breach(line, format!("there is no `wirespeed {name}`")));
                    continue;
                };
                let known = |option: &&&str| {
                    help.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))
                        .any(|w| w == **option)
                };
                for option in options.iter().filter(|option| !known(option)) {
                    let what = format!("`wirespeed {name}` has no `{option}`");
                    breaches.push(source.breach(line, what));
                }
            }
        }
    }
    breaches
}

/// What `wirespeed NAME --help` prints, if there is such a command, and the same of the commands within it.
fn help_of(name: &str) -> Option<String> {
    let help = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wirespeed"));
        let output = command.args(words).arg("--help").output().expect("the binary starts");
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let mut all = help(&[name])?;
    let listed = all.split_once("\nCommands:\n").and_then(|(_, rest)| rest.split("\n\n").next());
    let within: Vec<String> = listed
        .into_iter()
        .flat_map(str::lines)
        .filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next().map(str::to_owned))
        .collect();
    all.extend(within.iter().filter_map(|action| help(&[name, action])));
    Some(all)
}

#[test]
fn links_lead_somewhere() {
    let exists = |path: &str| root().join(Path::new(path)).exists();
    let page = |path: &str| pages().find(|p| p.path == path).map(|p| p.text.as_str());
    none(pages().flat_map(|source| broken_links(source, exists, page)));
}

#[test]
fn a_broken_link_is_caught() {
    let check = |text: &str, expected: &[&str]| {
        let source = Source::sample("docs/a.md", text);
        let page =
            |path: &str| (path == "docs/b.md").then_some("# Big `Box`, 2nd!\n# Twice\n# Twice\n");
        caught(
            broken_links(&source, |path| path == "docs/b.md" || path == "LICENSE", page),
            expected,
        );
    };
    check("[b](b.md) and [c](c.md)\n", &["docs/a.md:1: `c.md` leads nowhere"]);
    check("[up](../LICENSE), [out](https://example.org/x)\n", &[]);
    check("\n[b](b.md#big-box-2nd) [t](b.md#twice-1)\n", &[]);
    check("\n[b](b.md#small)\n", &["docs/a.md:2: `docs/b.md` has no heading `#small`"]);
    check("```\n[c](c.md)\n```\n", &[]);
    check("`[c](c.md)` [c](./d/../c.md)\n", &["`./d/../c.md`"]);
}

#[test]
fn every_page_can_be_found() {
    none(lost_pages(&pages().collect::<Vec<_>>()));
}

#[test]
fn a_lost_page_is_caught() {
    let readme = Source::sample("README.md", "[a](docs/a.md#top) [index](docs/README.md)");
    let index = Source::sample("docs/README.md", "[b](b.md)");
    let [a, b, c] = ["a", "b", "c"].map(|name| Source::sample(&format!("docs/{name}.md"), ""));
    caught(lost_pages(&[&readme, &index, &a, &b, &c]), &["docs/c.md:1: no link"]);
}

#[test]
fn commands_shown_exist() {
    let makefile = std::fs::read_to_string(root().join("Makefile")).expect("there is a Makefile");
    let mut known = BTreeMap::new();
    let mut help = |name: &'static str| known.entry(name).or_insert_with(|| help_of(name)).clone();
    none(pages().flat_map(|source| made_up(source, &makefile, &mut help)));
}

#[test]
fn a_made_up_command_is_caught() {
    let check = |text: &str, expected: &[&str]| {
        let source = Source::sample("README.md", text);
        let mut help = |name: &str| {
            (name == "run")
                .then(|| "Usage: wirespeed run FILE\n  --out <RUN>  --set <KEY>".to_owned())
        };
        caught(made_up(&source, "test: build\n\tcargo test\n", &mut help), expected);
    };
    check("`make test`, `make tests`\n", &["README.md:1: the Makefile has no `tests`"]);
    check("```sh\n$ make demo   # a tour\n```\n", &["README.md:2: the Makefile has no `demo`"]);
    check("Runs make sure of it. `make`\n", &[]);
    check("```\nwirespeed run a.toml --set plan.measure=1s --out x\n```\n", &[]);
    check("`target/release/wirespeed walk a.toml`\n", &["there is no `wirespeed walk`"]);
    check("`wirespeed run a.toml --outt x`\n", &["`wirespeed run` has no `--outt`"]);
    check("`wirespeed run a.toml --ou x`\n", &["`wirespeed run` has no `--ou`"]);
    check("`wirespeed --help`, `wirespeed COMMAND`\n", &[]);
}
