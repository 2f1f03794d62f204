//! Resolving the references of a page.

use url::{Position, Url};

use super::CrawlUrl;
use super::plain::{self, Ends, Path};

/// Resolves a reference as the URL standard says; `encoding` is that of its query.
pub fn resolve(
    base: &Url,
    reference: &str,
    encoding: url::EncodingOverride<'_>,
) -> Result<Url, url::ParseError> {
    let options = Url::options().base_url(Some(base)).encoding_override(encoding);
    match options.parse(reference) {
        Err(error @ url::ParseError::EmptyHost) => {
            with_two_slashes(base, reference).map_or(Err(error), |reference| options.parse(&reference))
        }
        parsed => parsed,
    }
}

/// A reference whose host follows more than two slashes, with two of them: `///host/path`. The standard passes over the others (4.4,
/// "special authority ignore slashes state"), the parser takes the third one for the end of an empty host.
fn with_two_slashes(base: &Url, reference: &str) -> Option<String> {
    const SPECIAL: [&str; 5] = ["http", "https", "ftp", "ws", "wss"];
    let is_slash = |c: char| matches!(c, '/' | '\\');
    let reference = reference.trim_start_matches(|c: char| c <= ' ');
    // Tabs and line ends count nowhere in a URL.
    let rest = reference.trim_start_matches(|c: char| is_slash(c) || matches!(c, '\t' | '\n' | '\r'));
    let slashes = reference[..reference.len() - rest.len()].chars().filter(|c| is_slash(*c)).count();
    (slashes > 2 && SPECIAL.contains(&base.scheme())).then(|| format!("//{rest}"))
}

/// What the references of a page are resolved against.
#[derive(Debug)]
pub struct Base<'a> {
    url: &'a Url,
    /// Scheme, host and port, where nothing of the base would have to be dropped.
    origin: Option<&'a str>,
    /// They and the path.
    page: &'a str,
    /// They and the path up to its last `/`.
    directory: &'a str,
    ends: Ends,
}

impl<'a> Base<'a> {
    /// A base. Any URL may be one.
    pub fn new(url: &'a Url) -> Self {
        let is_known = matches!(url.scheme(), "http" | "https")
            && url.username().is_empty()
            && url.password().is_none()
            && url.host_str().is_some_and(|host| !host.ends_with('.'));
        let origin = &url[..Position::BeforePath];
        let path = url.path();
        let directory = origin.len() + memchr::memrchr(b'/', path.as_bytes()).map_or(0, |at| at + 1);
        let ends = Ends { host: url[..Position::AfterHost].len() as u32, authority: origin.len() as u32 };
        let (page, directory) = (&url[..Position::AfterPath], &url.as_str()[..directory]);
        Self { url, origin: is_known.then_some(origin), page, directory, ends }
    }

    /// Resolves a reference; `encoding` is that of the page, in which queries are written. What the parser can read and the crawler can't request
    /// is the second kind of error.
    pub fn join(
        &self,
        reference: &str,
        encoding: url::EncodingOverride<'_>,
    ) -> Result<Result<CrawlUrl, Url>, url::ParseError> {
        let mut text = String::new();
        let joined = self.join_to(reference, encoding, &mut text)?;
        Ok(joined.map(|Joined { ends }| CrawlUrl { text: text.into(), ends }))
    }

    /// As [`Base::join`], for many references: appends the URL to a text, which [`CrawlUrl::at`] gives when it has all of them. With an error
    /// nothing is appended.
    pub fn join_to(
        &self,
        reference: &str,
        encoding: url::EncodingOverride<'_>,
        texts: &mut String,
    ) -> Result<Result<Joined, Url>, url::ParseError> {
        if let Some(Plain { start, end, path, ends }) = self.join_plain(reference) {
            let root = texts.len() + ends.authority as usize;
            texts.push_str(start);
            match path {
                Path::Plain => texts.push_str(end),
                Path::Dots => plain::push_without_dots(texts, root, end),
            }
            return Ok(Ok(Joined { ends }));
        }
        let url = resolve(self.url, reference, encoding)?;
        Ok(CrawlUrl::try_from_url(url).map(|CrawlUrl { text, ends }| {
            texts.push_str(&text);
            Joined { ends }
        }))
    }

