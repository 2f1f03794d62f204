//! Who may ask: names under which the server answers, pages that may send requests to it, and the token.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, HeaderName, Method, StatusCode, Uri, header};
use blake3::Hash;

use super::failure::Failure;

/// The longest query and path, in bytes.
pub(super) const URI_BYTES: usize = 8 * 1024;

/// The cookie of those who have given the token.
const COOKIE: &str = "crawl_session";

/// The fewest characters of a token.
pub(super) const TOKEN_CHARACTERS: usize = 16;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

/// What is asked of a request before anything is done for it.
pub(super) struct Access {
    is_loopback: bool,
    /// Further names, in lower case.
    names: Vec<String>,
    /// The token's hash under the key.
    token: Option<Hash>,
    /// New in each process: what is signed with it is forgotten when the process ends.
    key: [u8; 32],
}

impl Access {
    pub(super) fn new(listen: SocketAddr, names: &[String], token: Option<&str>) -> Self {
        let mut key = [0; 32];
        for half in key.chunks_exact_mut(16) {
            half.copy_from_slice(uuid::Uuid::new_v4().as_bytes());
        }
        let names = names.iter().map(|name| name.to_ascii_lowercase()).collect();
        let token = token.map(|token| blake3::keyed_hash(&key, token.as_bytes()));
        Self { is_loopback: listen.ip().is_loopback(), names, token, key }
    }

    /// A signature that only this process can make.
    pub(super) fn sign(&self, what: &str, of: &str) -> String {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(what.as_bytes()).update(b"\0").update(of.as_bytes());
        hasher.finalize().to_hex().to_string()
    }

    /// Whether a signature is that of [`Access::sign`].
    pub(super) fn is_signed(&self, what: &str, of: &str, signature: &str) -> bool {
        let expected = Hash::from_hex(self.sign(what, of));
        // Hashes are compared in constant time.
        matches!((expected, Hash::from_hex(signature)), (Ok(expected), Ok(signature)) if expected == signature)
    }

    /// Checks the form of a request, the name it was sent to, and the page that it comes from. Returns the host's name, without port.
    pub(super) fn check(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<String, Failure> {
        if ![Method::GET, Method::HEAD, Method::POST].contains(method) {
            return Err(Failure::new(StatusCode::METHOD_NOT_ALLOWED, "only GET, HEAD and POST are answered"));
        }
        if uri.path_and_query().map_or(0, |path| path.as_str().len()) > URI_BYTES {
            let what = format!("a path with its query may have {URI_BYTES} bytes");
            return Err(Failure::new(StatusCode::URI_TOO_LONG, what));
        }
        let mut hosts = headers.get_all(header::HOST).iter();
        let (Some(host), None) = (hosts.next().and_then(|host| host.to_str().ok()), hosts.next()) else {
            return Err(Failure::bad("a request needs one Host header"));
        };
        if uri.authority().is_some_and(|authority| authority.as_str() != host) {
            return Err(Failure::bad("the Host header differs from the URL"));
        }
        let name = name_of(host);
        if !self.answers_as(&name) {
            let what = format!(
                "this server doesn't answer as {}: use its address, or start it with --name",
                page::clean::clean_to(&name, 100)
            );
            return Err(Failure::new(StatusCode::MISDIRECTED_REQUEST, what));
        }
        check_source(method, headers, host)?;
        Ok(name)
    }

    /// A page on another site can make a browser send requests here under a name of its own, which it lets point to this machine. So
    /// only addresses, `localhost` and names that were given are answered.
    fn answers_as(&self, name: &str) -> bool {
        let bare = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(name);
        match bare.parse::<IpAddr>() {
            Ok(address) => {
                !self.is_loopback || address.is_loopback() || self.names.iter().any(|known| known == name)
            }
            Err(_) => name == "localhost" || self.names.iter().any(|known| known == name),
        }
    }

    /// Whether the token was given, where one is needed.
    pub(super) fn knows(&self, headers: &HeaderMap) -> bool {
        let Some(token) = self.token else { return true };
        let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let bearer = bearer.and_then(|value| value.split_once(' '));
        if let Some((scheme, given)) = bearer
            && scheme.eq_ignore_ascii_case("bearer")
        {
            return self.is_token(given.trim());
        }
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs =
            cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.any(|(name, value)| name == COOKIE && self.is_signed("session", &token.to_hex(), value))
    }

    /// Whether this is the token.
    pub(super) fn is_token(&self, given: &str) -> bool {
        self.token.is_some_and(|token| token == blake3::keyed_hash(&self.key, given.as_bytes()))
    }

    /// The cookie of someone who gave the token.
    pub(super) fn cookie(&self) -> Option<String> {
        let value = self.sign("session", &self.token?.to_hex());
        Some(format!("{COOKIE}={value}; HttpOnly; SameSite=Strict; Path=/"))
    }
}

/// The name in a Host header, without port.
fn name_of(host: &str) -> String {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.is_empty() => name,
        _ => host,
    };
    name.to_ascii_lowercase()
}

