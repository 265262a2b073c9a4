//! A page in the browser: opened at a size, and asked what a reader would see. What is wrong with it is a list of
//! sentences, so that the checks can be shown to catch what they are for.

use crate::browser::cdp::Browser;
use crate::prelude::*;

/// A page that is shown.
pub struct Page {
    pub browser: Browser,
    file: PathBuf,
    _dir: TempDir,
}

/// The screen of the first look.
pub const SCREEN: (u32, u32) = (1280, 800);
/// A telephone.
pub const PHONE: (u32, u32) = (390, 844);
/// The width between the margins of A4, in CSS pixels.
pub const A4: (u32, u32) = (695, 1000);

/// True once every chart was drawn; the script of the page says so.
const DRAWN: &str = "new Promise((done) => {
    const look = () => document.readyState === 'complete' && document.documentElement.dataset.charts === 'drawn'
        ? done(true) : setTimeout(look, 20);
    look();
})";

/// Everything about the page as it is shown, as a list of faults. `WIDTH` is what it must fit into.
const FAULTS: &str = r#"(() => {
    const faults = [];
    const width = document.documentElement.scrollWidth;
    if (width > innerWidth) faults.push(`${width} wide of ${innerWidth}`);
    const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
    if (new Set(ids).size !== ids.length) faults.push('an id is there twice');
    for (const a of document.querySelectorAll('a[href]')) {
        const href = a.getAttribute('href');
        if (!href.startsWith('#')) faults.push(`a link leads away: ${href}`);
        else if (!document.getElementById(href.slice(1))) faults.push(`a link leads nowhere: ${href}`);
    }
    for (const chart of document.querySelectorAll('[data-chart]')) {
        const box = chart.querySelector('.main-svg')?.getBoundingClientRect();
        if (!box || box.width < 100 || box.height < 100) faults.push(`${chart.dataset.chart} is not drawn`);
        else if (!(chart.data?.length > 0)) faults.push(`${chart.dataset.chart} has no trace`);
        if (!chart.getAttribute('aria-label')) faults.push(`${chart.dataset.chart} has no words`);
    }
    const colors = new Set(document.getElementById('charts')?.textContent.match(/(?<=var\()--[a-z0-9-]+/g));
    for (const name of colors) {
        if (getComputedStyle(document.documentElement).getPropertyValue(name) === '') faults.push(`${name} is no colour`);
    }
    let level = 0;
    for (const heading of document.querySelectorAll('h1, h2, h3, h4')) {
        const own = Number(heading.tagName[1]);
        if (own > level + 1) faults.push(`${heading.tagName} follows h${level}: ${heading.textContent}`);
        level = own;
    }
    if (document.querySelectorAll('th:not([scope])').length > 0) faults.push('a heading without scope');
    const scripts = document.getElementById('map-data') === null ? 3 : 4;
    if (document.querySelectorAll('script').length !== scripts) faults.push('a script too many');
    if (window.hit !== undefined) faults.push('a word of the record was run');
    return faults;
})()"#;

impl Page {
    /// Opens a page at the size of a screen; `None` where there is no browser.
    pub fn open(html: &str) -> Option<Page> {
        Page::open_in(html, None)
    }

    /// The same with the fonts of one directory alone.
    pub fn open_in(html: &str, fonts: Option<&Path>) -> Option<Page> {
        let dir = tempfile::tempdir().expect("a directory for the page");
        let file = dir.path().join("page.html");
        let mut page = Page { browser: Browser::start(fonts)?, file, _dir: dir };
        page.show(html);
        Some(page)
    }

    /// Shows another page in the same browser.
    pub fn show(&mut self, html: &str) {
        std::fs::write(&self.file, html).expect("the page is written");
        self.browser.events();
        self.size(SCREEN);
        let url = format!("file://{}", self.file.display());
        self.browser.call("Page.navigate", json!({ "url": url }));
        // A page without the script of a review never says that it is ready.
        if html.contains("dataset.charts") {
            self.browser.value(DRAWN);
        } else {
            self.browser.value("new Promise((done) => setTimeout(done, 300))");
        }
    }

    /// Changes the size of what shows it.
    pub fn size(&mut self, (width, height): (u32, u32)) {
        let mobile = (width, height) == PHONE;
        let metrics =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile });
        self.browser.call("Emulation.setDeviceMetricsOverride", metrics);
        self.settle();
    }

    /// Shows it as on `media` ("screen" or "print") and in a theme ("light" or "dark").
    pub fn media(&mut self, media: &str, theme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": theme }]);
        self.browser
            .call("Emulation.setEmulatedMedia", json!({ "media": media, "features": features }));
        self.settle();
    }

    /// Lets the page do what a change makes it do.
    fn settle(&mut self) {
        let frames = "new Promise((done) => requestAnimationFrame(() => setTimeout(() => requestAnimationFrame(done), 150)))";
        self.browser.value(frames);
    }

    pub fn value(&mut self, expression: &str) -> Value {
        self.browser.value(expression)
    }

    /// What is wrong with the page as it is shown, and with what it has done since it was opened.
    pub fn faults(&mut self) -> Vec<String> {
        let seen = self.value(FAULTS);
        let texts = seen.as_array().into_iter().flatten().filter_map(Value::as_str);
        let mut faults: Vec<String> = texts.map(str::to_owned).collect();
        faults.extend(self.browser.events().iter().filter_map(fault));
        faults
    }
}

/// What an event says against the page: an exception, an error on the console, or a request to anybody.
fn fault(event: &Value) -> Option<String> {
    let params = &event["params"];
    match event["method"].as_str()? {
        "Runtime.exceptionThrown" => Some(format!("exception: {}", params["exceptionDetails"])),
        "Runtime.consoleAPICalled" => {
            let kind = params["type"].as_str()?;
            matches!(kind, "error" | "warning" | "assert")
                .then(|| format!("console: {}", params["args"]))
        }
        "Log.entryAdded" => {
            let level = params["entry"]["level"].as_str()?;
            (level == "error" || level == "warning")
                .then(|| format!("log: {}", params["entry"]["text"]))
        }
        "Network.requestWillBeSent" => {
            let url = params["request"]["url"].as_str()?;
            let own = url.starts_with("file://") && params["type"] == json!("Document");
            let inside = url.starts_with("data:") || url.starts_with("blob:");
            (!own && !inside).then(|| format!("request: {url}"))
        }
        _ => None,
    }
}
