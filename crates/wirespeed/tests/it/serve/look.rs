//! The pages in a browser: nothing is wider than a telephone, everything is legible in light and dark, nobody else is asked,
//! every field has its name, what is shown moves while a run goes on, and a page without script says the same.

use super::http::Served;
use super::live::run_of;
use super::short_run;
use crate::browser::CONTRAST;
use crate::browser::cdp::Browser;
use crate::prelude::*;
use crate::program::support::{Bench, slow_null};

const SCREEN: (u32, u32) = (1280, 800);
const PHONE: (u32, u32) = (390, 844);

/// What is wrong with a page as it is shown.
const FAULTS: &str = r#"(() => {
    const faults = [];
    const width = document.documentElement.scrollWidth;
    if (width > innerWidth) faults.push(`${width} wide of ${innerWidth}`);
    const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
    if (new Set(ids).size !== ids.length) faults.push('an id is there twice');
    for (const field of document.querySelectorAll('input:not([type=hidden]), select, textarea')) {
        if (field.labels.length === 0 && !field.getAttribute('aria-label')) faults.push(`${field.name} has no label`);
    }
    for (const e of document.querySelectorAll('[role=img], [role=region], nav')) {
        if (!e.getAttribute('aria-label')) faults.push(`${e.className} has no words`);
    }
    for (const e of document.querySelectorAll('a, button')) {
        if (e.textContent.trim() === '' && !e.getAttribute('aria-label')) faults.push('a control without words');
    }
    for (const e of document.querySelectorAll('.scroll')) {
        if (e.scrollWidth > e.clientWidth && e.tabIndex < 0) faults.push('scrolled without the keyboard');
    }
    if (document.querySelectorAll('h1').length !== 1) faults.push('not one heading of the page');
    if (document.querySelectorAll('main').length !== 1) faults.push('not one main part');
    if (document.documentElement.lang !== 'en') faults.push('no language');
    if (document.querySelectorAll('th:not([scope])').length > 0) faults.push('a heading without scope');
    if (document.querySelectorAll('script:not([src])').length > 0) faults.push('a script in the page');
    if (window.hit !== undefined) faults.push('a word of others was run');
    return faults;
})()"#;

struct Shown {
    browser: Browser,
    served: Served,
}

impl Shown {
    fn size(&mut self, (width, height): (u32, u32)) {
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": (width, height) == PHONE });
        self.browser.call("Emulation.setDeviceMetricsOverride", metrics);
        self.wait(200);
    }

    fn wait(&mut self, ms: u64) {
        self.browser.value(&format!("new Promise((done) => setTimeout(done, {ms}))"));
    }

    fn theme(&mut self, theme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": theme }]);
        self.browser
            .call("Emulation.setEmulatedMedia", json!({ "media": "screen", "features": features }));
        self.wait(100);
    }

    fn open(&mut self, path: &str) {
        let url = format!("http://{}{path}", self.served.host);
        self.browser.call("Page.navigate", json!({ "url": url }));
        self.wait(500);
    }

    /// A picture of the page, where a folder for pictures is named.
    fn picture(&mut self, name: &str) {
        let Some(folder) = std::env::var_os("WIRESPEED_PICTURES") else { return };
        let shot =
            self.browser.call("Page.captureScreenshot", json!({ "captureBeyondViewport": true }));
        let data = shot["data"].as_str().expect("a picture");
        fs::write(Path::new(&folder).join(format!("{name}.png.base64")), data).expect("room");
    }

    /// What the page did since it was asked last that it must not do.
    fn deeds(&mut self) -> Vec<String> {
        let own = format!("http://{}/", self.served.host);
        let mut deeds = Vec::new();
        for event in self.browser.events() {
            let params = &event["params"];
            match event["method"].as_str().unwrap_or_default() {
                "Runtime.exceptionThrown" => {
                    deeds.push(format!("exception: {}", params["exceptionDetails"]))
                }
                "Log.entryAdded" if params["entry"]["level"] == json!("error") => {
                    deeds.push(format!("log: {}", params["entry"]["text"]));
                }
                "Network.requestWillBeSent" => {
                    let url = params["request"]["url"].as_str().unwrap_or_default();
                    if !url.starts_with(&own) && !url.starts_with("data:") {
                        deeds.push(format!("request: {url}"));
                    }
                }
                _ => {}
            }
        }
        deeds
    }

    #[track_caller]
    fn sound(&mut self, what: &str) {
        for (size, name) in [(PHONE, "phone"), (SCREEN, "screen")] {
            self.size(size);
            assert_eq!(self.browser.value(FAULTS), json!([]), "{what} on a {name}");
            self.picture(&format!("{what}-{name}"));
        }
        for theme in ["dark", "light"] {
            self.theme(theme);
            let worst = self.browser.value(CONTRAST);
            assert!(worst[0].as_f64() >= Some(4.5), "{what}, {theme}: {worst}");
            if theme == "dark" {
                self.picture(&format!("{what}-dark"));
            }
        }
        assert_eq!(self.deeds(), [""; 0], "{what}");
    }
}

