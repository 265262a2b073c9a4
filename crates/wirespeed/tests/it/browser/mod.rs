//! The page of a review in a browser: whole, quiet, readable on a screen, a telephone and paper, in light and dark, and
//! unmoved by whatever words a record holds.

pub mod cdp;
mod page;
mod records;

use crate::prelude::*;
use crate::sketch::readers;
use page::{A4, PHONE, Page, SCREEN};
use records::{Made, records};

/// What of a page is on the first sheet of A4: between its margins, in CSS pixels.
const SHEET: (u32, u32) = (A4.0, 1016);

/// The page of one record.
fn one(name: &str) -> Option<Page> {
    let made = records().iter().find(|made| made.name == name).expect("there is such a record");
    Page::open(&made.html)
}

#[track_caller]
fn sound(page: &mut Page, what: &str) {
    assert_eq!(page.faults(), [""; 0], "{what}");
}

/// One browser shows them all, each page once: most of the time goes into starting it and reading plotly.
#[test]
fn every_page_is_right_everywhere() {
    let mut shown: Option<Page> = None;
    for made in records() {
        match &mut shown {
            Some(page) => page.show(&made.html),
            None => shown = Page::open(&made.html),
        }
        let Some(page) = &mut shown else { return };
        drawn(page, made);
        first_screen(page, made.name);
        contrast(page, made);
        telephone(page, made);
        paper(page, made);
    }
}

/// Records whose first screens have the most words.
const WORDY: [&str; 3] = ["sweep", "incomplete", "hostile words"];

/// Readers have other fonts than the machine that a page was made on: with each of these families alone the first screen
/// shows the same, and nothing is wider than the screen.
#[test]
fn the_first_screen_holds_with_every_font() {
    for family in ["dejavu", "liberation", "noto"] {
        let fonts = Path::new("/usr/share/fonts/truetype").join(family);
        if !fonts.is_dir() {
            println!("skipped: there are no {family} fonts here (see packages.txt)");
            continue;
        }
        let mut shown: Option<Page> = None;
        for made in records().iter().filter(|made| WORDY.contains(&made.name)) {
            match &mut shown {
                Some(page) => page.show(&made.html),
                None => shown = Page::open_in(&made.html, Some(&fonts)),
            }
            let Some(page) = &mut shown else { return };
            let what = format!("{} in {family}", made.name);
            sound(page, &what);
            first_screen(page, &what);
            page.size(PHONE);
            sound(page, &what);
        }
    }
}

/// A reader who has only the page finds the answer, the limit and the caution of each run without scrolling, by what they say: on a
/// screen in both themes. On a telephone and on paper they are at most a turn away, and a caution stands under the verdict.
#[test]
fn three_tasks_are_done_on_the_first_screen() {
    let mut shown: Option<Page> = None;
    for reader in readers::all() {
        let record = &reader.record.1;
        let analysis = findings::analyse(record).expect("the record is analysed");
        let evidence = findings::evidence(record, &analysis).expect("the record is read");
        let html = review::html(&analysis, &evidence, &record.head().scenario);
        match &mut shown {
            Some(page) => page.show(&html),
            None => shown = Page::open(&html),
        }
        let Some(page) = &mut shown else { return };
        for (size, media, theme) in [
            (SCREEN, "screen", "light"),
            (SCREEN, "screen", "dark"),
            (PHONE, "screen", "light"),
            (PHONE, "screen", "dark"),
            (SHEET, "print", "light"),
        ] {
            page.size(size);
            page.media(media, theme);
            let caution = if size == SCREEN { reader.caution } else { "" };
            for (what, text) in
                [("answer", reader.answer), ("limit", reader.limit), ("caution", caution)]
            {
                let of = if text.is_empty() {
                    "'.trust li, .foremost'"
                } else {
                    "'h1, h2, p, li, .tag'"
                };
                let lowest = LOWEST.replace("WHERE", of);
                let bottom = page.value(&lowest.replace("TEXT", &json!(text).to_string()));
                let most =
                    f64::from(size.1) * if size == SCREEN || text.is_empty() { 1.0 } else { 2.0 };
                let seen = bottom.as_f64().is_some_and(|bottom| bottom <= most);
                let name = reader.name;
                assert!(seen, "{name}, {media} {theme} {size:?}: the {what} {text:?} at {bottom}");
            }
        }
    }
}

/// Where the first text that is seen and says it ends; null where none does.
const LOWEST: &str = r#"(() => {
    const bare = (e) => e.innerText.replace(/\s+/g, ' ');
    const says = [...document.querySelectorAll(WHERE)]
        .filter((e) => e.checkVisibility() && bare(e).includes(TEXT));
    return says[0]?.getBoundingClientRect().bottom ?? null;
})()"#;

