//! A receiver that tells what cannot be: whatever it counts is held to the test's cuts and streams before it is believed.

use crate::between::{Between, Hand, idle};
use crate::support::{Bench, short, step_of, try_run, ways, with};
use net::Carriage;
use serde_json::{Value, json};

/// A test whose receiver's messages of one kind are changed on the way: the sender says what is wrong with them.
#[track_caller]
fn check(kind: &'static str, change: fn(&mut Value), hint: &str) {
    let bench = Bench::new();
    let hand: Hand = Box::new(move |message| {
        if let Some(body) = message.get_mut(kind) {
            change(body);
        }
        Vec::new()
    });
    let between = Between::new(bench.address(), idle(), hand);
    let spec = with(short(Carriage::Tcp), |n| ways(n, 2, 2));
    let error = try_run(&step_of(between.place(), &spec)).err().expect("it is not believed");
    between.end();
    assert!(error.contains(hint), "{hint:?} is not in {error:?}");
    assert!(error.contains("does not speak this protocol"), "{error}");
}

#[test]
fn figures_of_other_cuts_or_streams_are_not_believed() {
    let late = "an interval out of turn";
    check("interval", |told| told["index"] = json!(told["index"].as_u64().unwrap_or(0) + 1), late);
    check("interval", |told| told["phase"] = json!("cooldown"), late);
    check("interval", |told| told["from"] = json!(u64::MAX), late);
    let elsewhere = "an interval that ends elsewhere";
    check("interval", |told| told["to"] = json!(u64::MAX), elsewhere);
    check("interval", |told| told["to"] = told["from"].clone(), "an interval that ends too early");
    check("interval", |told| told["streams"] = json!([]), "other streams than the test's");
    check("interval", |told| told["streams"][0]["counts"]["bytes"] = json!(-1), "invalid value");
    check("interval", |told| *told = json!("all is well"), "invalid type");
}

#[test]
fn a_report_of_other_streams_is_not_believed() {
    let others = "a report of other streams than the test's";
    check("finished", |told| told["streams"] = json!([]), others);
    check("finished", |told| told["streams"][1]["index"] = json!(7), others);
    let many = |told: &mut Value| {
        let threads = told["threads"].as_array_mut().expect("they are listed");
        let one = threads[0].clone();
        threads.resize(6, one);
    };
    check("finished", many, "more threads than streams");
}

/// Texts of another host reach no terminal as they are.
#[test]
fn words_of_a_receiver_do_a_terminal_no_harm() {
    let bench = Bench::new();
    let hand: Hand = Box::new(|message| {
        if let Some(told) = message.get_mut("finished") {
            told["host"] = json!("far\u{1b}[2J");
            told["streams"][0]["error"] = json!("x\u{7}".repeat(1000));
        }
        Vec::new()
    });
    let between = Between::new(bench.address(), idle(), hand);
    let told = try_run(&step_of(between.place(), &short(Carriage::Tcp))).expect("it runs");
    between.end();
    let why = told.broke(told.streams()[0].1).expect("it is kept");
    let kept = format!("(far [2J): {};", "x ".repeat(250));
    assert!(why.contains(&kept) && why.chars().all(|c| !c.is_control()), "{why}");
}
