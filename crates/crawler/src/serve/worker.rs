//! What a worker of a cluster shows of itself while it works: `/metrics` for Prometheus, and `/healthz`.

use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::routing::get;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;

use super::access::Access;
use super::failure::Failure;
use super::listen::{self, CONNECTIONS};
use super::router::{Answer, answer, harden, plain};
use super::{ServeError, Server, bind, check, metrics};
use crate::cluster::{ANSWER, Figures};
use page::clock;

/// A worker whose figures are older is stuck.
const STALE: Duration = Duration::from_secs(30);

/// The figures that a worker gave last.
#[derive(Debug, Default)]
pub struct Board(Mutex<Option<(Instant, Figures)>>);

impl Board {
    /// Shows these from now on.
    pub fn show(&self, figures: Figures) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((clock::instant(), figures));
    }

    fn figures(&self) -> Option<(Duration, Figures)> {
        let shown = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        shown.map(|(at, figures)| (clock::instant().duration_since(at), figures))
    }
}

struct App {
    access: Access,
    board: Arc<Board>,
}

/// Shows the figures of a worker, as long as the server lives. An address that isn't a loopback one needs a token, of at least 16 characters.
pub fn serve_worker(
    address: SocketAddr,
    token: Option<&str>,
    board: Arc<Board>,
) -> Result<Server, ServeError> {
    check(address, token)?;
    let (listener, address) = bind(address)?;
    let app = Arc::new(App { access: Access::new(address, &[], token), board });
    let router = Router::new()
        .route("/metrics", get(show_metrics))
        .route("/healthz", get(healthz))
        .fallback(async || plain(&Failure::not_found("there is /metrics and /healthz")))
        .layer(from_fn_with_state(Arc::clone(&app), guard))
        .with_state(app);
    let (stop, stopped) = watch::channel(false);
    let work = async move {
        let listener = TcpListener::from_std(listener)?;
        listen::serve(listener, router, Arc::new(Semaphore::new(CONNECTIONS)), stopped).await;
        Ok(())
    };
    Server::start(address, stop, work)
}

async fn guard(State(app): State<Arc<App>>, request: Request, next: Next) -> Answer {
    let checked = app.access.check(request.method(), request.uri(), request.headers());
    let mut response = match checked {
        Err(failure) => plain(&failure),
        Ok(_) if request.uri().path() == "/healthz" || app.access.knows(request.headers()) => {
            next.run(request).await
        }
        Ok(_) => {
            let what = "a token is needed: `Authorization: Bearer TOKEN`";
            let mut response = plain(&Failure::new(StatusCode::UNAUTHORIZED, what));
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            response
        }
    };
    harden(response.headers_mut());
    response
}

async fn healthz(State(app): State<Arc<App>>) -> Answer {
    match app.board.figures() {
        None => plain(&Failure::busy("the worker is starting")),
        Some((age, _)) if age >= STALE => plain(&Failure::busy("the worker doesn't answer")),
        Some((age, figures)) => match trouble(&figures, age) {
            None => answer(StatusCode::OK, "text/plain; charset=utf-8", "ok\n"),
            Some(trouble) => plain(&Failure::busy(trouble)),
        },
    }
}

/// Why a worker whose figures are so old isn't healthy.
fn trouble(figures: &Figures, age: Duration) -> Option<&'static str> {
    if lease(figures, age).is_zero() {
        Some("the database doesn't answer: the lease is over, and no host is asked until it does")
    } else if figures.silent + age >= ANSWER {
        Some("the database doesn't answer; hosts are asked until the lease is over")
    } else {
        None
    }
}

/// What remains of the lease.
fn lease(figures: &Figures, age: Duration) -> Duration {
    figures.lease.unwrap_or_default().saturating_sub(age)
}

async fn show_metrics(State(app): State<Arc<App>>) -> Answer {
    let Some((age, figures)) = app.board.figures() else {
        return plain(&Failure::busy("the worker is starting"));
    };
    match text(&figures, age) {
        Ok(text) => answer(StatusCode::OK, metrics::TYPE, text),
        Err(error) => plain(&Failure::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())),
    }
}

