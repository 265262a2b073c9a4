//! The pictures in the documents show today's pages: each was drawn from the records in `docs/pictures`, beside the digest of the
//! page that it was drawn from. `make docs` draws those anew whose page has changed
//! (`UPDATE_DOCS=1 cargo test -p wirespeed --test it pictures`, with Chromium).

use super::http::Served;
use crate::browser::cdp::Browser;
use crate::prelude::*;
use crate::program::support::Bench;
use std::process::Child;

/// A measured demo, and a moment of it at which it was under way: of its time, how many seconds had passed.
const DEMO: &str = "docs/pictures/demo.wsr.gz";
const MOMENT: Ns = Ns::millis(29_100);

/// The digests of the pages, by the names of their pictures.
const DIGESTS: &str = "docs/pictures/digests";

/// Scenarios whose simulated records fill the library.
const SIMULATED: [&str; 4] = ["capacity", "guests", "san", "lab1-xen-4gb"];

/// A picture: its name, what it shows, how wide and how high.
const PICTURES: [(&str, Shows, (u32, u32)); 3] = [
    ("review.png", Shows::Review, (1280, 800)),
    ("library.png", Shows::Library, (1000, 760)),
    ("live.png", Shows::Run, (1000, 1060)),
];

#[derive(Clone, Copy)]
enum Shows {
    Review,
    Library,
    Run,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Keeps a record open as the run does that writes it: a process of the program's name.
struct Writer(Child);

impl Writer {
    fn of(bench: &Bench, record: &str) -> Writer {
        let (name, file) = (bench.path("bin/wirespeed"), fs::OpenOptions::new());
        fs::create_dir(bench.path("bin")).expect("room");
        fs::copy("/bin/sleep", &name).expect("a program that waits");
        let mut file = file;
        let open = file.read(true).write(true).open(bench.path(record)).expect("a record");
        let child = Command::new(name).arg("1000").stdin(open).stdout(Stdio::null()).spawn();
        Writer(child.expect("it starts"))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What a run had written of a record until a moment.
fn cut(path: &Path, moment: Ns) {
    let db = rusqlite::Connection::open(path).expect("a record");
    let at = moment.0;
    let begun = format!("(SELECT step FROM step WHERE start_ns < {at})");
    db.execute_batch(&format!(
        "PRAGMA foreign_keys = OFF;
         DELETE FROM interval WHERE to_ns > {at};
         DELETE FROM counter WHERE to_ns > {at};
         DELETE FROM event WHERE at_ns > {at};
         DELETE FROM total WHERE step NOT IN (SELECT step FROM step WHERE end_ns < {at});
         DELETE FROM step_setting WHERE step NOT IN {begun};
         DELETE FROM worker_load WHERE step NOT IN {begun};
         DELETE FROM step WHERE start_ns >= {at};
         UPDATE step SET done = 0 WHERE end_ns >= {at};
         UPDATE run SET status = 'running';"
    ))
    .expect("it is cut");
}

/// Dates a record after another, by so many minutes and one: the library's order does not depend on the second that it is made in.
fn date(path: &Path, after: &Path, minutes: usize) {
    let open = |path: &Path| rusqlite::Connection::open(path).expect("a record");
    let wall = open(after).query_row("SELECT wall_ns FROM run", [], |row| row.get::<_, i64>(0));
    let wall = wall.expect("when it began") + 60_000_000_000 * (minutes as i64 + 1);
    open(path).execute("UPDATE run SET wall_ns = ?1", [wall]).expect("it is dated");
}

/// A page without what differs from one drawing to the next: addresses, identifiers and moments, and scripts with their data.
fn steady(page: &str, volatile: &[String]) -> String {
    let mut text = String::new();
    let mut rest = page;
    while let Some(at) = rest.find("<script") {
        text.push_str(&rest[..at]);
        rest = rest[at..].split_once("</script>").map_or("", |(_, after)| after);
    }
    text.push_str(rest);
    for word in volatile {
        text = text.replace(word, "…");
    }
    // 2026-11-28 10:47, and the same as a machine writes it.
    let digits = |text: &str, form: &str| {
        text.len() >= form.len()
            && text.bytes().zip(form.bytes()).all(|(byte, form)| match form {
                b'0' => byte.is_ascii_digit(),
                other => byte == other,
            })
    };
    let mut out = String::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let moment = ["0000-00-00 00:00", "0000-00-00T00:00:00Z"].iter().find(|f| digits(rest, f));
        match moment {
            Some(form) => {
                out.push('…');
                at += form.len();
            }
            None => {
                let letter = rest.chars().next().expect("one more");
                out.push(letter);
                at += letter.len_utf8();
            }
        }
    }
    out
}

fn digest(text: &str) -> String {
    let mut sum = Command::new("sha256sum")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("coreutils");
    let mut to = sum.stdin.take().expect("a pipe");
    std::io::Write::write_all(&mut to, text.as_bytes()).expect("it reads");
    drop(to);
    let said = sum.wait_with_output().expect("it ends").stdout;
    String::from_utf8_lossy(&said).split_whitespace().next().expect("a digest").to_owned()
}

/// The pages that pictures show.
struct Gallery {
    served: Served,
    bench: Bench,
    ids: Vec<(String, String)>,
    _writer: Writer,
}

impl Gallery {
    fn open() -> Gallery {
        let bench = Bench::new("");
        fs::remove_file(bench.path("s.toml")).expect("it was there");
        let packed = File::open(root().join(DEMO)).expect("the kept record");
        let plain = Command::new("gzip").arg("-dc").stdin(packed).output().expect("gzip runs");
        for name in ["demo.wsr", "running.wsr"] {
            fs::write(bench.path(name), &plain.stdout).expect("room");
        }
        cut(&bench.path("running.wsr"), MOMENT);
        for (number, name) in SIMULATED.into_iter().enumerate() {
            let scenario = root().join(format!("scenarios/{name}.toml"));
            let (scenario, out) = (scenario.to_string_lossy().into_owned(), format!("{name}.wsr"));
            let ended = bench.run(&["simulate", &scenario, "-q", "--out", &out]);
            assert!(ended.code <= 1, "{}", ended.stderr);
            date(&bench.path(&out), &bench.path("demo.wsr"), number);
        }
        let review = ["review", "demo.wsr", "-o", "review.html", "-q"];
        bench.run(&review);
        let writer = Writer::of(&bench, "running.wsr");
        let served = Served::start(&bench, &[]);
        let word = |one: &Value, key: &str| one[key].as_str().expect("a word").to_owned();
        let records = served.records(2 + SIMULATED.len());
        let ids = records.iter().map(|one| (word(one, "name"), word(one, "id"))).collect();
        Gallery { served, bench, ids, _writer: writer }
    }

