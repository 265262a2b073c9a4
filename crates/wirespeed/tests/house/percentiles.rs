//! Percentiles are never averaged: the 99th percentile of two halves is not the mean of theirs. Nowhere is one added to
//! anything, summed up, or named as if it were; histograms are merged, and the percentile is read off the merged one.
//!
//! Read off the syntax tree. A percentile is a field `p50_ns`, `p95_ns`, … or what a method `percentile` yields. It may
//! be compared, subtracted and divided (a ratio of two is a finding); whatever adds it up is a mean on its way.

use crate::{Breach, Source, caught, none, rust_sources};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, Member};

const FIELDS: [&str; 5] = ["p50_ns", "p90_ns", "p95_ns", "p99_ns", "p999_ns"];
/// Parts of a name that together speak of an averaged percentile.
const MEANS: [&str; 3] = ["mean", "avg", "average"];
const PERCENTILES: [&str; 6] = ["p50", "p90", "p95", "p99", "percentile", "quantile"];

/// Whether an expression is made of a percentile: itself, scaled, converted, or taken out of an option.
fn made_of_one(expr: &Expr) -> bool {
    match expr {
        Expr::Field(e) => {
            let named = |m: &Member| matches!(m, Member::Named(n) if FIELDS.iter().any(|f| n == f));
            named(&e.member) || made_of_one(&e.base)
        }
        Expr::MethodCall(e) => {
            e.method == "percentile" || made_of_one(&e.receiver) || e.args.iter().any(made_of_one)
        }
        Expr::Closure(e) => made_of_one(&e.body),
        Expr::Cast(e) => made_of_one(&e.expr),
        Expr::Paren(e) => made_of_one(&e.expr),
        Expr::Reference(e) => made_of_one(&e.expr),
        Expr::Unary(e) => made_of_one(&e.expr),
        Expr::Try(e) => made_of_one(&e.expr),
        Expr::Binary(e) if matches!(e.op, BinOp::Mul(_) | BinOp::Div(_)) => {
            made_of_one(&e.left) || made_of_one(&e.right)
        }
        _ => false,
    }
}

struct Reader<'a> {
    source: &'a Source,
    breaches: Vec<Breach>,
}

impl Reader<'_> {
    fn breach(&mut self, at: proc_macro2::Span, what: &str) {
        self.breaches.push(self.source.breach(at.start().line, what.to_owned()));
    }

    fn name(&mut self, ident: &syn::Ident) {
        let name = ident.to_string().to_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| name.contains(word));
        if says(&MEANS) && says(&PERCENTILES) {
            self.breach(
                ident.span(),
                "a percentile is never averaged, and nothing is named as if it were",
            );
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_expr_binary(&mut self, e: &'ast syn::ExprBinary) {
        let adds = matches!(e.op, BinOp::Add(_) | BinOp::AddAssign(_));
        if adds && (made_of_one(&e.left) || made_of_one(&e.right)) {
            self.breach(e.op.span(), "a percentile is added up: merge histograms and read it off");
        }
        visit::visit_expr_binary(self, e);
    }

    fn visit_expr_method_call(&mut self, e: &'ast syn::ExprMethodCall) {
        if e.method == "sum" && made_of_one(&e.receiver) {
            self.breach(
                e.method.span(),
                "percentiles are summed up: merge histograms and read it off",
            );
        }
        visit::visit_expr_method_call(self, e);
    }

    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        self.name(&signature.ident);
        visit::visit_signature(self, signature);
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        if let Some(ident) = &field.ident {
            self.name(ident);
        }
        visit::visit_field(self, field);
    }
}

fn averaged(source: &Source) -> Vec<Breach> {
    // What does not parse is told by another rule.
    let Ok(file) = syn::parse_file(&source.text) else { return Vec::new() };
    let mut reader = Reader { source, breaches: Vec::new() };
    reader.visit_file(&file);
    reader.breaches
}

#[test]
fn nobody_averages_a_percentile() {
    let ours = |source: &&Source| source.path.contains("/src/");
    none(rust_sources().filter(ours).flat_map(averaged));
}

#[test]
fn averages_are_caught() {
    #[track_caller]
    fn check(body: &str, expected: &[&str]) {
        let text = format!("//! X.\nfn f() {{ {body} }}\n");
        caught(averaged(&Source::sample("crates/x/src/x.rs", &text)), expected);
    }
    const ADDED: &str = "crates/x/src/x.rs:2: a percentile is added up";
    const SUMMED: &str = "crates/x/src/x.rs:2: percentiles are summed up";
    check("(a.p99_ns + b.p99_ns) / 2", &[ADDED]);
    check("sum += step.p99_ns as f64 * step.ops as f64;", &[ADDED]);
    check("h.percentile(99.0).unwrap().0 + g.percentile(99.0).unwrap().0", &[ADDED]);
    check("let mean = steps.iter().map(|s| s.p50_ns).sum::<u64>() / n;", &[SUMMED]);
    check("all.iter().filter_map(|h| h.percentile(50.0)).map(|ns| ns.0).sum::<u64>()", &[SUMMED]);
    check(
        "a.p99_ns.max(b.p99_ns); a.p99_ns > b.p99_ns; a.p99_ns / a.p50_ns; a.p99_ns - b.p99_ns",
        &[],
    );
    check("merged.percentile(99.0)", &[]);
}

#[test]
fn names_of_averages_are_caught() {
    let check = |text: &str| {
        let found = averaged(&Source::sample("crates/x/src/x.rs", text));
        caught(found, &["crates/x/src/x.rs:2: a percentile is never averaged"]);
    };
    check("//! X.\nfn mean_percentile() {}\n");
    check("//! X.\nstruct S { p99_avg_ns: u64 }\n");
    check("//! X.\ntrait T { fn average_p95(&self); }\n");
}
