//! Attacks, by name, each of which must fail: and what is asked for rightly must work beside it.

use super::http::{Served, answer};
use super::short_run;
use crate::prelude::*;
use crate::program::support::{Bench, slow_null};
use std::io::Write;
use std::os::unix::fs::symlink;

const TOKEN: &str = "correct horse battery staple";

fn id_of(served: &Served, count: usize) -> String {
    served.records(count)[0]["id"].as_str().expect("an identifier").to_owned()
}

/// A name of another site that resolves to this machine.
#[test]
fn rebinding_of_names() {
    let bench = Bench::new("");
    let served = Served::start(&bench, &["--name", "lab.example"]);
    let port = served.host.rsplit(':').next().expect("a port");
    let ask = |line: &str, hosts: &[&str]| {
        let hosts: String = hosts.iter().map(|host| format!("Host: {host}\r\n")).collect();
        served.raw(&format!("GET {line} HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n")).status
    };
    let own = served.host.as_str();
    assert_eq!(ask("/", &[own]), 200);
    assert_eq!(ask("/", &[&format!("localhost:{port}")]), 200);
    assert_eq!(ask("/", &["lab.example"]), 200);
    for hosts in [
        &["evil.example"][..],
        &[&format!("evil.example:{port}")],
        &["127.0.0.1"],
        &[&format!("{own}.evil.example")],
        &[own, "evil.example"],
        &[""],
    ] {
        assert_eq!(ask("/", hosts), 421, "{hosts:?}");
        assert_eq!(ask("/api/v1/records", hosts), 421, "{hosts:?}");
    }
    assert!(matches!(ask("/", &[]), 400 | 421), "no name at all");
    assert_eq!(ask("http://evil.example/", &[own]), 421);
}

