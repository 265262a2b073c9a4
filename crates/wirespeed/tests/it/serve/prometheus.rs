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
    fn start(page: &str, more: &[&str]) -> Option<Prometheus> {
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
            .args(more)
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        Some(Prometheus { child, host: free.to_string(), _folder: folder })
    }

    /// The results of a query: labels and values.
    fn ask(&self, query: &str) -> Vec<(Value, f64)> {
        let one = |one: &Value| {
            let value = one["value"][1].as_str().and_then(|text| text.parse().ok());
            (one["metric"].clone(), value.unwrap_or(f64::NAN))
        };
        self.results(query).iter().map(one).collect()
    }

    /// All that was scraped of one series.
    fn scraped(&self, series: &str) -> Vec<f64> {
        let found = self.results(&format!("{series}[10m]"));
        assert_eq!(found.len(), 1, "{series}: {found:?}");
        let values = found[0]["values"].as_array().expect("values");
        let value = |one: &Value| one[1].as_str().and_then(|text| text.parse().ok());
        values.iter().map(|one| value(one).expect("a number")).collect()
    }

    fn results(&self, query: &str) -> Vec<Value> {
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
        answer.json()["data"]["result"].as_array().cloned().unwrap_or_default()
    }
}

#[test]
fn prometheus_scrapes_a_run_and_every_panel_is_filled() {
    let bench = Bench::new(&slow_null("60s"));
    let served = Served::start(&bench, &[]);
    let Some(prometheus) = Prometheus::start(&served.host, &[]) else { return };
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
    let own = |name: &str| prometheus.ask(&format!("{name}{{run=\"{id}\"}}"));
    child.wait().expect("it ends");
    // Whatever was scraped is within 1% of what the record holds up to some second.
    let courses = super::live::courses(&bench.path("r.wsr"));
    let moved = |direction: &str| {
        format!("wirespeed_run_transferred_bytes_total{{run=\"{id}\",direction=\"{direction}\"}}")
    };
    let series =
        [format!("wirespeed_run_operations_total{{run=\"{id}\"}}"), moved("read"), moved("write")];
    for (n, series) in series.iter().enumerate() {
        let scraped = prometheus.scraped(series);
        for value in scraped {
            let near = |sums: &[f64; 3]| (value - sums[n]).abs() <= 0.01 * sums[n];
            assert!(value == 0.0 || courses.iter().any(near), "{series}: {value}: {courses:?}");
        }
    }
    let rate = own("wirespeed_run_iops");
    assert!(rate.iter().all(|(_, iops)| (150.0..250.0).contains(iops)), "{rate:?}");
}

/// A Prometheus that asks for native histograms gets them: as many operations as are counted, and percentiles within the width
/// of a bucket of those that the record has.
#[test]
fn prometheus_gets_native_histograms_where_it_asks_for_them() {
    let bench = Bench::new(&slow_null("60s"));
    let served = Served::start(&bench, &[]);
    let more = ["--enable-feature=native-histograms"];
    let Some(prometheus) = Prometheus::start(&served.host, &more) else { return };
    let mut command = bench.command(&["run", "s.toml", "-q", "--out", "r.wsr"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let id = super::live::run_of(&served, &child);
    let times = format!("wirespeed_run_response_time_seconds{{run=\"{id}\"}}");
    // Of one moment, that of the latest scrape.
    let ask = |query: String| prometheus.ask(&query).first().map(|(_, value)| *value);
    let more_than = |least: f64| {
        (0..60).find_map(|_| {
            clock::sleep_until(clock::now().plus(Ns::secs(1)));
            ask(format!("histogram_count({times})")).filter(|count| *count > least)
        })
    };
    more_than(1000.0).expect("a native histogram of a thousand operations");
    let off = ask(format!(
        "abs(histogram_count({times}) - on (run) wirespeed_run_operations_total{{run=\"{id}\"}})"
    ));
    assert_eq!(off, Some(0.0), "every operation is in it");
    let scraped: Vec<f64> = [0.5, 0.9]
        .iter()
        .filter_map(|q| ask(format!("histogram_quantile({q}, {times})")))
        .collect();
    // The panel of the dashboard is filled by either form.
    let panel =
        DASHBOARD.lines().find(|line| line.contains("histogram_quantile")).expect("a panel");
    let panel: Value = serde_json::from_str(&format!("{{{}}}", panel.trim().trim_end_matches(',')))
        .expect("a line of JSON");
    let panel = panel["expr"].as_str().expect("an expression").replace("$run", &id);
    let filled = (0..30).any(|_| {
        clock::sleep_until(clock::now().plus(Ns::secs(1)));
        ask(panel.clone()).is_some_and(f64::is_finite)
    });
    assert!(filled, "the panel is filled");
    assert_eq!(served.form(&format!("/live/{id}/stop"), "").status, 303);
    child.wait().expect("it ends");
    let record = crate::program::support::open(&bench.path("r.wsr"));
    let mut intervals = record.intervals(0).expect("intervals");
    intervals.sort_by_key(|interval| interval.to);
    // The record went on for some seconds, perhaps on another kind of machine: what was scraped is what it held at some second.
    let mut all = record::Histogram::new();
    let mut held: Vec<[(f64, f64); 2]> = Vec::new();
    for interval in &intervals {
        interval.tallies().for_each(|tally| all.merge(tally.response()));
        let at = |p: f64| all.percentile(p).map_or(f64::NAN, |time| time.as_secs_f64());
        held.push([50.0, 90.0].map(|p| (at(p - 5.0) * 0.97, at(p + 5.0) * 1.03)));
    }
    for (n, scraped) in scraped.iter().enumerate() {
        let near = |bounds: &[(f64, f64); 2]| (bounds[n].0..=bounds[n].1).contains(scraped);
        assert!(held.iter().any(near), "{n}: {scraped}, the record {held:?}");
    }
    assert_eq!(scraped.len(), 2);
}