    /// What the parser would only put together.
    fn join_plain<'b>(&'b self, reference: &'b str) -> Option<Plain<'b>> {
        let origin = self.origin?;
        let reference = memchr::memchr(b'#', reference.as_bytes()).map_or(reference, |end| &reference[..end]);
        let behind =
            |start| Some(Plain { start, end: reference, path: plain::path(reference)?, ends: self.ends });
        match *reference.as_bytes() {
            [] | [b'/', b'/', ..] => None,
            [b'?', ..] => behind(self.page),
            [b'/', ..] => behind(origin),
            [b'h', b't', b't', b'p', ..] if reference.contains(':') => {
                if let Some(path) = reference.strip_prefix(origin).filter(|rest| rest.starts_with('/')) {
                    return Some(Plain {
                        start: origin,
                        end: path,
                        path: plain::path(path)?,
                        ends: self.ends,
                    });
                }
                let ends = plain::absolute(reference)?;
                Some(Plain { start: "", end: reference, path: Path::Plain, ends })
            }
            // What has a colon may have a scheme.
            _ if reference.contains(':') => None,
            _ => behind(self.directory),
        }
    }
}

/// A URL in two parts.
struct Plain<'a> {
    start: &'a str,
    end: &'a str,
    /// What has to be done to the second part.
    path: Path,
    ends: Ends,
}

/// A URL that was appended to a text.
#[derive(Debug, Clone, Copy)]
pub struct Joined {
    pub(super) ends: Ends,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_text::SharedTexts;
    use crate::url::UrlError;

    /// What the parser makes of a reference, taken through its own parts.
    fn by_the_parser(base: &Url, reference: &str) -> Option<Result<CrawlUrl, Url>> {
        Some(CrawlUrl::try_from_url(resolve(base, reference, None).ok()?))
    }

    fn assert_parts(url: &CrawlUrl) {
        let parsed = Url::parse(url.as_str()).unwrap();
        assert_eq!(parsed.as_str(), url.as_str());
        assert_eq!(url.to_url(), parsed);
        assert_eq!(url.host(), parsed.host_str().unwrap());
        assert_eq!(url.scheme().as_str(), parsed.scheme());
        assert_eq!(url.port(), parsed.port());
        assert_eq!(url.path(), parsed.path());
        assert_eq!(url.path_and_query(), &parsed[Position::BeforePath..]);
    }

    #[test]
    fn references_are_resolved_as_the_parser_does() {
        let bases = [
            "http://a.example/d/e/page.html?q=1#f",
            "http://a.example/d//e",
            "http://a.example//",
            "http://a.example/d///",
            "http://a.example:8080/",
            "https://10.0.0.1/x/",
            "https://[::1]:8443/x/y",
            "http://me:secret@a.example/x/",
            "http://a.example./x/",
            "ftp://a.example/x/y",
            "data:text/html,x",
        ];
        let references = [
            "",
            "#f",
            "?q",
            "?q=ä",
            "/",
            "//b.example/x",
            "//b.example",
            "/x",
            "/x?y=1#z",
            "x",
            "x/y.html?a=b/../c",
            "../x",
            "./x",
            "x/..",
            "..",
            ".",
            "./",
            "../",
            "..//x",
            ".././x?y=../z",
            "../../../x",
            "..x",
            ".x",
            "..?x",
            "../x:y",
            "../%2e",
            "../x/../y",
            "?x=y",
            "?x'y",
            "x/.",
            "x/../y",
            "/../x",
            "/./x",
            "/.x",
            "/%2e%2E/x",
            "/x/%2E",
            "x%2ey",
            "/a b",
            "/ä",
            "/x'y?a'b",
            "/x|y",
            "/x[y]",
            "/x^y",
            "x\\y",
            "/\\b",
            "/\tb",
            "http:x",
            "http:/x",
            "http:///x",
            "http://",
            "http://b.example",
            "http://b.example/",
            "HTTP://b.example/",
            "http://B.example/",
            "http://b.example./",
            "http://b..example/",
            "http://.b/",
            "http://b.example:80/",
            "http://b.example:081/",
            "http://b.example:/",
            "http://b.example:65536/",
            "https://b.example:443/",
            "https://b.example:80/",
            "http://me@b.example/",
            "http://b.example/a/../b",
            "http://b.example//x",
            "http://a.example/d?x",
            "http://a.example:8080//y",
            "http://1/",
            "http://1.2.3/",
            "http://1.2.3.4/",
            "http://01.2.3.4/",
            "http://b.0x1/",
            "http://b.1/",
            "http://1.b/",
            "http://xn--/",
            "http://xn--mnchen-3ya.de/",
            "http://a--b.example/",
            "http://-b.example/",
            "http://b_c.example/",
            "http://b%2ec/",
            "httpd/x",
            "https",
            "x:y",
            "mailto:a@b.example",
            "http://[::1]/x",
            "http://b.example?x",
            "http://b.example/x?",
            "/x?",
            "x?",
            "*",
            "&a",
            ";a",
            "%41",
            "@x",
            "~x",
        ];
        let mut texts = String::new();
        let mut joined = Vec::new();
        for base in bases {
            let base = Url::parse(base).unwrap();
            for reference in references {
                let start = texts.len();
                match Base::new(&base).join_to(reference, None, &mut texts) {
                    Ok(Ok(url)) => joined.push((url, start..texts.len(), base.clone(), reference)),
                    _ => assert_eq!(texts.len(), start),
                }
                let found = Base::new(&base).join(reference, None).ok();
                assert_eq!(found, by_the_parser(&base, reference), "{reference} on {base}");
                let parsed = Url::parse(reference).map_err(UrlError::Syntax).and_then(CrawlUrl::from_url);
                assert_eq!(CrawlUrl::parse(reference), parsed, "{reference}");
                if let Some(Ok(url)) = found {
                    assert_parts(&url);
                }
            }
        }
        let texts = SharedTexts::new(texts);
        assert!(joined.len() > 300);
        for (url, bytes, base, reference) in joined {
            let url = CrawlUrl::at(&texts, bytes, url);
            assert_parts(&url);
            assert_eq!(Base::new(&base).join(reference, None).unwrap(), Ok(url), "{reference} on {base}");
        }
    }

