//! Scenarios: checked with the mistakes of the command line, estimated as it does, started as it would; and what writes only
//! with the token of the guard.

use super::http::Served;
use crate::prelude::*;
use crate::program::support::{Bench, open, slow_null};

const LAB: &str = include_str!("../../../../../scenarios/fabric.toml");

/// The mistakes are those of the command line, each with its place.
#[test]
fn mistakes_are_those_of_the_command_line() {
    let text = slow_null("2s").replace("measure", "mesure");
    let bench = Bench::new(&text);
    let served = Served::start(&bench, &[]);
    let said = bench.expect(2, &["plan", "s.toml", "--set", "plan.cooldown=5 apples"]).stderr;
    let set = json!({ "plan.cooldown": "5 apples" });
    let answer = served.send("POST", "/api/v1/plan", &json!({ "text": text, "set": set }));
    assert_eq!(answer.status, 422);
    let mistakes = answer.json()["error"]["details"]["mistakes"].clone();
    let mistakes = mistakes.as_array().expect("mistakes");
    assert!(mistakes.len() >= 2, "{mistakes:?}");
    for mistake in mistakes {
        let message = mistake["message"].as_str().expect("a message");
        assert!(said.contains(message), "{message:?} is not in\n{said}");
        // An override has one line.
        let place = match mistake["source"] == json!("--set") {
            true => format!("--set:{}:", mistake["column"]),
            false => format!(":{}:{}:", mistake["line"], mistake["column"]),
        };
        assert!(said.contains(&place), "{place} is not in\n{said}");
    }
    let form = "id=&name=s.toml&action=run&text=nonsense";
    let page = served.form("/start", form).text();
    assert!(page.contains("mistake") && !page.contains("value=\"run\""), "{page}");
}

#[test]
fn a_plan_is_that_of_the_command_line() {
    let bench = Bench::new(&slow_null("2s"));
    let served = Served::start(&bench, &[]);
    let answer = served.send("POST", "/api/v1/plan", &json!({ "text": slow_null("2s") })).json();
    let printed: Value =
        serde_json::from_str(&bench.expect(0, &["plan", "s.toml", "--format", "json"]).stdout)
            .expect("JSON");
    assert_eq!(answer["plan"], printed);
    assert_eq!(answer["text"], json!(bench.expect(0, &["plan", "s.toml"]).stdout));
}

/// Sliders say what `wirespeed estimate` says of the same step.
#[test]
fn sliders_say_what_the_estimator_says() {
    let bench = Bench::new(LAB);
    let printed: Value =
        serde_json::from_str(&bench.run(&["estimate", "s.toml", "--format", "json"]).stdout)
            .expect("JSON");
    let served = Served::start(&bench, &[]);
    let all = served.document("/api/v1/scenarios");
    let all = all["scenarios"].as_array().expect("scenarios");
    let id =
        all.iter().find(|one| one["name"] == json!("s.toml")).expect("it lies there")["id"].clone();
    let id = id.as_str().expect("an identifier");
    let first = served.document(&format!("/api/v1/explore?scenario={id}"));
    assert_eq!(first["iops"], printed["steps"][0]["iops"]);
    let axes = first["axes"].as_array().expect("axes");
    if let Some(axis) = axes.last() {
        let key = axis["key"].as_str().expect("a key");
        let from = clock::now();
        let next = served.document(&format!("/api/v1/explore?scenario={id}&axis:{key}=1"));
        println!("a slider was answered in {} ms", clock::now().since(from).0 / 1_000_000);
        assert_eq!(next["iops"], printed["steps"][1]["iops"]);
        let page = served.get(&format!("/explore?scenario={id}&axis:{key}=1")).text();
        assert!(
            page.contains(next["shown"]["iops"].as_str().expect("words")),
            "without script as well"
        );
    }
    let page = served.get(&format!("/start?scenario={id}"));
    assert!(page.status == 200 && page.text().contains("Check and estimate"));
    // Of several plans one is shown first that has a slider; each can be chosen.
    let several = all.iter().find(|one| one["name"] == json!("lab2-esx-8gb.toml"));
    let several = several.expect("it comes with the program")["id"].as_str().expect("a name");
    let page = |plan: &str| served.get(&format!("/explore?scenario={several}{plan}")).text();
    assert!(page("").contains("type=\"range\""));
    assert!(page("&plan=one").contains("it has one step"));
}

#[track_caller]
fn finished(served: &Served) -> Value {
    for _ in 0..600 {
        let all = served.document("/api/v1/runs");
        let job = all["runs"].as_array().and_then(|all| all.last()).cloned().unwrap_or_default();
        if !job["exit"].is_null() {
            return job;
        }
        clock::sleep_until(clock::now().plus(Ns::millis(50)));
    }
    panic!("it does not end");
}

#[test]
fn a_run_is_started_and_leaves_its_record() {
    let bench = Bench::new(&slow_null("60s"));
    let served = Served::start(&bench, &[]);
    let all = served.document("/api/v1/scenarios");
    let id = all["scenarios"][0]["id"].clone();
    let start = json!({ "kind": "run", "scenario": id, "set": { "plan.measure": "1s" } });
    let begun = served.send("POST", "/api/v1/runs", &start);
    assert_eq!(begun.status, 201, "{}", begun.text());
    let run = begun.json()["run"]["id"].as_str().expect("an identifier").to_owned();
    assert_eq!(served.send("POST", "/api/v1/runs", &start).status, 409, "runs go alone");
    let page = served.get(&format!("/live/{run}"));
    assert_eq!(page.status, 200, "{}", page.text());
    let job = finished(&served);
    assert_eq!(job["exit"], json!(0), "{job}");
    let record = open(&bench.path("s-1.wsr"));
    assert_eq!(record.status(), Status::Complete);
    let overrides = &record.head().scenario.overrides;
    assert_eq!(overrides[..], [("plan.measure".to_owned(), "1s".to_owned())]);
    assert_eq!(served.records(1)[0]["id"], json!(run), "it is in the library under the same name");
}

