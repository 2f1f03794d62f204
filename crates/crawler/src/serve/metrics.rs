//! `/metrics`: the state of the crawl for Prometheus, in the text format `OpenMetrics`.

use std::fmt;
use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use serde_json::Value;

/// The type of what [`text`] gives.
pub(super) const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Why {
    reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct State {
    state: String,
}

/// Writes the status as metrics.
pub(super) fn text(status: &Value) -> Result<String, fmt::Error> {
    let mut registry = Registry::with_prefix("crawl");
    let totals = &status["totals"];
    let counts = [
        ("pages", "URLs that were answered with status 2xx except 206"),
        (
            "resources",
            "Resources of pages (images, scripts, style sheets) that were answered with status 2xx",
        ),
        ("redirects", "URLs that were answered with another status"),
        ("failed", "Visits that failed"),
        ("requests", "Requests sent, robots.txt included"),
    ];
    for (name, help) in counts {
        registry.register(name, help, counter(count(&totals[name])));
    }
    registry.register_with_unit(
        "received",
        "Bodies received, as transferred",
        Unit::Bytes,
        counter(count(&totals["bytes"])),
    );
    for (name, key, help) in [
        ("queued", "queued", "URLs queued"),
        ("hosts", "hosts", "Hosts known"),
        ("requests_in_flight", "in_flight", "Requests in flight"),
        ("hosts_paused", "hosts_paused", "Hosts that the user has paused"),
        ("partitions_free", "partitions_free", "Partitions of a crawl on many machines that have no worker"),
        ("letters", "letters", "Rows of letters under way between partitions"),
    ] {
        if let Some(value) = status[key].as_i64() {
            let gauge: Gauge = Gauge::default();
            gauge.set(value);
            registry.register(name, help, gauge);
        }
    }
    if let Some(workers) = status["workers"].as_array() {
        let gauge: Gauge = Gauge::default();
        gauge.set(i64::try_from(workers.len()).unwrap_or(i64::MAX));
        registry.register("workers", "Workers of a crawl on many machines", gauge);
    }
    if let Some(rate) = status["pages_per_second"].as_f64() {
        let gauge = Gauge::<f64, AtomicU64>::default();
        gauge.set(rate);
        registry.register("pages_per_second", "Pages per second over the last ten seconds", gauge);
    }
    let waiting = Family::<Why, Gauge>::default();
    for (reason, hosts) in status["waiting"].as_object().into_iter().flatten() {
        waiting.get_or_create(&Why { reason: reason.clone() }).set(hosts.as_i64().unwrap_or_default());
    }
    registry.register("hosts_waiting", "Hosts that wait, by reason", waiting);
    let state = Family::<State, Gauge>::default();
    let name = status["state"].as_str().unwrap_or("unknown").to_owned();
    state.get_or_create(&State { state: name }).set(1);
    registry.register("state", "What the crawl does: 1 for its state", state);
    let mut text = String::new();
    encode(&mut text, &registry)?;
    Ok(text)
}

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

/// A counter that has come so far.
pub(super) fn counter(value: u64) -> Counter {
    let counter: Counter = Counter::default();
    counter.inc_by(value);
    counter
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_have_the_form_of_openmetrics() {
        let status = serde_json::json!({
            "state": "running", "totals": {"pages": 12, "requests": 20, "bytes": 3000}, "queued": 7, "hosts": 2,
            "in_flight": 1, "pages_per_second": 1.5, "waiting": {"crawl-delay": 2},
        });
        let text = text(&status).expect("text");
        for line in [
            "# TYPE crawl_pages counter",
            "crawl_pages_total 12",
            "crawl_received_bytes_total 3000",
            "crawl_queued 7",
            "crawl_pages_per_second 1.5",
            "crawl_hosts_waiting{reason=\"crawl-delay\"} 2",
            "crawl_state{state=\"running\"} 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        // OpenMetrics 1.0: the last line.
        assert!(text.ends_with("# EOF\n"));
    }
}