    #[test]
    fn plain_references_do_not_need_the_parser() {
        let base = Url::parse("http://a.example:8080/d/page.html").unwrap();
        let base = Base::new(&base);
        for (reference, expected) in [
            ("/x/y.html?a=1&b=2#z", "http://a.example:8080/x/y.html?a=1&b=2"),
            ("next.html", "http://a.example:8080/d/next.html"),
            ("./next.html", "http://a.example:8080/d/next.html"),
            ("../next.html", "http://a.example:8080/next.html"),
            (".././../next/", "http://a.example:8080/next/"),
            ("..", "http://a.example:8080/"),
            ("/x/../y/./z/..", "http://a.example:8080/y/"),
            ("x/../../../y/.z..", "http://a.example:8080/y/.z.."),
            ("?page=2#top", "http://a.example:8080/d/page.html?page=2"),
            ("http://a.example:8080//x", "http://a.example:8080//x"),
            ("http://a.example:8080/x/../y", "http://a.example:8080/y"),
            ("https://www.b.example/x%C3%A4", "https://www.b.example/x%C3%A4"),
            ("http://127.0.0.1:81/x", "http://127.0.0.1:81/x"),
        ] {
            assert!(base.join_plain(reference).is_some(), "{reference}");
            assert_eq!(base.join(reference, None).unwrap().unwrap().as_str(), expected);
        }
    }

    /// Source: URL standard 4.4, "relative slash state" and the two after it.
    #[test]
    fn a_host_stands_behind_any_number_of_slashes() {
        let base = Url::parse("https://a.example/d/e").unwrap();
        for reference in [
            "///b.example/x",
            "////b.example/x",
            "//\\b.example/x",
            "\\\\\\b.example/x",
            " \n/\t//b.example/x",
            "/\\/b.example/x",
            "https:///b.example/x",
        ] {
            let found = Base::new(&base).join(reference, None).unwrap().unwrap();
            assert_eq!(found.as_str(), "https://b.example/x", "{reference:?}");
            assert_eq!(CrawlUrl::join(&base, reference).unwrap(), found);
        }
        for reference in ["///", "////", "//", "///?q"] {
            assert!(Base::new(&base).join(reference, None).is_err(), "{reference}");
        }
        let file = Url::parse("file:///d/e").unwrap();
        assert_eq!(resolve(&file, "///b.example/x", None).unwrap().as_str(), "file:///b.example/x");
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(5000))]

        #[test]
        fn any_reference_is_resolved_as_the_parser_does(
            base in proptest::sample::select(&["http://a.example/d/p?q", "https://a.example:8443/", "http://1.2.3.4/d/", "http://a.example/d//e/f"][..]),
            pieces in proptest::collection::vec(proptest::sample::select(&[
                "http://", "https://", "http:", "//", "/", "/", ".", "..", "%2e", "%2E", "%", "%C3%A4", "a", "b.c", "x-y", "--", "xn--", "A", "1", "0x",
                "01", ":", ":80", ":443", ":8443", "?", "#", "@", "a.example", "1.2.3.4", "ä", " ", "\t", "\\", "'", "\"", "<", "[", "]", "|", "^", "`",
                "{", "&", "=", ";", "+", "~", "_", "*", "!", "$", "(", ",",
            ][..]), 0..9),
        ) {
            let base = Url::parse(base).unwrap();
            let reference = pieces.concat();
            let found = Base::new(&base).join(&reference, None).ok();
            proptest::prop_assert_eq!(&found, &by_the_parser(&base, &reference), "{}", reference);
            let parsed = Url::parse(&reference).map_err(UrlError::Syntax).and_then(CrawlUrl::from_url);
            proptest::prop_assert_eq!(CrawlUrl::parse(&reference), parsed);
            if let Some(Ok(url)) = found {
                assert_parts(&url);
            }
        }
    }
}
