//! Which request is answered by what, and what holds for every answer.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, Extension, Path, RawQuery, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::routing::{get, post};
use maud::Markup;
use serde_json::Value;

use super::failure::Failure;
use super::layout::Place;
use super::params::{Params, link};
use super::state::{App, HostName, PAGE_PATIENCE};
use super::{
    api, control, copies, events, graph, host_page, metrics, overview, stream, table_query, tables_page,
    url_page,
};
use crate::view::write_json_line;

/// How long a request may read the crawl.
const READ: Duration = Duration::from_secs(20);

/// How long a request may take until its answer begins.
const WHOLE: Duration = Duration::from_mins(1);

/// Bytes of a form.
const FORM_BYTES: usize = 16 * 1024;

/// What the signature of a copy's address is for.
const COPY: &str = "copy";

pub(super) type Answer = Response<Body>;
type Shared = State<Arc<App>>;

/// The app.
pub(super) fn router(app: &Arc<App>) -> Router {
    let router = Router::new()
        .route("/", get(show_overview))
        .route("/tables", get(show_tables))
        .route("/table/{table}", get(show_table))
        .route("/download/{table}", get(download))
        .route("/url", get(show_url))
        .route("/url/links", get(show_incoming))
        .route("/host", get(show_host))
        .route("/graph", get(show_graph))
        .route("/copy", get(download_copy))
        .route("/control", get(show_control).post(do_control))
        .route("/login", get(show_login).post(do_login))
        .route("/healthz", get(healthz))
        .route("/metrics", get(show_metrics))
        .route("/assets/{name}", get(asset))
        .route("/api/v1/openapi.json", get(openapi))
        .route("/api/v1/status", get(api_status))
        .route("/api/v1/events", get(api_events))
        .route("/api/v1/summary", get(api_summary))
        .route("/api/v1/activity", get(api_activity))
        .route("/api/v1/graph", get(api_graph))
        .route("/api/v1/tables", get(api_tables))
        .route("/api/v1/tables/{table}", get(api_table))
        .route("/api/v1/url", get(api_url))
        .route("/api/v1/host", get(api_host))
        .route("/api/v1/control", post(api_control));
    #[cfg(feature = "search")]
    let router = router.route("/search", get(show_search)).route("/api/v1/search", get(api_search));
    router
        .fallback(nothing)
        .method_not_allowed_fallback(wrong_method)
        .layer(DefaultBodyLimit::max(FORM_BYTES))
        .layer(from_fn_with_state(Arc::clone(app), guard))
        .with_state(Arc::clone(app))
}

/// The other origin: archived copies for frames, and nothing else.
pub(super) fn copies_router(app: &Arc<App>) -> Router {
    Router::new()
        .route("/copy", get(framed_copy))
        .fallback(nothing)
        .layer(from_fn_with_state(Arc::clone(app), guard_copies))
        .with_state(Arc::clone(app))
}

/// Checks each request, and gives each answer the headers that keep browsers from doing more with it than show it.
async fn guard(State(app): Shared, mut request: Request, next: Next) -> Answer {
    let is_api = request.uri().path().starts_with("/api/") || request.uri().path() == "/metrics";
    let checked = app.access.check(request.method(), request.uri(), request.headers());
    let mut frame = "'none'".to_owned();
    let mut response = match checked {
        Err(failure) => refuse(&app, &failure, is_api),
        Ok(name) => {
            if !name.contains(['[', ':']) {
                frame = format!("http://{name}:{}", app.copies_port);
            }
            request.extensions_mut().insert(HostName(name));
            let path = request.uri().path();
            let is_open = matches!(path, "/login" | "/healthz") || path.starts_with("/assets/");
            if is_open || app.access.knows(request.headers()) {
                let answered = tokio::time::timeout(WHOLE, next.run(request)).await;
                answered.unwrap_or_else(|_| refuse(&app, &Failure::busy("this took too long"), is_api))
            } else if is_api {
                let mut response = refuse(
                    &app,
                    &Failure::new(
                        StatusCode::UNAUTHORIZED,
                        "a token is needed: `Authorization: Bearer TOKEN`",
                    ),
                    true,
                );
                response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
                response
            } else {
                redirect("/login")
            }
        }
    };
    let policy = format!(
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; frame-src {frame}; frame-ancestors 'none'; base-uri 'none'"
    );
    let headers = response.headers_mut();
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    headers.insert("x-frame-options", HeaderValue::from_static("DENY"));
    headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    harden(headers);
    response
}