/// A page of another site that sends a form, or reads an answer.
#[test]
fn requests_of_other_sites() {
    let bench = Bench::new("");
    short_run(&bench, "a.wsr");
    let served = Served::start(&bench, &[]);
    let id = id_of(&served, 1);
    let path = format!("/records/{id}/notes");
    let own = format!("http://{}", served.host);
    let post = |headers: &[(&str, &str)]| {
        let kind = ("Content-Type", "application/x-www-form-urlencoded");
        let headers = [&[kind][..], headers].concat();
        served.ask("POST", &path, &headers, "tags=stolen").status
    };
    for headers in [
        &[][..],
        &[("Origin", "http://evil.example")],
        &[("Origin", "null")],
        &[("Origin", &own.replace("http", "https"))],
        &[("Origin", &own), ("Sec-Fetch-Site", "cross-site")],
        &[("Sec-Fetch-Site", "same-site")],
        &[("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate")],
        &[("Origin", "http://evil.example"), ("Wirespeed-Request", "1")],
    ] {
        assert_eq!(post(headers), 403, "{headers:?}");
    }
    assert!(!bench.path("a.wsr.notes.json").exists(), "nothing was written");
    assert_eq!(post(&[("Origin", &own)]), 303);
    let read = |headers: &[(&str, &str)]| served.ask("GET", "/api/v1/records", headers, "").status;
    assert_eq!(read(&[("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "no-cors")]), 403);
    assert_eq!(read(&[("Origin", "http://evil.example")]), 403);
    assert_eq!(read(&[("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate")]), 200);
    let answer = served.get("/");
    assert_eq!(answer.header("access-control-allow-origin"), None);
    let policy = answer.header("content-security-policy").expect("a policy");
    assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"));
    assert!(!policy.contains("script-src 'self' 'unsafe"), "{policy}");
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        assert_eq!(answer.header(name), Some(value));
    }
}

/// Without a log-in, with a wrong token, with a cookie after its log-out, and with one of another token.
#[test]
fn no_log_in_and_stolen_cookies() {
    let bench = Bench::new("");
    bench.secret("token", TOKEN);
    let served = Served::start(&bench, &["--token-file", "token"]);
    let ask = |path: &str, headers: &[(&str, &str)]| served.ask("GET", path, headers, "");
    for path in ["/api/v1/records", "/metrics", "/live", "/records/0/review", "/library"] {
        assert_eq!(ask(path, &[]).status, 401, "{path}");
    }
    let page = ask("/", &[("Accept", "text/html")]);
    assert_eq!((page.status, page.header("location")), (303, Some("/login")));
    assert_eq!(served.send("POST", "/api/v1/runs", &json!({})).status, 401);
    let log_in = |token: &str| served.form("/login", &format!("token={}", token.replace(' ', "+")));
    assert_eq!(log_in("a wrong token of length").status, 401);
    assert_eq!(log_in("").status, 401);
    let opened = log_in(TOKEN);
    let cookie = opened.header("set-cookie").expect("a cookie").to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    assert!(!cookie.contains(TOKEN));
    let cookie = cookie.split(';').next().expect("a value").to_owned();
    assert_eq!(ask("/api/v1/records", &[("Cookie", &cookie)]).status, 200);
    assert_eq!(ask("/api/v1/records", &[("Cookie", "wirespeed=0")]).status, 401);
    let bearer = format!("Bearer {TOKEN}");
    assert_eq!(ask("/metrics", &[("Authorization", &bearer)]).status, 200);
    assert_eq!(ask("/metrics", &[("Authorization", "Bearer x")]).status, 401);
    // Stolen, and replayed after its owner has logged out.
    let origin = format!("http://{}", served.host);
    served.ask("POST", "/logout", &[("Cookie", &cookie), ("Origin", &origin)], "");
    assert_eq!(ask("/api/v1/records", &[("Cookie", &cookie)]).status, 401);
    // Stolen, and replayed after the token was changed.
    let second = log_in(TOKEN).header("set-cookie").expect("a cookie").to_owned();
    let second = second.split(';').next().expect("a value").to_owned();
    bench.secret("token", "another token of some length");
    assert_eq!(ask("/api/v1/records", &[("Cookie", &second)]).status, 401);
    assert_eq!(ask("/metrics", &[("Authorization", &bearer)]).status, 401);
}

/// Another user of the same machine, who reaches loopback as well.
#[test]
fn another_user_on_loopback() {
    if !rustix::process::geteuid().is_root() {
        return println!("skipped: to be another user needs root");
    }
    let bench = Bench::new("");
    let served = Served::start(&bench, &[]);
    let port = served.host.rsplit(':').next().expect("a port");
    let request = format!(
        "exec 3<>/dev/tcp/127.0.0.1/{port}; printf 'GET /api/v1/records HTTP/1.1\\r\\nHost: 127.0.0.1:{port}\\r\\nConnection: close\\r\\n\\r\\n' >&3; cat <&3"
    );
    let as_user = |user: &str| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", user, "--clear-groups", "bash", "-c", &request]);
        let output = command.output().expect("setpriv is there");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(as_user("12345").contains(" 403 "), "another user is refused");
    assert!(as_user("0").contains(" 200 "), "its own user is not");
}

/// Off loopback without a token, or without what keeps it secret; and a token that others may read.
#[test]
fn open_doors() {
    let bench = Bench::new("");
    bench.secret("token", TOKEN);
    fs::write(bench.path("open"), TOKEN).expect("a file");
    bench.secret("short", "short");
    for args in [
        &["--listen", "0.0.0.0:0"][..],
        &["--listen", "0.0.0.0:0", "--token-file", "token"],
        &["--listen", "[::]:0", "--behind-proxy", "lab.example"],
        &["--behind-proxy", "lab.example"],
        &["--token-file", "open"],
        &["--token-file", "short"],
        &["--token-file", "nowhere"],
    ] {
        bench.expect(2, &[&["serve", "."], args].concat());
    }
    bench.expect(2, &["run", "s.toml", "--metrics", "0.0.0.0:0"]);
}

/// Ways out of the folder: by names in addresses, by links, by names of records and scenarios.
#[test]
fn ways_out_of_the_folder() {
    let bench = Bench::new("");
    short_run(&bench, "..%2f..%2fetc%2fpasswd.wsr");
    let outside = tempfile::tempdir().expect("a scratch directory");
    fs::copy(bench.path("..%2f..%2fetc%2fpasswd.wsr"), outside.path().join("secret.wsr"))
        .expect("room");
    fs::write(outside.path().join("secret.toml"), "[scenario]\ntitle = \"secret\"\n")
        .expect("a file");
    symlink(outside.path(), bench.path("linked")).expect("a link");
    symlink(outside.path().join("secret.wsr"), bench.path("link.wsr")).expect("a link");
    symlink(outside.path().join("secret.toml"), bench.path("link.toml")).expect("a link");
    symlink("/etc/passwd", bench.path("passwd.wsr")).expect("a link");
    let served = Served::start(&bench, &[]);
    let id = id_of(&served, 1);
    let names = [
        "etc/passwd",
        "..%2f..%2f..%2fetc%2fpasswd",
        "%2e%2e/%2e%2e/etc/passwd",
        "../../etc/passwd",
    ];
    for name in names {
        for path in [
            format!("/records/{name}"),
            format!("/records/{name}/download/record"),
            format!("/records/{id}/download/{name}"),
            format!("/records/{id}/../{name}"),
            format!("/assets/{name}"),
            format!("/{name}"),
            format!("/start?scenario={name}"),
            format!("/api/v1/scenarios/{name}"),
            format!("/live/{name}"),
        ] {
            let answer = served.get(&path);
            assert!(matches!(answer.status, 400 | 404), "{path}: {}", answer.status);
            assert!(!answer.text().contains("root:"), "{path}");
        }
    }
    let scenarios = served.document("/api/v1/scenarios").to_string();
    assert!(!scenarios.contains("secret") && !scenarios.contains("link.toml"), "{scenarios}");
}

/// Words of a record that would be markup, in every place where a page shows them.
#[test]
fn scripts_in_every_string() {
    const EVIL: &str = "\"'><script>window.hit=1</script><img src=x onerror=window.hit=1>";
    let toml = EVIL.replace('"', "\\\"");
    let scenario = slow_null("300ms").replace("title = \"slow\"", &format!("title = \"{toml}\""));
    let bench = Bench::new(&scenario);
    bench.expect(0, &["run", "s.toml", "-q", "--out", "<img src=x>.wsr"]);
    fs::write(bench.path("<script>x<script>.toml"), &scenario).expect("a file");
    let served = Served::start(&bench, &[]);
    let id = id_of(&served, 1);
    let notes = json!({ "tags": ["<script>window.hit=1</script>"], "notes": EVIL });
    assert_eq!(served.send("PUT", &format!("/api/v1/records/{id}/notes"), &notes).status, 200);
    let q = "%22%3E%3Cscript%3Ewindow.hit%3D1%3C/script%3E";
    let scenarios = served.document("/api/v1/scenarios");
    let first = scenarios["scenarios"][0]["id"].as_str().expect("a scenario").to_owned();
    for path in [
        "/".to_owned(),
        format!("/?q={q}&tag={q}&verdict={q}&from={q}&sort={q}"),
        format!("/library?q={q}"),
        format!("/records/{id}"),
        format!("/records/{q}"),
        format!("/live/{id}"),
        "/live".to_owned(),
        "/start".to_owned(),
        format!("/start?scenario={first}"),
        format!("/explore?scenario={first}&axis:x={q}"),
        format!("/explore?scenario={first}&plan={q}"),
    ] {
        let answer = served.ask("GET", &path, &[("Accept", "text/html")], "");
        let text = answer.text();
        assert!(!text.contains("<script>window") && !text.contains("<img"), "{path}: {text}");
        assert!(!text.contains("<script>x"), "{path}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
    }
    let posted = format!("id=x&name={q}&text={q}&set%3A{q}={q}&set={q}%3D1&action=check");
    let text = served.form("/start", &posted).text();
    assert!(!text.contains("<script>window"), "{text}");
}

/// A client that says what it wants byte by byte, one that never says it, and one that never reads.
#[test]
fn slow_clients() {
    let bench = Bench::new("");
    short_run(&bench, "a.wsr");
    let served = Served::start(&bench, &[]);
    let id = id_of(&served, 1);
    let mut slow = served.connect();
    slow.write_all(b"GET / HTTP/1.1\r\nHost: ").expect("it reads");
    let silent = served.connect();
    let mut deaf = served.connect();
    for _ in 0..40 {
        let request = format!("GET /records/{id}/review HTTP/1.1\r\nHost: {}\r\n\r\n", served.host);
        // It may already have given up on who never reads.
        let _ = deaf.write_all(request.as_bytes());
    }
    let mut body = served.connect();
    let head = format!(
        "POST /start HTTP/1.1\r\nHost: {0}\r\nOrigin: http://{0}\r\nContent-Length: 1000\r\n\r\nid=",
        served.host
    );
    body.write_all(head.as_bytes()).expect("it reads");
    // Others are served meanwhile.
    assert_eq!(served.get("/").status, 200);
    assert_eq!(answer(slow).status, 0, "closed without an answer");
    assert_eq!(answer(silent).status, 0);
    assert_eq!(answer(body).status, 408);
    let large = "x".repeat(2 << 20);
    let refused = served.form("/start", &large);
    assert!(matches!(refused.status, 0 | 413), "{}", refused.status);
    drop(deaf);
    assert_eq!(served.get("/").status, 200);
}

/// More connections than it takes: they wait, it stays small, and who asks is served when the idle ones are closed.
#[test]
fn a_thousand_connections() {
    let bench = Bench::new("");
    let served = Served::start(&bench, &[]);
    let mut all = Vec::new();
    for _ in 0..1000 {
        match TcpStream::connect_timeout(
            &served.host.parse().expect("an address"),
            Duration::from_secs(2),
        ) {
            Ok(stream) => all.push(stream),
            // The kernel's queue is full.
            Err(_) => break,
        }
    }
    // On a busy machine the kernel's queue fills before all are taken.
    assert!(all.len() > 100, "only {} connections", all.len());
    let memory = served.memory_kb();
    assert!(memory < 100_000, "{memory} kB with {} connections", all.len());
    println!("{} connections: {memory} kB", all.len());
    drop(all);
    assert_eq!(served.get("/").status, 200, "served again");
}