/// Every chart is drawn, nobody is asked, and the verdict is the record's.
#[track_caller]
fn drawn(page: &mut Page, made: &Made) {
    sound(page, made.name);
    let charts = page.value("document.querySelectorAll('[data-chart]').length");
    assert_eq!(charts.as_u64() > Some(0), made.charts, "{}: {charts} charts", made.name);
    let verdict = page.value("document.getElementById('verdict-word').textContent");
    assert_eq!(verdict, json!(made.verdict), "{}", made.name);
}

/// The verdict, the first finding and the first warning are seen without scrolling.
#[track_caller]
fn first_screen(page: &mut Page, what: &str) {
    let bottoms = page.value(
        "['#verdict', '#findings li', '#warnings li'].map((each) =>
            document.querySelector(each)?.getBoundingClientRect().bottom ?? 0)",
    );
    let all = bottoms.as_array().into_iter().flatten().filter_map(Value::as_f64);
    let lowest = all.fold(0.0, f64::max);
    assert!(lowest > 0.0 && lowest <= f64::from(SCREEN.1), "{what}: {bottoms}");
}

#[track_caller]
fn telephone(page: &mut Page, made: &Made) {
    page.size(PHONE);
    sound(page, made.name);
    let width = page.value("innerWidth");
    assert_eq!(width, json!(PHONE.0), "{}: zoomed out to fit", made.name);
}

/// Nothing is cut off, folded, dark, or of no use on paper.
#[track_caller]
fn paper(page: &mut Page, made: &Made) {
    page.size(A4);
    page.media("print", "dark");
    sound(page, made.name);
    let empty = [
        (
            "cut off",
            "[...document.querySelectorAll('.scroll, .chart, pre')].filter((e) => e.scrollWidth > e.clientWidth + 1)
                .map((e) => e.getAttribute('aria-label') ?? e.className)",
        ),
        (
            "beyond the edge",
            "[...document.querySelectorAll('main *')].filter((e) => e.checkVisibility()
                && e.getBoundingClientRect().right > innerWidth + 1)
                .map((e) => e.tagName + ' ' + e.textContent.slice(0, 60))",
        ),
        (
            "of no use",
            "[...document.querySelectorAll('.bar, .modebar, details:not([open]) > summary')]
                .filter((e) => e.checkVisibility()).map((e) => e.className)",
        ),
    ];
    for (what, expression) in empty {
        assert_eq!(page.value(expression), json!([]), "{}: {what}", made.name);
    }
    let ground = "getComputedStyle(document.body).backgroundColor";
    assert_eq!(page.value(ground), json!("rgb(255, 255, 255)"), "{}: paper is white", made.name);
    page.media("screen", "light");
    let folded = page.value("document.querySelectorAll('details:not([open])').length");
    assert_ne!(folded, json!(0), "{}: folded again", made.name);
}

/// Text stands out from its ground in both themes, and there are two.
#[track_caller]
fn contrast(page: &mut Page, made: &Made) {
    let mut grounds = Vec::new();
    for theme in ["dark", "light"] {
        page.media("screen", theme);
        let worst = page.value(CONTRAST);
        assert!(worst[0].as_f64() >= Some(4.5), "{} {theme}: {worst}", made.name);
        grounds.push(page.value("getComputedStyle(document.body).backgroundColor"));
    }
    assert_ne!(grounds[0], grounds[1], "{}: both themes are the same", made.name);
}

#[test]
fn a_page_prints() {
    let Some(mut page) = one("sweep") else { return };
    let pdf = page.browser.call("Page.printToPDF", json!({ "preferCSSPageSize": true }));
    // Base64 of `%PDF-`.
    assert!(pdf["data"].as_str().is_some_and(|data| data.starts_with("JVBERi0")), "it is a PDF");
    sound(&mut page, "after it was printed");
}

/// The least contrast of text with its ground (WCAG 2.2, 1.4.3), as the browser computed both.
pub const CONTRAST: &str = r#"(() => {
    const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const known = new Map();
    const rgba = (color) => {
        if (!known.has(color)) known.set(color, painted(color));
        return known.get(color);
    };
    const painted = (color) => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = color;
        canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const light = (color) => rgba(color).slice(0, 3).map((c) => c / 255)
        .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
    const ground = (e) => {
        for (let at = e; at !== null; at = at.parentElement) {
            const color = getComputedStyle(at).backgroundColor;
            if (rgba(color)[3] === 255) return color;
        }
        return 'white';
    };
    const texts = [...document.querySelectorAll(
        '#verdict h2, #verdict p, #verdict li, #verdict a, h1, h2, h3, li, p, th, td, .unit, .mark, .next, a, summary, dt, dd, button, figcaption p')];
    const found = texts.filter((e) => e.checkVisibility() && e.textContent.trim() !== '').map((e) => {
        const pair = [light(getComputedStyle(e).color), light(ground(e))].sort((a, b) => b - a);
        return [(pair[0] + 0.05) / (pair[1] + 0.05), e.tagName + '.' + e.className + ' ' + e.textContent.slice(0, 40)];
    });
    return found.sort((a, b) => a[0] - b[0])[0];
})()"#;