fn shown(bench: &Bench, args: &[&str]) -> Option<Shown> {
    Some(Shown { browser: Browser::start(None)?, served: Served::start(bench, args) })
}

const LAB: &str = include_str!("../../../../../scenarios/fabric.toml");
const HOSTILE: &str = "An \\\"unusual\\\" <b onclick=hit()>name</b> that goes on and on without any end ___________________________________________________________";

#[test]
fn every_page_is_right_everywhere() {
    let bench = Bench::new(LAB);
    let hostile = slow_null("300ms").replace("\"slow\"", &format!("\"{HOSTILE}\""));
    fs::write(bench.path("hostile.toml"), hostile).expect("room");
    short_run(&bench, "a.wsr");
    bench.expect(0, &["run", "hostile.toml", "-q", "--out", "hostile.wsr"]);
    let simulated = bench.run(&["simulate", "s.toml", "-q", "--out", "lab.wsr"]);
    assert!(simulated.code <= 1, "{}", simulated.stderr);
    let Some(mut shown) = shown(&bench, &[]) else { return };
    let records = shown.served.records(3);
    let id = |name: &str| {
        let one = records.iter().find(|one| one["name"] == json!(name)).expect(name);
        one["id"].as_str().expect("an identifier").to_owned()
    };
    let scenarios = shown.served.document("/api/v1/scenarios");
    let scenario = scenarios["scenarios"]
        .as_array()
        .expect("scenarios")
        .iter()
        .find(|one| one["name"] == json!("s.toml"));
    let scenario =
        scenario.expect("it lies there")["id"].as_str().expect("an identifier").to_owned();
    for (what, path) in [
        ("library", "/".to_owned()),
        ("nothing-found", "/?q=nowhere".to_owned()),
        ("record", format!("/records/{}", id("hostile.wsr"))),
        ("live-list", "/live".to_owned()),
        ("ended-run", format!("/live/{}", id("lab.wsr"))),
        ("scenarios", "/start".to_owned()),
        ("start", format!("/start?scenario={scenario}")),
        ("explore", format!("/explore?scenario={scenario}")),
        ("trend", format!("/trend?id={}&id={}", id("a.wsr"), id("hostile.wsr"))),
    ] {
        shown.open(&path);
        shown.sound(what);
    }
    // The keyboard reaches the first way past the bar.
    shown.open("/");
    for kind in ["keyDown", "keyUp"] {
        let key = json!({ "type": kind, "key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9 });
        shown.browser.call("Input.dispatchKeyEvent", key);
    }
    assert_eq!(
        shown.browser.value("document.activeElement.textContent"),
        json!("Skip to the content")
    );
    // What is typed is looked for at once.
    let type_it = "const q = document.getElementById('q'); q.value = 'unusual'; q.dispatchEvent(new Event('input', { bubbles: true }));";
    shown.browser.value(&format!("(() => {{ {type_it} }})()"));
    shown.wait(1000);
    let count = shown.browser.value("document.querySelector('.count').textContent");
    assert_eq!(count, json!("1 record of 3"));
    // A slider is answered.
    shown.open(&format!("/explore?scenario={scenario}"));
    let slide = "(() => { const s = document.querySelector('[type=range]'); s.value = s.max; s.dispatchEvent(new Event('input', { bubbles: true })); })()";
    let iops = "document.querySelector('[data-out=iops]').textContent";
    let before = shown.browser.value(iops);
    shown.browser.value(slide);
    shown.wait(1500);
    assert_ne!(shown.browser.value(iops), before);
    assert_eq!(shown.deeds(), [""; 0]);
}

/// A run moves on the page; a page that is loaded again has everything; without script it is read the same.
#[test]
fn a_run_moves_on_its_page() {
    let bench = Bench::new(&slow_null("60s"));
    let Some(mut shown) = shown(&bench, &[]) else { return };
    let mut command = bench.command(&["run", "s.toml", "-q", "--out", "r.wsr"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let id = run_of(&shown.served, &child);
    let page = format!("/live/{id}");
    shown.open(&page);
    shown.wait(4000);
    shown.sound("run");
    let state = "document.getElementById('live-state').textContent";
    let chart = "document.querySelector('#live-charts path.curve').getAttribute('d')";
    let (told, line) = (shown.browser.value(state), shown.browser.value(chart));
    shown.wait(2500);
    assert_ne!(shown.browser.value(state), told, "it moves");
    let grown = shown.browser.value(chart);
    assert_ne!(grown, line, "the line grows");
    shown.browser.call("Emulation.setScriptExecutionDisabled", json!({ "value": true }));
    let without = shown.served.get(&page).text();
    for part in ["class=\"curve s1\"", "Throughput", "Running", "p99.9"] {
        assert!(without.contains(part), "{part}");
    }
    shown.browser.call("Emulation.setScriptExecutionDisabled", json!({ "value": false }));
    shown.open(&page);
    shown.browser.value("document.querySelector('.stop button').click()");
    child.wait().expect("it ends");
    shown.wait(3000);
    let ended = shown.browser.value(state);
    assert!(ended.as_str().is_some_and(|text| text.contains("Stopped")), "{ended}");
    assert_eq!(shown.deeds(), [""; 0]);
}
