//! A client of the Chrome DevTools Protocol, as small as these tests need: commands and events are JSON, each ended by
//! a NUL, over two pipes that Chromium finds at its descriptors 3 and 4. No port is opened.

use crate::prelude::*;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};

/// Guards against a browser that hangs; nothing is measured by it.
const PATIENCE: Duration = Duration::from_secs(90);

/// Chromium without what windows need: it starts in a third of the time.
const BROWSER: &str = "chromium-headless-shell";

/// What Chromium is told: no window, no sandbox (tests may run as root), nobody to call, nothing kept.
const FLAGS: [&str; 11] = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
    "--hide-scrollbars",
];

/// A browser with one tab. It ends when this is dropped.
pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    /// Events that came while answers were waited for.
    events: Vec<Value>,
    session: Option<String>,
    last: u64,
    _profile: TempDir,
}

impl Browser {
    /// Starts Chromium, with the fonts of one directory alone where one is given; `None`, with a line, without it.
    pub fn start(fonts: Option<&Path>) -> Option<Browser> {
        if !installed() {
            println!("skipped: chromium-headless-shell is not installed (see packages.txt)");
            return None;
        }
        let profile = tempfile::tempdir().expect("a directory for the browser");
        let mut command = Command::new("sh");
        if let Some(fonts) = fonts {
            let file = profile.path().join("fonts.conf");
            std::fs::write(&file, fonts_conf(fonts, profile.path())).expect("room for a file");
            command.env("FONTCONFIG_FILE", file);
        }
        let mut child = command
            // The shell moves its standard input and output to where Chromium looks for its pipes.
            .args(["-c", r#"exec "$@" 3<&0 4>&1 </dev/null >/dev/null"#, "sh", BROWSER])
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromium starts");
        let to = child.stdin.take().expect("it has a standard input");
        let stdout = child.stdout.take().expect("it has a standard output");
        let (sender, from) = channel();
        std::thread::spawn(move || listen(stdout, &sender));
        let mut browser = Browser {
            child,
            to,
            from,
            events: Vec::new(),
            session: None,
            last: 0,
            _profile: profile,
        };
        let tab = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": tab["targetId"], "flatten": true });
        let attached = browser.call("Target.attachToTarget", attach);
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    /// Sends a command and waits for its result.
    #[track_caller]
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let mut command = json!({ "id": self.last, "method": method, "params": params });
        if let Some(session) = &self.session {
            command["sessionId"] = json!(session);
        }
        write!(self.to, "{command}\0").expect("the browser listens");
        loop {
            let message = self.from.recv_timeout(PATIENCE).expect("the browser answers");
            if message["id"] != json!(self.last) {
                self.events.push(message);
                continue;
            }
            assert!(message["error"].is_null(), "{method}: {}", message["error"]);
            return message["result"].clone();
        }
    }

    /// The value of an expression, after what it promises has come.
    #[track_caller]
    pub fn value(&mut self, expression: &str) -> Value {
        let params =
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let result = self.call("Runtime.evaluate", params);
        assert!(result["exceptionDetails"].is_null(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// The events since the last time that this was asked.
    pub fn events(&mut self) -> Vec<Value> {
        // An answer comes after all events before it.
        self.value("0");
        std::mem::take(&mut self.events)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Both may fail where it has ended by itself, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A configuration of fontconfig that knows the fonts of one directory.
fn fonts_conf(fonts: &Path, cache: &Path) -> String {
    format!(
        "<?xml version=\"1.0\"?><!DOCTYPE fontconfig SYSTEM \"fonts.dtd\"><fontconfig><dir>{}</dir>\
         <cachedir>{}</cachedir></fontconfig>",
        fonts.display(),
        cache.display()
    )
}

fn installed() -> bool {
    let mut version = Command::new(BROWSER);
    version.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    version.status().is_ok_and(|status| status.success())
}

/// Passes on every message until the browser ends.
fn listen(stdout: ChildStdout, to: &Sender<Value>) {
    for message in BufReader::new(stdout).split(0).map_while(Result::ok) {
        let parsed = serde_json::from_slice(&message).expect("a message is JSON");
        if to.send(parsed).is_err() {
            return;
        }
    }
}