#[test]
fn the_theme_can_be_chosen() {
    let Some(mut page) = one("sweep") else { return };
    page.media("screen", "light");
    let ground = "getComputedStyle(document.body).backgroundColor";
    let line = "document.querySelector('.chart .main-svg text')?.style.fill";
    let (light, text) = (page.value(ground), page.value(line));
    page.value("document.getElementById('theme').click()");
    assert_ne!(page.value(ground), light);
    assert_ne!(page.value(line), text, "charts change with the page");
    page.value("document.getElementById('theme').click()");
    assert_eq!((page.value(ground), page.value(line)), (light, text));
    sound(&mut page, "after a change of the theme");
}

/// The map shows the first step without the script, and every other with it: by the slider, the buttons and the keys.
#[test]
fn the_map_steps_through_the_plan() {
    let Some(mut page) = one("sweep") else { return };
    #[track_caller]
    fn check(page: &mut Page, action: &str, expected: &str) {
        page.value(&format!("(() => {{ {action} }})()"));
        let label = page.value("document.getElementById('map-label').textContent");
        let at = label.as_str().unwrap_or_default().ends_with(expected);
        assert!(at, "{action}: {label}, not {expected}");
    }
    let drawn = "document.getElementById('lab-map').outerHTML";
    let slide = "const s = document.getElementById('map-step'); s.value = 6; s.dispatchEvent(new Event('input'));";
    // It opens on the step that the first finding is about.
    check(&mut page, &slide.replace("= 6", "= 0"), "depth 1");
    let (first, table) = (page.value(drawn), "document.getElementById('map-table').innerText");
    let figures = page.value(table);
    check(&mut page, "document.querySelector('[data-map=back]').click()", "depth 1");
    check(&mut page, "document.querySelector('[data-map=on]').click()", "depth 2");
    assert_ne!(page.value(drawn), first, "the picture is another step's");
    check(&mut page, slide, "depth 64");
    check(&mut page, "document.querySelector('[data-map=on]').click()", "depth 64");
    let key = |key: &str| {
        format!(
            "document.querySelector('.picture').dispatchEvent(new KeyboardEvent('keydown', {{ key: '{key}' }}))"
        )
    };
    check(&mut page, &key("ArrowLeft"), "depth 32");
    check(&mut page, &key("ArrowRight"), "depth 64");
    check(&mut page, "document.getElementById('map-axis').value = 'depth'", "depth 64");
    // From the end it begins again.
    check(&mut page, "document.querySelector('[data-map=play]').click()", "depth 1");
    let button = "document.querySelector('[data-map=play]').textContent";
    assert_eq!(page.value(button), json!("Stop"));
    page.value("document.querySelector('[data-map=play]').click()");
    assert_eq!(page.value(button), json!("Play"));
    check(&mut page, &slide.replace("= 6", "= 0"), "depth 1");
    page.value("document.getElementById('map-hops').open = false");
    assert_eq!(page.value(table), figures, "the same figures again");
    page.value("document.querySelector('.lab [data-row]').dispatchEvent(new Event('click'))");
    let open =
        "document.getElementById('map-hops').open && document.querySelector('tr:target') !== null";
    assert_eq!(page.value(open), json!(true), "a hop leads to its figures");
    let members =
        "[...document.querySelectorAll('.hops .member')].map((row) => row.checkVisibility())";
    page.value("document.querySelectorAll('[data-open]').forEach((b) => b.click())");
    page.value(
        "document.querySelectorAll('[data-open][aria-expanded=false]').forEach((b) => b.click())",
    );
    let seen = page.value(members);
    assert!(seen.as_array().is_some_and(|all| all.iter().all(|one| *one == json!(true))), "{seen}");
    sound(&mut page, "after stepping through the map");
}