    fn address(&self, shows: Shows) -> String {
        let id = |name: &str| {
            let one = self.ids.iter().find(|(found, _)| found == name).expect("a record");
            one.1.clone()
        };
        match shows {
            Shows::Review => format!("file://{}", self.bench.path("review.html").display()),
            Shows::Library => format!("http://{}/", self.served.host),
            Shows::Run => format!("http://{}/live/{}", self.served.host, id("running.wsr")),
        }
    }

    /// What a picture is drawn from: the page and its look.
    fn source(&self, shows: Shows) -> String {
        let (Shows::Library | Shows::Run) = shows else {
            let page = fs::read_to_string(self.bench.path("review.html")).expect("a page");
            // What follows the first screen is not in the picture.
            let first = page.split("id=\"map\"").next().unwrap_or_default();
            return steady(first, &[]);
        };
        let address = self.address(shows);
        let path = address.split(&self.served.host).nth(1).expect("a path");
        let page = self.served.get(path).text();
        let looks = page.split("rel=\"stylesheet\"").nth(1).and_then(|r| r.split("href=\"").nth(1));
        let looks = looks.and_then(|rest| rest.split('"').next()).expect("a stylesheet");
        let mut volatile: Vec<String> = self.ids.iter().map(|(_, id)| id.clone()).collect();
        volatile.push(self.served.host.clone());
        volatile.push(looks.to_owned());
        steady(&page, &volatile) + &self.served.get(looks).text()
    }
}

fn draw(gallery: &Gallery, shows: Shows, (width, height): (u32, u32)) -> Option<Vec<u8>> {
    let mut browser = Browser::start(None)?;
    let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
    browser.call("Emulation.setDeviceMetricsOverride", size);
    let features = json!([{ "name": "prefers-color-scheme", "value": "light" }]);
    browser.call("Emulation.setEmulatedMedia", json!({ "media": "screen", "features": features }));
    browser.call("Page.navigate", json!({ "url": gallery.address(shows) }));
    browser.value("new Promise((done) => setTimeout(done, 1500))");
    let shot = browser.call("Page.captureScreenshot", json!({ "format": "png" }));
    let data = shot["data"].as_str().expect("a picture").to_owned();
    let mut plain = Command::new("base64")
        .arg("-d")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("coreutils");
    let mut to = plain.stdin.take().expect("a pipe");
    let feed = std::thread::spawn(move || std::io::Write::write_all(&mut to, data.as_bytes()));
    let picture = plain.wait_with_output().expect("it ends").stdout;
    feed.join().expect("no panic").expect("it reads");
    Some(picture)
}

#[test]
fn pictures_of_the_documents_show_todays_pages() {
    let gallery = Gallery::open();
    let kept = fs::read_to_string(root().join(DIGESTS)).unwrap_or_default();
    let (mut lines, mut stale) = (String::new(), Vec::new());
    for (name, shows, size) in PICTURES {
        let line = format!("{} {name}\n", digest(&gallery.source(shows)));
        let due = !kept.contains(&line);
        let drawn = due && std::env::var_os("UPDATE_DOCS").is_some();
        match drawn.then(|| draw(&gallery, shows, size)).flatten() {
            Some(picture) => {
                fs::write(root().join("docs").join(name), picture).expect("it is written")
            }
            None if due => stale.push(name),
            None => {}
        }
        lines.push_str(&line);
    }
    assert_eq!(stale, [""; 0], "pictures of other pages than today's: make docs");
    if lines != kept {
        fs::write(root().join(DIGESTS), lines).expect("it is written");
    }
}

#[test]
fn what_differs_from_drawing_to_drawing_is_left_out() {
    let page = "<p>at 2026-11-28 10:47 on host:1, 2026-1-2</p><script>data 1</script><b>ü</b>";
    let same = "<p>at 2025-01-02 11:48 on host:2, 2026-1-2</p><script>data 2</script><b>ü</b>";
    let (first, second) =
        (steady(page, &["host:1".to_owned()]), steady(same, &["host:2".to_owned()]));
    assert_eq!(first, second);
    assert_eq!(first, "<p>at … on …, 2026-1-2</p><b>ü</b>");
}
