//! The frame of every HTML page. All text is escaped where it is put into a page (`maud`); nothing here takes HTML from elsewhere.

use axum::http::StatusCode;
use maud::{DOCTYPE, Markup, html};

use super::failure::Failure;
use super::params::link;
use page::clean::with_marks_escaped;

/// Where in the app a page lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Overview,
    Search,
    Tables,
    Url,
    Graph,
    Control,
    Nowhere,
}

/// What every page says of the server.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Frame<'a> {
    /// The crawl's directory.
    pub(super) dir: &'a str,
    /// Pausing and stopping are allowed here.
    pub(super) may_control: bool,
    /// Somebody has to give a token.
    pub(super) has_token: bool,
}

impl Frame<'_> {
    /// A whole page.
    pub(super) fn page(self, place: Place, title: &str, main: &Markup) -> Markup {
        let mut entries = vec![
            (Place::Overview, "/", "Overview"),
            (Place::Tables, "/tables", "Tables"),
            (Place::Url, "/url", "Explain"),
            (Place::Graph, "/graph", "Graph"),
        ];
        if cfg!(feature = "search") {
            entries.insert(1, (Place::Search, "/search", "Search"));
        }
        if self.may_control {
            entries.push((Place::Control, "/control", "Control"));
        }
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    meta name="robots" content="noindex, nofollow";
                    title { (shown(title)) " · crawl" }
                    link rel="icon" href="/assets/icon.svg" type="image/svg+xml";
                    link rel="stylesheet" href="/assets/style.css";
                    script src="/assets/app.js" defer {}
                }
                body {
                    a .skip href="#main" { "Skip to content" }
                    header {
                        div .top {
                            a .brand href="/" {
                                span .mark aria-hidden="true" { "crawl" }
                                span .dir { (self.dir) }
                            }
                            @if place != Place::Nowhere {
                                nav aria-label="Main" {
                                    ul {
                                        @for (of, href, name) in &entries {
                                            li { a href=(href) aria-current=[(*of == place).then_some("page")] { (name) } }
                                        }
                                    }
                                }
                            }
                        }
                    }
                    main #main tabindex="-1" { (main) }
                    footer {
                        p {
                            "Served by " code { "crawl serve" } " on this machine. "
                            @if place != Place::Nowhere {
                                a href="/api/v1/openapi.json" { "JSON API" } " · "
                                a href="/metrics" { "Metrics" }
                            }
                            @if self.has_token && place != Place::Nowhere {
                                " · " a href="/login" { "Sign out" }
                            }
                        }
                    }
                }
            }
        }
    }

    /// A page that says why there is no other one.
    pub(super) fn failure(self, place: Place, failure: &Failure) -> Markup {
        let title = failure.status.canonical_reason().unwrap_or("No answer");
        self.page(
            place,
            title,
            &html! {
                h1 { (title) }
                @let again = failure.status == StatusCode::SERVICE_UNAVAILABLE;
                div #live .notice role="alert" data-reload=[again.then_some("5000")] { p { (sentence(&failure.what)) } }
                p { a href="/" { "Back to the overview" } }
            },
        )
    }
}

/// Text from elsewhere as [`shown()`], and with a capital letter and a full stop.
pub(super) fn sentence(text: &str) -> String {
    let text = with_marks_escaped(text);
    let mut letters = text.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    let end = if text.ends_with(['.', '?', '!']) { "" } else { "." };
    format!("{first}{}{end}", letters.as_str())
}

/// A link to the page about a URL of the crawl; other text stays text.
pub(super) fn url_link(url: &str) -> Markup {
    html! {
        @if url.starts_with("http://") || url.starts_with("https://") {
            a .url href=(link("/url", "url", url)) { bdi { (shown(url)) } }
        } @else {
            bdi { (shown(url)) }
        }
    }
}

/// A link to the page about a host.
pub(super) fn host_link(host: &str) -> Markup {
    html! { a .url href=(link("/host", "host", host)) { bdi { (shown(host)) } } }
}

/// Text from the web as it may be shown: without control characters, and with those that reorder text escaped (`\u202e`). `bdi` around it keeps its
/// direction from its surroundings.
pub(super) fn shown(text: &str) -> String {
    with_marks_escaped(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_the_web_never_reorders_a_page() {
        let hostile = "http://a.test/\u{202e}fdp.exe";
        let page = Frame::default().page(
            Place::Url,
            hostile,
            &html! { (url_link(hostile)) (host_link(hostile)) (sentence(hostile)) },
        );
        let page = page.into_string();
        // In the query of a link it is percent-encoded.
        assert!(!page.contains('\u{202e}'), "{page}");
        assert_eq!(page.matches("\\u202efdp.exe").count(), 4, "{page}");
    }

    #[test]
    fn text_from_the_web_is_never_html() {
        let hostile = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>";
        let page = Frame::default().page(
            Place::Url,
            hostile,
            &html! {
                (url_link(&format!("http://a.test/{hostile}"))) (host_link(hostile)) (sentence(hostile))
            },
        );
        let page = page.into_string();
        assert!(!page.contains("<script>") && !page.contains("<img"), "{page}");
        assert_eq!(page.matches("<script src=\"/assets/app.js\"").count(), 1);
        // No other scheme becomes a link.
        assert!(!url_link("javascript:alert(1)").into_string().contains("href"));
    }
}