#[test]
fn evidence_is_found_and_unfolded() {
    let Some(mut page) = one("sweep") else { return };
    let links = page
        .value("[...document.querySelectorAll('.evidence')].map((a) => a.getAttribute('href'))");
    let links: Vec<&str> =
        links.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    assert!(
        links.contains(&"#chart-sweep-0") && links.iter().any(|l| l.starts_with("#conduct-")),
        "{links:?}"
    );
    for link in links {
        let seen = page.value(&format!(
            "new Promise((done) => {{
                document.querySelector('.evidence[href=\"{link}\"]').click();
                setTimeout(() => {{
                    const target = document.querySelector(':target');
                    const box = target?.getBoundingClientRect();
                    done(target !== null && target.checkVisibility() && box.top >= 0 && box.top < innerHeight);
                }}, 900);
            }})"
        ));
        assert_eq!(seen, json!(true), "{link}");
    }
}

#[test]
fn what_a_page_must_not_do_is_caught() {
    let page = |body: &str| {
        format!("<!DOCTYPE html><title>t</title><h1>t</h1>{body}<script></script><script></script>")
    };
    let script = |text: &str| page(&format!("<script>{text}</script>"));
    let cases = [
        (page("<script></script>"), ""),
        (script("throw new Error('x')"), "exception"),
        (script("console.error('x')"), "console"),
        (
            script("fetch('http://127.0.0.1:9/')")
                .replace("<h1>", "<link rel=icon href='data:,'><h1>"),
            "request",
        ),
        (page("<img src='http://127.0.0.1:9/x.png'><script></script>"), "request"),
        (page("<div style='width:3000px'>wide</div><script></script>"), "wide"),
        (page("<a href='#none'>x</a><script></script>"), "nowhere"),
        (page("<a href='https://example.org/'>x</a><script></script>"), "away"),
        (page("<div data-chart=c aria-label=c></div><script></script>"), "not drawn"),
        (page("<h3>deep</h3><script></script>"), "follows"),
        (page("<p id=a></p><p id=a></p><script></script>"), "twice"),
        (script("window.hit = 1"), "was run"),
        (
            page("<script id=charts type=application/json>{\"a\":\"var(--none)\"}</script>"),
            "no colour",
        ),
        (page(""), "script"),
    ];
    let Some(mut shown) = Page::open(&cases[0].0) else { return };
    for (html, expected) in cases {
        shown.show(&html);
        let faults = shown.faults();
        let right = match expected {
            "" => faults.iter().all(|f| f.contains("favicon")),
            _ => faults.iter().any(|f| f.contains(expected)),
        };
        assert!(right, "{expected}: {faults:?}\n{html}");
    }
}

#[test]
fn the_program_writes_it() {
    let dir = tempfile::tempdir().expect("a scratch directory");
    let run = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wirespeed"));
        let output = command.args(args).current_dir(dir.path()).output().expect("the program runs");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let load = ["disk", "null:", "--time", "200ms", "--warmup", "0s", "-q", "--out", "r.wsr"];
    let (code, printed) = run(&[&load[..], &["--format", "html"]].concat());
    assert_eq!(code, Some(0));
    assert_eq!(run(&["review", "r.wsr", "-q", "-o", "r.html"]), (Some(0), String::new()));
    let written = std::fs::read_to_string(dir.path().join("r.html")).expect("the page is there");
    assert_eq!(run(&["review", "r.wsr", "--format", "html"]), (Some(0), written.clone()));
    assert_eq!(printed, written, "after the run it is the same");
    assert!(written.starts_with("<!DOCTYPE html>") && written.contains(">Measured</h2>"));
    assert_eq!(run(&["review", "r.wsr", "-o", "r.html", "--step", "1"]).0, Some(2));
    let Some(mut page) = Page::open(&written) else { return };
    sound(&mut page, "a run on null:");
}

/// The page of a comparison is held to the same: on a screen in both themes, and on a telephone.
#[test]
fn a_comparison_is_right_everywhere() {
    let Some(mut page) = Page::open(&records::comparison()) else { return };
    sound(&mut page, "comparison");
    let charts = page.value("document.querySelectorAll('[data-chart]').length");
    assert!(charts.as_u64() >= Some(2), "{charts} charts");
    let bottom = page.value("document.querySelector('.verdict').getBoundingClientRect().bottom");
    assert!(bottom.as_f64() <= Some(f64::from(SCREEN.1)), "the verdict ends at {bottom}");
    let lines = page.value(
        "[...document.querySelectorAll('[data-chart^=series] .js-line')].map((e) => getComputedStyle(e).stroke)",
    );
    let colors: std::collections::BTreeSet<_> =
        lines.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    assert_eq!(colors.len(), 2, "a colour a side: {lines}");
    for theme in ["dark", "light"] {
        page.media("screen", theme);
        let worst = page.value(CONTRAST);
        assert!(worst[0].as_f64() >= Some(4.5), "{theme}: {worst}");
    }
    page.size(PHONE);
    sound(&mut page, "comparison on a telephone");
}
