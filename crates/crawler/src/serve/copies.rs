//! Archived copies: as a download, and for a frame without scripts on an origin of its own.

use axum::body::Body;
use axum::http::{HeaderValue, Response, header};
use bytes::Bytes;

use super::crawl_view::CrawlView;
use super::failure::Failure;
use page::url::CrawlUrl;

/// Types that a frame may show. Others are downloads.
const SHOWN: [&str; 7] = [
    "text/html",
    "application/xhtml+xml",
    "text/plain",
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
];

/// What a frame may do with a copy: nothing is run, and nothing is loaded but what is in the copy itself.
const POLICY: &str = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors ";

/// Whether a frame may show a type.
pub(super) fn is_shown(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    SHOWN.contains(&essence.as_str())
}

/// An archived body.
#[derive(Debug)]
pub(super) struct Copied {
    body: Bytes,
    content_type: String,
}

/// Reads the archived body of a URL.
pub(super) fn read(view: &CrawlView, url: &CrawlUrl) -> Result<Copied, Failure> {
    let none = || Failure::not_found("no copy of this URL is archived");
    let view = view.of_host(url.host());
    let visit = view.visit(url)?.ok_or_else(none)?;
    if let Some(file) = view.archived_elsewhere(&visit.record) {
        let file = page::clean::clean(file);
        let what = format!(
            "the copy is in {file}, which isn't in any directory that this server was given with --warc"
        );
        return Err(Failure::not_found(what));
    }
    let stored =
        view.archived(&visit.record).map_err(|error| Failure::busy(crate::causes::with_causes(&error)))?;
    let stored = stored.ok_or_else(none)?;
    let content_type = stored.headers.iter().find(|(name, _)| name == "content-type");
    let content_type = content_type.map(|(_, value)| value.clone()).unwrap_or_default();
    Ok(Copied { body: stored.body, content_type })
}

/// The copy as a file, which no browser shows.
pub(super) fn download(url: &CrawlUrl, copied: Copied) -> Response<Body> {
    let mut response = Response::new(Body::from(copied.body));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    let name = format!("attachment; filename=\"{}\"", file_name(url));
    if let Ok(name) = HeaderValue::from_str(&name) {
        headers.insert(header::CONTENT_DISPOSITION, name);
    }
    response
}

/// The copy for a frame of pages that were asked for under `host`.
pub(super) fn framed(host: &str, copied: Copied) -> Result<Response<Body>, Failure> {
    if !is_shown(&copied.content_type) {
        return Err(Failure::bad("a copy of this type isn't shown, only downloaded"));
    }
    let mut response = Response::new(Body::from(copied.body));
    let headers = response.headers_mut();
    let bad = || Failure::bad("a copy of this type isn't shown, only downloaded");
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_str(&copied.content_type).map_err(|_| bad())?);
    let policy = format!("{POLICY}http://{host}:*");
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_str(&policy).map_err(|_| bad())?);
    headers.insert("x-dns-prefetch-control", HeaderValue::from_static("off"));
    Ok(response)
}

/// A name for the file: the last part of the path, as far as it is letters, digits, `.`, `-` and `_`.
fn file_name(url: &CrawlUrl) -> String {
    let path = url.path_and_query().split('?').next().unwrap_or_default();
    let last = path.rsplit('/').next().unwrap_or_default();
    let name: String =
        last.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_')).take(80).collect();
    let name = name.trim_start_matches('.');
    if name.is_empty() { "page.html".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_file_is_plain() {
        for (url, expected) in [
            ("http://a.test/", "page.html"),
            ("http://a.test/x/report.pdf?y=../../z", "report.pdf"),
            ("http://a.test/..%2f..%2fetc%2fpasswd", "2f..2fetc2fpasswd"),
            ("http://a.test/%22;filename=x.exe", "22filenamex.exe"),
            ("http://a.test/.bashrc", "bashrc"),
        ] {
            assert_eq!(file_name(&CrawlUrl::parse(url).expect("a URL")), expected, "{url}");
        }
    }

    #[test]
    fn only_types_without_a_program_in_them_are_shown() {
        assert!(is_shown("text/html; charset=utf-8") && is_shown("IMAGE/PNG"));
        for kind in ["image/svg+xml", "application/pdf", "text/javascript", "application/xml", ""] {
            assert!(!is_shown(kind), "{kind}");
        }
    }
}
