//! The figures as Prometheus itself scrapes them, and every panel of the dashboard asked as Grafana would ask it.

use super::http::Served;
use crate::prelude::*;
use crate::program::support::{Bench, slow_null};
use std::net::TcpListener;

const DASHBOARD: &str = include_str!("../../../../../docs/grafana.json");

/// Prometheus in a scratch folder, until it is dropped.
struct Prometheus {
    child: Child,
    host: String,
    _folder: TempDir,
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Prometheus {
    /// Scrapes a page each second; `None`, with a line, where it is not installed.
    fn start(page: &str) -> Option<Prometheus> {
        let mut version = Command::new("prometheus");
        version.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        if !version.status().is_ok_and(|status| status.success()) {
            println!("skipped: prometheus is not installed (see packages.txt)");
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let config = format!(
            "global: {{ scrape_interval: 1s }}\nscrape_configs:\n  - job_name: wirespeed\n    static_configs: [ {{ targets: ['{page}'] }} ]\n"
        );
        fs::write(folder.path().join("prometheus.yml"), config).expect("room");
        let free =
            TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
        let child = Command::new("prometheus")
            .args(["--config.file=prometheus.yml", "--storage.tsdb.path=data", "--log.level=error"])
            .arg(format!("--web.listen-address={free}"))
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        Some(Prometheus { child, host: free.to_string(), _folder: folder })
    }

    /// The results of a query: labels and values.
    fn ask(&self, query: &str) -> Vec<(Value, f64)> {
        let encoded: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
        if TcpStream::connect(&self.host).is_err() {
            return Vec::new();
        }
        let idle = Command::new("true").spawn().expect("a child");
        let asked = Served { child: idle, host: self.host.clone() };
        let answer = asked.get(&format!("/api/v1/query?query={encoded}"));
        if answer.status != 200 {
            return Vec::new();
        }
        let found = answer.json();
        let results = found["data"]["result"].as_array().cloned().unwrap_or_default();
        let one = |one: &Value| {
            let value = one["value"][1].as_str().and_then(|text| text.parse().ok());
            (one["metric"].clone(), value.unwrap_or(f64::NAN))
        };
        results.iter().map(one).collect()
    }
}

#[test]
fn prometheus_scrapes_a_run_and_every_panel_is_filled() {
    let bench = Bench::new(&slow_null("60s"));
    let served = Served::start(&bench, &[]);
    let Some(prometheus) = Prometheus::start(&served.host) else { return };
    let mut command = bench.command(&["run", "s.toml", "-q", "--out", "r.wsr"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let dashboard: Value = serde_json::from_str(DASHBOARD).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let mut open: Vec<(String, String)> = Vec::new();
    for panel in panels {
        for target in panel["targets"].as_array().into_iter().flatten() {
            let query = target["expr"].as_str().expect("an expression").replace("$run", ".*");
            open.push((panel["title"].to_string(), query));
        }
    }
    assert!(open.len() >= 8, "{open:?}");
    for _ in 0..45 {
        clock::sleep_until(clock::now().plus(Ns::secs(1)));
        open.retain(|(_, query)| {
            let found = prometheus.ask(query);
            found.is_empty() || found.iter().all(|(_, value)| !value.is_finite())
        });
        if open.is_empty() {
            break;
        }
    }
    assert!(open.is_empty(), "empty panels: {open:?}");
    let id = super::live::run_of(&served, &child);
    assert_eq!(served.form(&format!("/live/{id}/stop"), "").status, 303);
    // What was counted when it was last scraped is what the record held then.
    let own = |name: &str| prometheus.ask(&format!("{name}{{run=\"{id}\"}}"));
    let (_, scraped) = own("wirespeed_run_operations_total").remove(0);
    child.wait().expect("it ends");
    let total = super::live::sums(&bench.path("r.wsr")).0 as f64;
    assert!(scraped <= total * 1.01 && scraped >= total - 200.0 * 6.0, "{scraped} of {total}");
    let rate = own("wirespeed_run_iops");
    assert!(rate.iter().all(|(_, iops)| (150.0..250.0).contains(iops)), "{rate:?}");
}
