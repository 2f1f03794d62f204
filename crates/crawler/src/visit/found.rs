//! The links of a page, and which of them may be followed.

use meta::{Source, SourceKind, Warning};
use robots::StatusClass;
use serde::Serialize;
use url::Url;

use super::kept::Kept;
use super::rules::PageRules;
use crate::fetch::Response;
use crate::record::{LinkOutcome, LinkRecord, names_the_page};
use page::clean::{into_without_controls, without_controls};
use page::extract::{self, LinkKind, Position};
use page::shared_text::SharedText;
use page::url::{CrawlUrl, Fingerprint, FingerprintKey, resolve};

/// A link as found, with what the page's layer says about it.
#[derive(Debug, Serialize)]
pub struct FoundLink {
    /// The target and its fingerprint, or the reference as written where it is no http URL.
    pub target: Result<(CrawlUrl, Fingerprint), String>,
    /// The URL that the target stands for, where that is another one; the fingerprint is this one's.
    pub normal: Option<CrawlUrl>,
    /// The element's name.
    pub kind: &'static str,
    /// `rel` as written; empty where it may not be kept.
    pub rel: String,
    /// The words of `rel` that decide about a link, which are the same on every page: `nofollow`, `stylesheet` ...
    pub rel_words: Vec<&'static str>,
    /// Anchor text; empty where it may not be kept.
    pub text: SharedText,
    /// Its part of the page; none if it may not be stored.
    pub position: Option<Position>,
    /// `hreflang` as written; none where it may not be kept.
    pub hreflang: Option<String>,
    /// It leads to a resource that the page needs to be shown, and not to another page.
    pub is_resource: bool,
    /// The author forbids to follow it.
    pub nofollow: bool,
    /// Set where the link is not to be queued.
    pub skip: Option<LinkOutcome>,
}

impl FoundLink {
    /// Whether it is the target of a redirect.
    pub fn is_redirect(&self) -> bool {
        self.kind == "redirect"
    }

    /// What tells its target from others: its fingerprint, or a hash of the reference where it is no http URL.
    pub fn mark(&self) -> Fingerprint {
        match &self.target {
            Ok((_, fingerprint)) => *fingerprint,
            Err(text) => {
                let hash = blake3::hash(text.as_bytes());
                Fingerprint(hash.as_bytes()[..8].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
            }
        }
    }

    /// What of it is stored that differs from page to page.
    pub(super) fn stored_part(&self) -> impl Serialize + '_ {
        let to = self.target.as_ref().map_or_else(String::as_str, |(url, _)| url.as_str());
        (to, self.kind, &self.rel, &self.text, self.nofollow, 0_u8, self.position, &self.hreflang)
    }

    /// The URL that it leads to, as the crawl knows it, with its fingerprint.
    pub fn known(&self) -> Option<(&CrawlUrl, Fingerprint)> {
        let (url, fingerprint) = self.target.as_ref().ok()?;
        Some((self.normal.as_ref().unwrap_or(url), *fingerprint))
    }

    /// Lets it lead to another URL, which the target stands for.
    pub fn stands_for(&mut self, normal: CrawlUrl, key: &FingerprintKey) {
        if let Ok((_, fingerprint)) = &mut self.target {
            *fingerprint = normal.fingerprint(key);
            self.normal = Some(normal);
        }
    }

    /// The link as it is stored, with what became of it.
    pub fn into_record(self, outcome: LinkOutcome) -> LinkRecord {
        LinkRecord {
            to: match self.target {
                Ok((url, _)) => url.into(),
                Err(text) => text.into(),
            },
            kind: self.kind.into(),
            rel: self.rel,
            text: self.text,
            nofollow: self.nofollow,
            outcome,
            position: self.position,
            hreflang: self.hreflang,
        }
    }
}

/// Where a response redirects to; the reference as written, of any length, where that is no http URL.
pub(super) fn redirect_target(url: &CrawlUrl, response: &Response) -> Option<Result<CrawlUrl, String>> {
    if !StatusClass::of(response.status).is_redirect() {
        return None;
    }
    let location = response.reference("location")?;
    Some(CrawlUrl::join(&url.to_url(), &location).map_err(|_| location.into_owned()))
}