/// As [`guard`], for copies: each address is signed by the app.
async fn guard_copies(State(app): Shared, mut request: Request, next: Next) -> Answer {
    let checked = app.access.check(request.method(), request.uri(), &without_fetch_site(request.headers()));
    let mut response = match checked {
        Err(failure) => plain(&failure),
        Ok(name) => {
            request.extensions_mut().insert(HostName(name));
            next.run(request).await
        }
    };
    harden(response.headers_mut());
    response
}

/// The page with the frame is of another origin, as it has to be: the signature says that it is ours.
fn without_fetch_site(headers: &HeaderMap) -> HeaderMap {
    let mut headers = headers.clone();
    headers.remove("sec-fetch-site");
    headers
}

pub(super) fn harden(headers: &mut HeaderMap) {
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(
        "permissions-policy",
        HeaderValue::from_static("camera=(), geolocation=(), microphone=(), payment=()"),
    );
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}

pub(super) fn answer(status: StatusCode, kind: &'static str, body: impl Into<Body>) -> Answer {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

fn html_page(status: StatusCode, page: Markup) -> Answer {
    answer(status, "text/html; charset=utf-8", page.into_string())
}

fn json(status: StatusCode, value: &Value) -> Answer {
    // Browsers show it as text: characters that reorder that are escaped.
    let mut text = Vec::new();
    match write_json_line(&mut text, value) {
        Ok(()) => answer(status, "application/json", text),
        Err(_) => answer(status, "application/json", value.to_string()),
    }
}

pub(super) fn plain(failure: &Failure) -> Answer {
    answer(failure.status, "text/plain; charset=utf-8", format!("{}\n", failure.what))
}

fn redirect(to: &str) -> Answer {
    let mut response = answer(StatusCode::SEE_OTHER, "text/plain; charset=utf-8", "");
    if let Ok(to) = HeaderValue::from_str(to) {
        response.headers_mut().insert(header::LOCATION, to);
    }
    response
}

/// An answer that isn't the one that was asked for. Its connection is closed where the server is busy.
fn refuse(app: &App, failure: &Failure, is_api: bool) -> Answer {
    let mut response = if is_api {
        json(failure.status, &api::failure(failure))
    } else {
        html_page(failure.status, app.frame().failure(Place::Nowhere, failure))
    };
    if failure.status == StatusCode::SERVICE_UNAVAILABLE {
        let headers = response.headers_mut();
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// A page, or one that says why not.
fn page(app: &App, place: Place, title: &str, main: Result<Markup, Failure>) -> Answer {
    match main {
        Ok(main) => html_page(StatusCode::OK, app.frame().page(place, title, &main)),
        Err(failure) => html_page(failure.status, app.frame().failure(place, &failure)),
    }
}

/// A JSON answer, or one that says why not.
fn api_answer(app: &App, value: Result<Value, Failure>) -> Answer {
    match value {
        Ok(value) => json(StatusCode::OK, &value),
        Err(failure) => refuse(app, &failure, true),
    }
}

fn params(query: Option<&str>) -> Params {
    Params::read(query.unwrap_or_default().as_bytes())
}

fn needed<'a>(params: &'a Params, name: &str) -> Result<&'a str, Failure> {
    params.get(name).ok_or_else(|| Failure::bad(format!("the parameter {name} is missing")))
}

async fn nothing(State(app): Shared, request: Request) -> Answer {
    refuse(
        &app,
        &Failure::not_found("there is nothing at this address"),
        request.uri().path().starts_with("/api/"),
    )
}

async fn wrong_method(State(app): Shared, request: Request) -> Answer {
    let failure = Failure::new(StatusCode::METHOD_NOT_ALLOWED, "this address isn't answered to this method");
    refuse(&app, &failure, request.uri().path().starts_with("/api/"))
}

async fn show_overview(State(app): Shared) -> Answer {
    let now = match app.now(PAGE_PATIENCE).await {
        Ok(now) => now,
        // Its figures come later.
        Err(failure) if failure.status == StatusCode::SERVICE_UNAVAILABLE => {
            let is_in_dir = app.reading.served().root().is_some();
            serde_json::json!({"state": if is_in_dir { "being counted" } else { "database out of reach" }})
        }
        Err(failure) => return page(&app, Place::Overview, "Overview", Err(failure)),
    };
    let (summary, activity) = (app.summary(PAGE_PATIENCE).await, app.activity(PAGE_PATIENCE).await);
    let main = overview::main(&now, summary.as_ref(), activity.as_ref());
    page(&app, Place::Overview, "Overview", Ok(main))
}

async fn show_tables(State(app): Shared) -> Answer {
    page(&app, Place::Tables, "Tables", Ok(tables_page::list()))
}

async fn show_table(State(app): Shared, Path(name): Path<String>, RawQuery(query): RawQuery) -> Answer {
    let params = params(query.as_deref());
    let table = match table_query::table(&name) {
        Ok(table) => table,
        Err(failure) => return page(&app, Place::Tables, "Table", Err(failure)),
    };
    let asked = params.clone();
    let part = app.reading.read(READ, move |view, until| {
        table_query::part(view, table, &asked, tables_page::usual(table), until)
    });
    let part = part.await;
    let status = part.as_ref().err().map_or(StatusCode::OK, |failure| failure.status);
    let main = tables_page::main(table, &params, part.as_ref());
    html_page(status, app.frame().page(Place::Tables, &format!("Table {}", table.name()), &main))
}

async fn download(State(app): Shared, Path(name): Path<String>, RawQuery(query): RawQuery) -> Answer {
    let written = match table_query::table(&name) {
        Ok(table) => stream::table(&app, table, params(query.as_deref())).await.map(|body| (table, body)),
        Err(failure) => Err(failure),
    };
    match written {
        Ok((table, (body, ending))) => {
            let kind = if ending == "csv" { "text/csv; charset=utf-8" } else { "application/x-ndjson" };
            let mut response = answer(StatusCode::OK, kind, body);
            let name = format!("attachment; filename=\"{}.{ending}\"", table.name());
            if let Ok(name) = HeaderValue::from_str(&name) {
                response.headers_mut().insert(header::CONTENT_DISPOSITION, name);
            }
            response
        }
        Err(failure) => page(&app, Place::Tables, "Download", Err(failure)),
    }
}

async fn about_url(app: &App, query: Option<&str>) -> Result<url_page::AboutUrl, Failure> {
    let params = params(query);
    let url = url_page::parse(needed(&params, "url")?)?;
    app.reading.read(READ, move |view, _| url_page::read(view, &url)).await
}

async fn show_url(
    State(app): Shared,
    Extension(name): Extension<HostName>,
    RawQuery(query): RawQuery,
) -> Answer {
    if params(query.as_deref()).get("url").is_none() {
        return page(&app, Place::Url, "Explain a URL", Ok(url_page::empty()));
    }
    let about = about_url(&app, query.as_deref()).await;
    let main = about.map(|about| {
        let frame = frame(&app, &name, &about);
        url_page::main(&about, frame.as_deref())
    });
    page(&app, Place::Url, "Explain a URL", main)
}

/// The address of the archived copy on the other origin.
fn frame(app: &App, name: &HostName, about: &url_page::AboutUrl) -> Option<String> {
    let is_shown = about.archived_type.as_deref().is_some_and(copies::is_shown);
    // An IPv6 address can't be named in a content security policy.
    if !is_shown || name.0.contains(['[', ':']) {
        return None;
    }
    let url = &about.explanation.url;
    let address = link(&format!("http://{}:{}/copy", name.0, app.copies_port), "url", url);
    Some(format!("{address}&signature={}", app.access.sign(COPY, url)))
}

async fn show_incoming(State(app): Shared, RawQuery(query): RawQuery) -> Answer {
    let params = params(query.as_deref());
    let main = match needed(&params, "url").and_then(url_page::parse) {
        Ok(url) => {
            let asked = url.clone();
            let found =
                app.reading.read(READ, move |view, until| url_page::linked_from(view, &asked, until)).await;
            found.map(|(found, more)| url_page::incoming(&url, &found, more))
        }
        Err(failure) => Err(failure),
    };
    page(&app, Place::Url, "Pages that link here", main)
}

async fn about_host(app: &App, query: Option<&str>) -> Result<host_page::AboutHost, Failure> {
    let params = params(query);
    let name = needed(&params, "host")?.to_owned();
    app.reading.read(READ, move |view, until| host_page::read(view, &name, until)).await
}

async fn show_host(State(app): Shared, RawQuery(query): RawQuery) -> Answer {
    let about = about_host(&app, query.as_deref()).await;
    page(&app, Place::Tables, "Host", about.map(|about| host_page::main(&about)))
}

async fn show_graph(State(app): Shared) -> Answer {
    let graph = app.graph(PAGE_PATIENCE).await;
    let mut answer = page(
        &app,
        Place::Graph,
        "Link graph",
        graph.map(|graph| graph::main(&graph.value, app.reading.served().argument())),
    );
    if answer.status() == StatusCode::SERVICE_UNAVAILABLE {
        // The page loads itself again.
        *answer.status_mut() = StatusCode::ACCEPTED;
    }
    answer
}

#[cfg(feature = "search")]
async fn search(app: &App, query: Option<&str>) -> (Params, Result<Option<crate::search::Found>, Failure>) {
    let params = params(query);
    let asked = params.clone();
    let found = app.reading.search(move |served| super::search_page::find(served.index(), &asked)).await;
    let root = app.reading.served().index().map(std::path::Path::to_owned);
    match (found, root) {
        (Ok(Some(mut found)), Some(root)) if found.is_behind => {
            let lacking = app.reading.work(move |view| super::search_page::lacking(&root, view)).await;
            // Where the crawl can't be read now, it is only said that the index may lack pages.
            found.lacking = lacking.unwrap_or(0);
            (params, Ok(Some(found)))
        }
        (found, _) => (params, found),
    }
}

#[cfg(feature = "search")]
async fn show_search(State(app): Shared, RawQuery(query): RawQuery) -> Answer {
    let (params, found) = search(&app, query.as_deref()).await;
    let status = found.as_ref().err().map_or(StatusCode::OK, |failure| failure.status);
    let main = super::search_page::main(&params, found.as_ref().map(Option::as_ref));
    html_page(status, app.frame().page(Place::Search, "Search", &main))
}

#[cfg(feature = "search")]
async fn api_search(State(app): Shared, RawQuery(query): RawQuery) -> Answer {
    let (_, found) = search(&app, query.as_deref()).await;
    let found = found.and_then(|found| found.ok_or_else(|| Failure::bad("the parameter q is missing")));
    api_answer(&app, found.map(|found| super::search_page::answer(&found)))
}

async fn archived(app: &App, params: &Params) -> Result<(page::url::CrawlUrl, copies::Copied), Failure> {
    let url = url_page::parse(needed(params, "url")?)?;
    let asked = url.clone();
    Ok((url, app.reading.read(READ, move |view, _| copies::read(view, &asked)).await?))
}

async fn download_copy(State(app): Shared, RawQuery(query): RawQuery) -> Answer {
    match archived(&app, &params(query.as_deref())).await {
        Ok((url, copied)) => copies::download(&url, copied),
        Err(failure) => page(&app, Place::Url, "Archived copy", Err(failure)),
    }
}

async fn framed_copy(
    State(app): Shared,
    Extension(name): Extension<HostName>,
    RawQuery(query): RawQuery,
) -> Answer {
    let params = params(query.as_deref());
    let url = params.get("url").unwrap_or_default();
    if !app.access.is_signed(COPY, url, params.get("signature").unwrap_or_default()) {
        return plain(&Failure::new(
            StatusCode::FORBIDDEN,
            "this address isn't signed: open the copy from the page of its URL",
        ));
    }
    let copied = archived(&app, &params).await.and_then(|(_, copied)| copies::framed(&name.0, copied));
    copied.unwrap_or_else(|failure| plain(&failure))
}

/// Only a server that was started for it takes orders.
fn may_control(app: &App) -> Result<(), Failure> {
    let what = "this server only reads: start it with --allow-control";
    if app.may_control { Ok(()) } else { Err(Failure::new(StatusCode::FORBIDDEN, what)) }
}

async fn order(app: &App, params: Params) -> Result<String, Failure> {
    may_control(app)?;
    let reading = Arc::clone(&app.reading);
    let given = tokio::task::spawn_blocking(move || {
        let root =
            reading.served().root().ok_or_else(|| Failure::bad("no crawl in a directory is served"))?;
        control::give(root, &params)
    });
    let given = given.await;
    given.unwrap_or_else(|error| Err(Failure::busy(error.to_string())))
}

async fn show_control(State(app): Shared) -> Answer {
    let main = may_control(&app).map(|()| control::main(&app.access.sign(control::FORM, ""), None));
    page(&app, Place::Control, "Control", main)
}

async fn do_control(State(app): Shared, body: Bytes) -> Answer {
    let params = Params::read(&body);
    if let Err(failure) = may_control(&app) {
        return page(&app, Place::Control, "Control", Err(failure));
    }
    if !app.access.is_signed(control::FORM, "", params.get("signature").unwrap_or_default()) {
        let failure =
            Failure::new(StatusCode::FORBIDDEN, "this form is of another run of the server: load it again");
        return page(&app, Place::Control, "Control", Err(failure));
    }
    let done = order(&app, params).await;
    let status = done.as_ref().err().map_or(StatusCode::OK, |failure| failure.status);
    let main = control::main(&app.access.sign(control::FORM, ""), Some(&done));
    html_page(status, app.frame().page(Place::Control, "Control", &main))
}

async fn api_control(State(app): Shared, body: Bytes) -> Answer {
    let done = order(&app, Params::read(&body)).await;
    api_answer(&app, done.map(|what| serde_json::json!({"v": 1, "done": what})))
}

fn login_page(app: &App, failed: bool) -> Answer {
    let main = maud::html! {
        h1 { "Sign in" }
        @if failed { div .notice role="alert" { p { "This isn't the token." } } }
        form .query action="/login" method="post" {
            div .field .wide {
                label for="token" { "Token" }
                input #token name="token" type="password" required autocomplete="current-password";
            }
            div .field .button { button type="submit" { "Sign in" } }
        }
        p .quiet { "It is the text of the file that the server was started with (" code { "--token-file" } ")." }
    };
    let status = if failed { StatusCode::UNAUTHORIZED } else { StatusCode::OK };
    html_page(status, app.frame().page(Place::Nowhere, "Sign in", &main))
}

async fn show_login(State(app): Shared) -> Answer {
    login_page(&app, false)
}

async fn do_login(State(app): Shared, body: Bytes) -> Answer {
    let params = Params::read(&body);
    if !params.get("token").is_some_and(|token| app.access.is_token(token)) {
        return login_page(&app, true);
    }
    let mut response = redirect("/");
    if let Some(cookie) = app.access.cookie().and_then(|cookie| HeaderValue::from_str(&cookie).ok()) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

async fn healthz(State(app): Shared) -> Answer {
    match app.reading.read(READ, |view, _| view.commits()).await {
        Ok(_) => answer(StatusCode::OK, "text/plain; charset=utf-8", "ok\n"),
        Err(failure) => plain(&Failure::busy(failure.what)),
    }
}

async fn show_metrics(State(app): Shared) -> Answer {
    let now = match app.now(api::PATIENCE).await {
        Ok(now) => now,
        Err(failure) => return plain(&failure),
    };
    match metrics::text(&now) {
        Ok(text) => answer(StatusCode::OK, metrics::TYPE, text),
        Err(error) => plain(&Failure::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())),
    }
}

async fn asset(State(app): Shared, method: Method, Path(name): Path<String>) -> Answer {
    let (kind, body) = match (method, name.as_str()) {
        (_, "style.css") => ("text/css; charset=utf-8", include_str!("assets/style.css")),
        (_, "app.js") => ("text/javascript; charset=utf-8", include_str!("assets/app.js")),
        (_, "icon.svg") => ("image/svg+xml", include_str!("assets/icon.svg")),
        _ => return refuse(&app, &Failure::not_found("there is nothing at this address"), false),
    };
    answer(StatusCode::OK, kind, body)
}

async fn openapi() -> Answer {
    answer(StatusCode::OK, "application/json", api::OPENAPI)
}

async fn api_status(State(app): Shared) -> Answer {
    api_answer(&app, app.now(api::PATIENCE).await)
}

async fn api_events(State(app): Shared) -> Answer {
    match events::stream(&app) {
        Ok(body) => answer(StatusCode::OK, events::TYPE, body),
        Err(failure) => refuse(&app, &failure, true),
    }
}

async fn api_summary(State(app): Shared) -> Answer {
    let summary = app.summary(api::PATIENCE).await;
    api_answer(&app, summary.and_then(|summary| api::counted(&summary)))
}

async fn api_activity(State(app): Shared) -> Answer {
    let activity = app.activity(api::PATIENCE).await;
    api_answer(&app, activity.and_then(|activity| api::counted(&activity)))
}

async fn api_graph(State(app): Shared) -> Answer {
    let graph = app.graph(api::PATIENCE).await;
    api_answer(&app, graph.and_then(|graph| api::counted(&graph)))
}

async fn api_tables() -> Answer {
    json(StatusCode::OK, &api::tables())
}

async fn api_table(State(app): Shared, Path(name): Path<String>, RawQuery(query): RawQuery) -> Answer {
    let params = params(query.as_deref());
    let rows = match table_query::table(&name) {
        Ok(table) => {
            let part = app
                .reading
                .read(READ, move |view, until| table_query::part(view, table, &params, &[], until));
            part.await.and_then(|part| api::part(table, &part))
        }
        Err(failure) => Err(failure),
    };
    match rows {
        Ok(rows) => answer(StatusCode::OK, "application/json", rows),
        Err(failure) => refuse(&app, &failure, true),
    }
}

async fn api_url(State(app): Shared, RawQuery(query): RawQuery) -> Answer {
    let about = about_url(&app, query.as_deref()).await;
    api_answer(&app, about.and_then(|about| api::object(&about)))
}

async fn api_host(State(app): Shared, RawQuery(query): RawQuery) -> Answer {
    let about = about_host(&app, query.as_deref()).await;
    api_answer(&app, about.and_then(|about| api::object(&about)))
}