/// Writes figures as metrics, in the text format `OpenMetrics`. Counters begin with the process. `age` is how long ago the worker gave them.
fn text(figures: &Figures, age: Duration) -> Result<String, fmt::Error> {
    let mut registry = Registry::with_prefix("crawl");
    let Figures { worker, partitions, queued, in_flight, done, commits, commit_time, .. } = figures;
    for (name, value, help) in [
        (
            "pages",
            done.pages,
            "URLs that were answered with status 2xx except 206, since this worker was started",
        ),
        ("resources", done.resources, "Resources of pages that were answered with status 2xx, since then"),
        ("redirects", done.redirects, "URLs that were answered with another status, since then"),
        ("failed", done.failed, "Visits that failed, since then"),
        ("requests", done.requests, "Requests sent, robots.txt included, since then"),
        ("worker_commits", *commits, "Commits of partitions that the database has confirmed, since then"),
    ] {
        registry.register(name, help, metrics::counter(value));
    }
    registry.register_with_unit(
        "received",
        "Bodies received, as transferred, since then",
        Unit::Bytes,
        metrics::counter(done.bytes),
    );
    let waited = Counter::<f64, AtomicU64>::default();
    waited.inc_by(commit_time.as_secs_f64());
    registry.register_with_unit(
        "worker_commit",
        "Time that these commits took, each counted",
        Unit::Seconds,
        waited,
    );
    for (name, value, help) in [
        (
            "worker_number",
            u64::try_from(*worker).unwrap_or_default(),
            "The number of this worker in `crawl cluster status`",
        ),
        ("worker_partitions", *partitions, "Partitions that this worker crawls"),
        ("queued", *queued, "URLs queued in them"),
        ("requests_in_flight", *in_flight, "Requests in flight"),
    ] {
        let gauge: Gauge = Gauge::default();
        gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        registry.register(name, help, gauge);
    }
    for (name, value, help) in [
        (
            "worker_lease",
            lease(figures, age),
            "How long this worker may ask hosts without an answer of the database; 0 while it asks none",
        ),
        ("worker_database_silent", figures.silent + age, "How long ago the database last answered"),
        ("worker_figures_age", age, "How long ago the worker gave these figures"),
    ] {
        let gauge = Gauge::<f64, AtomicU64>::default();
        gauge.set(value.as_secs_f64());
        registry.register_with_unit(name, help, Unit::Seconds, gauge);
    }
    let mut text = String::new();
    encode(&mut text, &registry)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commit::Totals;

    #[test]
    fn metrics_of_a_worker_have_the_form_of_openmetrics() {
        let figures = Figures {
            worker: 3,
            partitions: 16,
            queued: 70,
            in_flight: 2,
            done: Totals { pages: 12, requests: 20, bytes: 3000, ..Totals::default() },
            lease: Some(Duration::from_millis(8500)),
            silent: Duration::from_millis(250),
            commits: 9,
            commit_time: Duration::from_millis(250),
            ..Figures::default()
        };
        let shown = text(&figures, Duration::ZERO).expect("text");
        for line in [
            "# TYPE crawl_pages counter",
            "crawl_pages_total 12",
            "crawl_requests_total 20",
            "crawl_received_bytes_total 3000",
            "crawl_worker_commits_total 9",
            "crawl_worker_commit_seconds_total 0.25",
            "crawl_worker_number 3",
            "crawl_worker_partitions 16",
            "crawl_queued 70",
            "crawl_requests_in_flight 2",
            "crawl_worker_lease_seconds 8.5",
            "crawl_worker_database_silent_seconds 0.25",
            "crawl_worker_figures_age_seconds 0.0",
        ] {
            assert!(shown.lines().any(|found| found == line), "{line}\n{shown}");
        }
        assert!(shown.ends_with("# EOF\n"));
        let shown = text(&Figures::default(), Duration::ZERO).expect("text");
        assert!(shown.lines().any(|found| found == "crawl_worker_lease_seconds 0.0"), "{shown}");
    }

    #[test]
    fn figures_that_are_given_no_more_grow_old() {
        let second = Duration::from_secs;
        let figures =
            Figures { lease: Some(second(9)), silent: Duration::from_millis(500), ..Figures::default() };
        assert_eq!(trouble(&figures, Duration::ZERO), None);
        assert!(trouble(&figures, ANSWER).is_some_and(|words| words.contains("until the lease is over")));
        assert!(trouble(&figures, second(9)).is_some_and(|words| words.contains("the lease is over, and")));
        let shown = text(&figures, second(2)).expect("text");
        for line in [
            "crawl_worker_lease_seconds 7.0",
            "crawl_worker_database_silent_seconds 2.5",
            "crawl_worker_figures_age_seconds 2.0",
        ] {
            assert!(shown.lines().any(|found| found == line), "{line}\n{shown}");
        }
    }
}
