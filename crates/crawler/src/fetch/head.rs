//! The header section of a request, as sent and as archived.

use hyper::Method;
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, FROM, HOST, HeaderMap, HeaderName, HeaderValue,
    TRANSFER_ENCODING, USER_AGENT,
};
use url::{Position, Url};

use super::{FetchRequest, FetchSettings, SetupError};

/// The codings that [`decode`](super::decode) undoes.
const CODINGS: HeaderValue = HeaderValue::from_static("gzip, deflate, br, zstd");

/// The fields that tell who asks: the same in every request.
#[derive(Debug)]
pub(super) struct Identity {
    user_agent: HeaderValue,
    from: Option<HeaderValue>,
}

impl Identity {
    /// Reads the identity, which must be sendable: no control characters.
    pub(super) fn new(settings: &FetchSettings) -> Result<Self, SetupError> {
        let value = |field, text: &str| {
            HeaderValue::from_str(text).map_err(|_| SetupError::HeaderValue { field, value: text.to_owned() })
        };
        Ok(Self {
            user_agent: value("User-Agent", &settings.user_agent)?,
            from: settings.from.as_deref().map(|text| value("From", text)).transpose()?,
        })
    }

    /// Makes the header section for `request`.
    pub(super) fn fields(&self, request: &FetchRequest) -> HeaderMap {
        let mut fields = HeaderMap::with_capacity(8);
        if request.url.scheme() == "http" {
            // First, as RFC 9110 section 7.2 likes it. Over TLS the client adds it where HTTP/1.1 was agreed on.
            fields.extend(host_value(&request.url).map(|value| (HOST, value)));
        }
        fields.insert(USER_AGENT, self.user_agent.clone());
        fields.extend(self.from.clone().map(|from| (FROM, from)));
        fields.insert(ACCEPT, HeaderValue::from_static(request.purpose.accept()));
        fields.insert(ACCEPT_ENCODING, CODINGS);
        for (name, value) in &request.headers {
            let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) else {
                tracing::debug!(?name, "field can't be sent, omitted");
                continue;
            };
            if [HOST, CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING].contains(&name) {
                continue;
            }
            fields.insert(name, value);
        }
        fields
    }
}

/// Returns what of `url` goes over the network: no userinfo, no fragment.
pub(super) fn sent_url(url: &Url) -> Url {
    let mut url = url.clone();
    url.set_fragment(None);
    if !url.username().is_empty() || url.password().is_some() {
        // Both fail on URLs without a host only, which have no userinfo.
        let _ = url.set_username("");
        let _ = url.set_password(None);
    }
    url
}

/// Writes the request down in the form of HTTP/1.1.
pub(super) fn written(method: &Method, url: &Url, fields: &HeaderMap) -> Vec<u8> {
    let mut head = Vec::with_capacity(512);
    head.extend_from_slice(method.as_str().as_bytes());
    head.push(b' ');
    head.extend_from_slice(url[Position::BeforePath..Position::AfterQuery].as_bytes());
    head.extend_from_slice(b" HTTP/1.1\r\n");
    let mut field = |name: &[u8], value: &[u8]| {
        head.extend_from_slice(name);
        head.extend_from_slice(b": ");
        head.extend_from_slice(value);
        head.extend_from_slice(b"\r\n");
    };
    for (name, value) in fields {
        field(name.as_str().as_bytes(), value.as_bytes());
    }
    if !fields.contains_key(HOST) {
        // Where the client puts it.
        field(b"host", url[Position::BeforeHost..Position::AfterPort].as_bytes());
    }
    head.extend_from_slice(b"\r\n");
    head
}

fn host_value(url: &Url) -> Option<HeaderValue> {
    HeaderValue::from_str(&url[Position::BeforeHost..Position::AfterPort]).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::RequestKind;
    use crate::frontier::Permit;

    fn identity() -> Identity {
        let mut settings = FetchSettings::new("SuperRobot/1.0 (+https://example.org/)");
        settings.from = Some("robot@example.org".to_owned());
        Identity::new(&settings).unwrap()
    }

    #[test]
    fn a_request_says_who_asks_and_what_is_read() {
        let mut request = FetchRequest::new(
            &Permit::of_a_test(),
            "http://a.example:81/p?q#f".parse().unwrap(),
            RequestKind::Robots,
        );
        request.headers.push(("If-None-Match".to_owned(), "\"1\"".to_owned()));
        let text = written(&request.purpose.method(), &request.url, &identity().fields(&request));
        let expected = "GET /p?q HTTP/1.1\r\n\
            host: a.example:81\r\n\
            user-agent: SuperRobot/1.0 (+https://example.org/)\r\n\
            from: robot@example.org\r\n\
            accept: text/plain, */*;q=0.1\r\n\
            accept-encoding: gzip, deflate, br, zstd\r\n\
            if-none-match: \"1\"\r\n\r\n";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }

    #[test]
    fn fields_with_control_characters_and_transport_fields_are_omitted() {
        let mut request =
            FetchRequest::new(&Permit::of_a_test(), "http://a.example/".parse().unwrap(), RequestKind::Page);
        for (name, value) in [
            ("Referer", "http://b.example/\r\nCookie: a=b"),
            ("Ref\nerer", "x"),
            ("If-None-Match", "\"\u{1b}[31m\""),
            ("Host", "evil.example"),
            ("Transfer-Encoding", "chunked"),
        ] {
            request.headers.push((name.to_owned(), value.to_owned()));
        }
        let sent = identity().fields(&request);
        request.headers.clear();
        assert_eq!(sent, identity().fields(&request));
    }

    #[test]
    fn an_identity_that_would_break_the_header_section_is_refused() {
        for agent in ["a\r\nCookie: b", "a\0", "a\u{7f}"] {
            assert!(Identity::new(&FetchSettings::new(agent)).is_err(), "{agent:?}");
        }
    }

    #[test]
    fn userinfo_and_fragment_are_never_sent() {
        let url = "http://user:secret@a.example/p?q#frag".parse().unwrap();
        assert_eq!(sent_url(&url).as_str(), "http://a.example/p?q");
    }
}
