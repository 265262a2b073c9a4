//! What holds for Rust files: how they open, how long a function is, that an exception says why, and where `unsafe` may
//! be written. Read off the syntax tree, so that strings and comments cannot deceive.

use crate::{Breach, Source, caught, none, root, rust_sources};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

const FUNCTION_LINES_MAX: usize = 70;

/// The crates that may write `unsafe`: the clock's system calls, the data plane's buffers and system calls, the guard's one
/// question to a SCSI device, and that of guests to a socket.
const UNSAFE_ROOMS: [&str; 7] = ["clock", "disk", "engine", "guard", "guest", "net", "san"];

/// What is wrong within one file's syntax tree.
struct Reader<'a> {
    source: &'a Source,
    breaches: Vec<Breach>,
}

impl Reader<'_> {
    fn function(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let first = signature.span().start().line;
        let lines = block.brace_token.span.close().end().line + 1 - first;
        if lines > FUNCTION_LINES_MAX {
            let what =
                format!("`{}` has {lines} lines; at most {FUNCTION_LINES_MAX}", signature.ident);
            self.breaches.push(self.source.breach(first, what));
        }
    }

    /// Whether a comment stands on the line, or is the line above it.
    fn explained(&self, line: usize) -> bool {
        let mut lines = self.source.text.lines().skip(line.saturating_sub(2));
        let above = if line > 1 { lines.next() } else { None };
        let comment = |text: &str| text.starts_with("// ");
        above.is_some_and(|text| comment(text.trim_start()))
            || lines
                .next()
                .and_then(|text| text.split_once("] "))
                .is_some_and(|(_, end)| comment(end))
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.function(&item.sig, block);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        let exception = attribute.path().is_ident("allow") || attribute.path().is_ident("expect");
        let line = attribute.span().start().line;
        if exception && !has_reason(attribute) && !self.explained(line) {
            let what = "an exception from a lint says why: add `, reason = \"…\"`";
            self.breaches.push(self.source.breach(line, what));
        }
    }
}

fn has_reason(attribute: &syn::Attribute) -> bool {
    let mut found = false;
    // Lint names are paths without a value, so only the reason has one.
    let parsed = attribute.parse_nested_meta(|meta| {
        if meta.path.is_ident("reason") {
            found = !meta.value()?.parse::<syn::LitStr>()?.value().trim().is_empty();
        }
        Ok(())
    });
    parsed.is_ok() && found
}

fn tree(source: &Source) -> Vec<Breach> {
    match syn::parse_file(&source.text) {
        Ok(file) => {
            let mut reader = Reader { source, breaches: Vec::new() };
            reader.visit_file(&file);
            reader.breaches
        }
        Err(error) => vec![source.breach(error.span().start().line, error.to_string())],
    }
}

fn opening(source: &Source) -> Option<Breach> {
    let says = source.text.lines().next().is_some_and(|line| line.starts_with("//! "));
    (!says).then(|| source.breach(1, "begin with `//!` and what the module is for"))
}

/// The root of a crate without leave to be unsafe has the compiler forbid it.
fn unsafe_is_forbidden(source: &Source) -> Option<Breach> {
    let (krate, file) = source.path.strip_prefix("crates/")?.split_once("/src/")?;
    if !["lib.rs", "main.rs"].contains(&file) || UNSAFE_ROOMS.contains(&krate) {
        return None;
    }
    let forbidden = source.text.lines().any(|line| line == "#![forbid(unsafe_code)]");
    (!forbidden).then(|| source.breach(1, "add `#![forbid(unsafe_code)]`"))
}

#[test]
fn rust_files_keep_the_rules() {
    none(rust_sources().flat_map(tree));
}

#[test]
fn a_long_function_is_caught() {
    let body = "    work();\n".repeat(FUNCTION_LINES_MAX - 1);
    let check =
        |text: String, expected: &[&str]| caught(tree(&Source::sample("x.rs", &text)), expected);
    check(format!("//! X.\nfn long() {{\n{body}}}\n"), &["x.rs:2: `long` has 71 lines"]);
    check(format!("fn within() {{\n{}}}\n", &body[12..]), &[]);
    check(format!("impl X {{\n fn method() {{\n{body}}}\n}}\n"), &["`method` has 71"]);
    check(format!("trait X {{\n fn default() {{\n{body}}}\n}}\n"), &["`default` has 71"]);
    check(format!("fn outer() {{\n fn inner() {{\n{body} }}\n}}\n"), &["`outer`", "`inner`"]);
    check(format!("mod m {{ #[test]\n fn case() {{\n{body} }}\n}}\n"), &["x.rs:2: `case`"]);
}

#[test]
fn an_exception_without_a_reason_is_caught() {
    let check =
        |text: &str, expected: &[&str]| caught(tree(&Source::sample("x.rs", text)), expected);
    check("#[allow(dead_code)]\nfn f() {}\n", &["x.rs:1: an exception"]);
    check("#![allow(clippy::all)]\n", &["an exception"]);
    check("fn f() {\n    #[expect(unused)]\n    let x = 1;\n}\n", &["x.rs:2: an exception"]);
    check("#[allow(dead_code, reason = \" \")]\nfn f() {}\n", &["an exception"]);
    check("#[allow(dead_code, reason = \"used on other systems\")]\nfn f() {}\n", &[]);
    check("#[allow(dead_code)] // Used on other systems.\nfn f() {}\n", &[]);
    check("// Used on other systems.\n#[allow(dead_code)]\nfn f() {}\n", &[]);
    check("/// Works.\n#[allow(dead_code)]\nfn f() {}\n", &["x.rs:2: an exception"]);
    check("const S: &str = \"#[allow(dead_code)]\";\n", &[]);
}

#[test]
fn a_file_that_does_not_parse_is_caught() {
    caught(tree(&Source::sample("x.rs", "//! X.\nfn {")), &["x.rs:2: cannot parse"]);
}

#[test]
fn every_module_says_what_it_is_for() {
    none(rust_sources().filter_map(opening));
}

#[test]
fn a_silent_module_is_caught() {
    caught(opening(&Source::sample("x.rs", "use a::B;\n//! Late.\n")), &["x.rs:1: begin with"]);
    caught(opening(&Source::sample("x.rs", "")), &["begin with"]);
    caught(opening(&Source::sample("x.rs", "//! A clock.\n")), &[]);
}

#[test]
fn unsafe_stays_in_its_rooms() {
    none(rust_sources().filter_map(unsafe_is_forbidden));
    for room in UNSAFE_ROOMS {
        assert!(
            root().join("crates").join(room).is_dir(),
            "the list names `{room}`, which is gone"
        );
    }
}

#[test]
fn leave_to_be_unsafe_is_caught() {
    let check = |path: &str, text: &str, expected: &[&str]| {
        caught(unsafe_is_forbidden(&Source::sample(path, text)), expected);
    };
    check("crates/units/src/lib.rs", "//! Units.\n", &["add `#![forbid(unsafe_code)]`"]);
    check("crates/units/src/lib.rs", "//! Units.\n#![forbid(unsafe_code)]\n", &[]);
    check("crates/wirespeed/src/main.rs", "// #![forbid(unsafe_code)]\n", &["add"]);
    check("crates/disk/src/lib.rs", "//! Disks.\n", &[]);
    check("crates/units/src/parse.rs", "//! Text.\n", &[]);
}