/// A redirect's target as a link.
pub(super) fn redirect_link(
    rules: &PageRules,
    target: &Result<CrawlUrl, String>,
    of_resource: bool,
) -> FoundLink {
    let skip = target.as_ref().err().map(|_| LinkOutcome::NotHttp);
    let normal = target.as_ref().ok().filter(|_| !of_resource).and_then(|url| rules.costly.normal(url));
    let target = target.clone().map(|url| {
        let fingerprint = normal.as_ref().unwrap_or(&url).fingerprint(&rules.key);
        (url, fingerprint)
    });
    FoundLink {
        target,
        normal,
        kind: "redirect",
        rel: String::new(),
        rel_words: Vec::new(),
        text: SharedText::default(),
        position: None,
        hreflang: None,
        is_resource: false,
        nofollow: false,
        skip,
    }
}

/// False for what a page whose content may not be kept leaves no link of: its own address elsewhere, and what is no URL.
pub(super) fn is_kept_without_content(link: &extract::Link) -> bool {
    link.target.is_ok() && !names_the_page(link.kind.name(), link.rel.as_str())
}

/// Tells of links whose `rel` isn't words split at blanks and forbids to follow them all the same.
pub(super) fn rel_warning(links: &[extract::Link]) -> Option<Warning> {
    let is_odd = |link: &&extract::Link| link.nofollow && meta::link_rel(link.rel.as_str()).malformed;
    let mut odd = links.iter().filter(is_odd);
    let first = odd.next()?;
    let count = 1 + odd.count();
    let message =
        format!("non-standard rel, honoured on {count} {}", if count == 1 { "link" } else { "links" });
    Some(Warning { message, source: Source::new(SourceKind::Link, 0, "rel", first.rel.as_str()) })
}

/// The targets of `Refresh` header lines, as links like those of the meta form: against the URL of the response, whatever its
/// content type. What the page names too is taken from the page.
pub(super) fn refresh_links(
    rules: &PageRules,
    url: &Url,
    headers: &[(String, String)],
    follow: bool,
    others: &[FoundLink],
    kept: &mut Kept<'_>,
) -> Vec<FoundLink> {
    let fields = headers.iter().filter(|(name, _)| name == "refresh");
    let targets = fields.filter_map(|(_, value)| meta::Refresh::parse(value)?.url);
    let mut links: Vec<FoundLink> = Vec::new();
    for address in targets.filter(|address| address.len() <= rules.limits.href_bytes) {
        let target = match resolve(url, &address, None) {
            Ok(url) if !matches!(url.scheme(), "http" | "https") => continue,
            Ok(url) => CrawlUrl::try_from_url(url).map_err(String::from),
            Err(_) => Err(address),
        };
        let link = extract::Link {
            kind: LinkKind::Refresh,
            target,
            rel: extract::Rel::default(),
            nofollow: false,
            text: SharedText::default(),
            hreflang: None,
            is_image: false,
            position: None,
        };
        let link = found(rules, link, follow, true, false, kept);
        let is_same = |other: &FoundLink| other.kind == link.kind && other.target == link.target;
        if !others.iter().chain(&links).any(is_same) {
            links.push(link);
        }
    }
    links
}

/// What a page's layer lets become of a link in it.
pub(super) fn found(
    rules: &PageRules,
    link: extract::Link,
    follow: bool,
    imageindex: bool,
    keep_text: bool,
    kept: &mut Kept<'_>,
) -> FoundLink {
    let (is_navigational, is_resource) = (link.is_navigational(), link.is_resource());
    let normal = link.target.as_ref().ok().filter(|_| is_navigational);
    let normal = normal.and_then(|url| rules.costly.normal(url));
    let target = match link.target {
        Ok(url) => {
            let fingerprint = normal.as_ref().unwrap_or(&url).fingerprint(&rules.key);
            Ok((url, fingerprint))
        }
        Err(text) => Err(kept.reference(&text)),
    };
    let skip = if target.is_err() {
        Some(LinkOutcome::NotHttp)
    } else if !follow {
        Some(LinkOutcome::PageNofollow)
    } else if link.nofollow {
        Some(LinkOutcome::RelNofollow)
    } else if !(is_navigational || rules.resources && is_resource) {
        Some(LinkOutcome::Resource)
    } else if link.is_image && !imageindex {
        Some(LinkOutcome::NoImageIndex)
    } else {
        None
    };
    FoundLink {
        target,
        normal,
        kind: link.kind.name(),
        rel: if keep_text { without_controls(link.rel.as_str()).into_owned() } else { String::new() },
        rel_words: link.rel.deciding_words(),
        text: if keep_text { into_without_controls(link.text) } else { SharedText::default() },
        position: link.position.filter(|_| keep_text),
        hreflang: link.hreflang.filter(|_| keep_text).map(into_without_controls),
        is_resource: !is_navigational,
        nofollow: link.nofollow || !follow,
        skip,
    }
}