#[test]
fn what_writes_needs_the_token_of_the_guard() {
    let scenario = "[scenario]\ntitle = \"writes\"\n[[target]]\nname = \"scratch\"\nfile = \"data\"\n\
                    [workload.w]\nblock = \"4KiB\"\nread = 0\ndepth = 1\n\
                    [plan]\nworkload = \"w\"\non = \"scratch\"\nwarmup = \"0s\"\nmeasure = \"300ms\"\n";
    let bench = Bench::new(scenario);
    fs::write(bench.path("data"), vec![0; 4 << 20]).expect("room");
    let served = Served::start(&bench, &[]);
    let plan = served.send("POST", "/api/v1/plan", &json!({ "text": scenario })).json();
    let token =
        plan["plan"]["targets"][0]["examined"]["token"].as_str().expect("a token").to_owned();
    let start = |tokens: Value| {
        let body = json!({ "kind": "run", "text": scenario, "tokens": tokens });
        served.send("POST", "/api/v1/runs", &body)
    };
    for tokens in [
        json!({}),
        json!({ "scratch": "" }),
        json!({ "scratch": "ws-00000-00000" }),
        json!({ "other": token }),
    ] {
        assert_eq!(start(tokens.clone()).status, 403, "{tokens}");
    }
    assert_eq!(fs::read(bench.path("data")).expect("it is there"), vec![0; 4 << 20], "untouched");
    let page = served
        .form("/start", &format!("name=s.toml&action=check&text={}", encoded(scenario)))
        .text();
    assert!(page.contains("token:scratch"), "{page}");
    let begun = start(json!({ "scratch": token }));
    assert_eq!(begun.status, 201, "{}", begun.text());
    let job = finished(&served);
    assert_eq!(job["exit"], json!(0), "{job}");
    assert_ne!(fs::read(bench.path("data")).expect("it is there"), vec![0; 4 << 20], "written");
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// Every address of the description is answered, and by what it describes.
#[test]
fn the_description_of_the_interface_is_right() {
    let bench = Bench::new(&slow_null("4s"));
    super::short_run(&bench, "a.wsr");
    let served = Served::start(&bench, &[]);
    let record = served.records(1)[0]["id"].as_str().expect("an identifier").to_owned();
    let scenario = served.document("/api/v1/scenarios")["scenarios"][0]["id"]
        .as_str()
        .expect("one")
        .to_owned();
    let started = json!({ "kind": "run", "scenario": scenario });
    let begun = served.send("POST", "/api/v1/runs", &started).json();
    let run = begun["run"]["id"].as_str().expect("an identifier").to_owned();
    assert_eq!(served.get(&format!("/live/{run}")).status, 200);
    let api = served.document("/api/v1/openapi.json");
    let paths = api["paths"].as_object().expect("paths");
    for (path, methods) in paths {
        for (method, described) in methods.as_object().expect("methods") {
            let id = if path.contains("/live/") {
                &run
            } else if path.contains("/scenarios/") {
                &scenario
            } else {
                &record
            };
            let address = path.replace("{id}", id)
                + if path.ends_with("/explore") { "?scenario=" } else { "" };
            let address =
                if path.ends_with("/explore") { address + &lab(&served) } else { address };
            let body = match (path.as_str(), method.as_str()) {
                ("/api/v1/runs", "post") => json!({ "kind": "simulate", "text": LAB }),
                ("/api/v1/estimate", _) => json!({ "text": LAB }),
                (_, "post") => json!({ "scenario": scenario }),
                _ => json!({ "tags": ["a"], "notes": "b" }),
            };
            if path.ends_with("/events") || path.ends_with("/stop") {
                continue;
            }
            let answer = match method.as_str() {
                "get" => served.get(&address),
                other => served.send(&other.to_uppercase(), &address, &body),
            };
            let responses = described["responses"].as_object().expect("responses");
            let (status, response) = responses.iter().next().expect("a response");
            assert_eq!(answer.status.to_string(), *status, "{method} {address}: {}", answer.text());
            let schema = &response["content"]["application/json"]["schema"];
            conforms(&api, schema, &answer.json(), &format!("{method} {address}"));
        }
    }
    let stopped = served.send("POST", &format!("/api/v1/live/{run}/stop"), &json!({}));
    assert!(matches!(stopped.status, 200 | 404), "{}", stopped.text());
}

/// A scenario with a lab that the program carries.
fn lab(served: &Served) -> String {
    let all = served.document("/api/v1/scenarios");
    let all = all["scenarios"].as_array().expect("scenarios");
    let one = all.iter().find(|one| one["name"] == json!("capacity.toml")).expect("it is carried");
    one["id"].as_str().expect("an identifier").to_owned()
}

#[track_caller]
fn conforms(api: &Value, schema: &Value, document: &Value, what: &str) {
    assert!(schema.is_object(), "{what}: no schema");
    let whole = json!({ "$schema": "https://json-schema.org/draft/2020-12/schema", "components": api["components"], "allOf": [schema] });
    let (mut schemas, mut compiler) = (boon::Schemas::new(), boon::Compiler::new());
    compiler.add_resource("http://wirespeed/api.json", whole).expect("a schema");
    let index = compiler.compile("http://wirespeed/api.json", &mut schemas).expect("a schema");
    if let Err(error) = schemas.validate(document, index) {
        panic!("{what}: {error}\n{document}");
    }
}