/// Refuses requests that a page of another origin sends: what changes something, and everything that isn't a link that somebody follows.
fn check_source(method: &Method, headers: &HeaderMap, host: &str) -> Result<(), Failure> {
    let text = |name: &HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let forbidden =
        || Err(Failure::new(StatusCode::FORBIDDEN, "requests from pages of another origin aren't answered"));
    let origin = text(&header::ORIGIN);
    if let Some(origin) = origin {
        let of = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        if of != Some(host) {
            return forbidden();
        }
    }
    let site = text(&SEC_FETCH_SITE);
    let is_followed = *method != Method::POST && text(&SEC_FETCH_MODE) == Some("navigate");
    if matches!(site, Some(site) if !matches!(site, "same-origin" | "none")) && !is_followed {
        return forbidden();
    }
    if *method == Method::POST
        && origin.is_none()
        && site != Some("same-origin")
        && headers.contains_key(header::COOKIE)
    {
        return forbidden();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(listen: &str, names: &[&str]) -> Access {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        Access::new(listen.parse().expect("an address"), &names, Some("0123456789abcdef"))
    }

    #[test]
    fn names_that_somebody_else_may_own_are_not_answered() {
        let loopback = access("127.0.0.1:8470", &["Crawl.Example.org"]);
        for (host, expected) in [
            ("127.0.0.1:8470", true),
            ("localhost:9000", true),
            ("[::1]:8470", true),
            ("LOCALHOST", true),
            ("crawl.example.org", true),
            ("192.0.2.7:8470", false),
            ("evil.example:8470", false),
            ("localhost.evil.example", false),
            ("127.0.0.1.evil.example:8470", false),
            ("", false),
        ] {
            assert_eq!(loopback.answers_as(&name_of(host)), expected, "{host}");
        }
        assert!(access("192.0.2.7:8470", &[]).answers_as("192.0.2.7"));
        assert!(!access("192.0.2.7:8470", &[]).answers_as("evil.example"));
    }

    #[test]
    fn a_token_is_known_by_header_or_cookie() {
        let access = access("127.0.0.1:1", &[]);
        let headers = |name: HeaderName, value: &str| {
            HeaderMap::from_iter([(name, value.parse().expect("a header value"))])
        };
        assert!(access.knows(&headers(header::AUTHORIZATION, "Bearer 0123456789abcdef")));
        assert!(!access.knows(&headers(header::AUTHORIZATION, "Bearer 0123456789abcdeF")));
        assert!(!access.knows(&HeaderMap::new()));
        let cookie = access.cookie().expect("a cookie");
        let cookie = cookie.split(';').next().expect("a pair");
        assert!(access.knows(&headers(header::COOKIE, &format!("a=b; {cookie}"))));
        // The cookie isn't the token, and that of another process isn't valid.
        assert!(!cookie.contains("0123456789abcdef"));
        let other = Access::new(([127, 0, 0, 1], 1).into(), &[], Some("0123456789abcdef"));
        assert!(!other.knows(&headers(header::COOKIE, cookie)));
    }
}
