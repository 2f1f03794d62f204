//! What vendors say of themselves, and the markup that only their walls have: the table, and what of it a page has.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use memchr::memmem::Finder;

use crate::answer::{Answer, Form};
use crate::page::Page;
use crate::target::{self, Parts};
use crate::verdict::{Outcome, Place, Verdict};
use crate::words;

/// How much a line of the table is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strength {
    /// A statement of the vendor: with any status and any body.
    Statement,
    /// Own markup that no page has, at any size.
    Anywhere,
    /// Own markup, on a page that is empty (128 KiB, 3,000 characters of text and 10 links to the site at most).
    Empty,
}

/// One condition of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// The response has a header field.
    Field(&'static str),
    /// The response has a header field whose name begins so.
    FieldPrefix(&'static str),
    /// A header field has a value that begins so, in any case.
    FieldIs(&'static str, &'static str),
    /// A header field has a value that doesn't begin so.
    FieldOther(&'static str, &'static str),
    /// The status is one of these.
    Status(&'static [u16]),
    /// The status isn't 200 to 299.
    NoSuccess,
    /// The body has at most so many bytes.
    Bytes(usize),
    /// The body is plain text.
    Plain,
    /// The body is JSON.
    Json,
    /// `src`, `href`, `action` or the target of a refresh leads to this path on the page's own site, also below a prefix.
    Ref(&'static str),
    /// The same, and the query has one of these words.
    RefQuery(&'static str, &'static [&'static str]),
    /// `src`, `href`, `action` or the target of a refresh leads to this host or one below it.
    RefHost(&'static str),
    /// A frame or script leads to this host or one below it, and it isn't the ambient script of good pages.
    FrameHost(&'static str),
    /// An element: `#id`, `.class`, `name#id`, `[data-x]` or `name[data-x]`.
    Element(&'static str),
    /// A script has this text.
    Script(&'static str),
    /// A script has all of these texts, one script them all.
    ScriptAll(&'static [&'static str]),
    /// A link leads to an address that has this text.
    Link(&'static str),
    /// The title is this text, in any case.
    Title(&'static str),
    /// The visible text has this text, in any case.
    Text(&'static str),
    /// The visible text has not this text, in any case.
    NotText(&'static str),
    /// At most 64 characters of text, and no link.
    Nothing,
    /// No text at all.
    NoText,
    /// The visible text has `Reference #` and an id of Akamai: digits, hex, digits, hex, with dots between them.
    AkamaiReference,
    /// The visible text has these words, and a number of 8 or more digits behind them.
    NumberAfter(&'static str),
}

/// A line of the table: a wall of a vendor, and what tells it.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// The vendor or the program: `cloudflare`.
    pub vendor: &'static str,
    /// The outcome that the line stands for.
    pub outcome: Outcome,
    /// The name of the signal, as verdicts give it.
    pub signal: &'static str,
    /// How much it is worth.
    pub strength: Strength,
    /// What must hold, all of it.
    pub tests: &'static [Test],
    /// Where the vendor's page or others describe it.
    pub source: &'static str,
}

const CLOUDFLARE: &str =
    "https://developers.cloudflare.com/cloudflare-challenges/challenge-types/challenge-pages/detect-response";
const CLOUDFLARE_OLD: &str = "https://github.com/microlinkhq/is-antibot (eba53e7), pull requests 55 and 65";
const CLOUDFLARE_BLOCK: &str =
    "https://developers.cloudflare.com/rules/custom-errors/reference/error-page-types/";
const CRAWL_CONTROL: &str = "https://developers.cloudflare.com/ai-crawl-control/features/pay-per-crawl/";
const ANUBIS: &str = "https://github.com/TecharoHQ/anubis (2f45638, version 1.27)";
const GO_AWAY: &str = "https://github.com/WeebDataHoarder/go-away (95ac085)";
const HAPROXY: &str = "https://github.com/fatchan/haproxy-protection";
const BOT_CHALLENGE_PAGE: &str = "https://github.com/samvera-labs/bot_challenge_page";
const AWS: &str =
    "https://docs.aws.amazon.com/waf/latest/developerguide/waf-captcha-and-challenge-actions.html";
const CLOUDFRONT: &str =
    "https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/http-403-permission-denied.html";
const AZURE: &str = "https://learn.microsoft.com/azure/web-application-firewall/afds/afds-overview";
const VERCEL: &str = "https://vercel.com/docs/vercel-firewall";
const FASTLY: &str = "https://www.fastly.com/documentation/guides/security/bot-management/client-challenges/";
const IS_ANTIBOT: &str = "https://github.com/microlinkhq/is-antibot (eba53e7)";
const WIKIMEDIA: &str = "https://wikitech.wikimedia.org/wiki/Robot_policy";
const MEASURED: &str = "block pages of this vendor, as crawlers' error lists quote them";

macro_rules! line {
    ($vendor:literal $outcome:ident $strength:ident $signal:literal $source:ident: $($test:expr),+) => {
        Line {
            vendor: $vendor,
            outcome: Outcome::$outcome,
            signal: $signal,
            strength: Strength::$strength,
            tests: &[$($test),+],
            source: $source,
        }
    };
}

use Test::{
    AkamaiReference, Bytes, Element, Field, FieldIs, FieldOther, FieldPrefix, FrameHost, Json, Link,
    NoSuccess, NoText, NotText, Nothing, NumberAfter, Plain, Ref, RefHost, RefQuery, Script, ScriptAll,
    Status, Text, Title,
};

/// The table. The first line whose tests hold decides; statements come before markup.
pub static LINES: &[Line] = &[
    line!("cloudflare" Challenged Statement "cf-mitigated: challenge" CLOUDFLARE: FieldIs("cf-mitigated", "challenge")),
    line!("cloudflare" Refused Statement "cf-mitigated" CLOUDFLARE: FieldOther("cf-mitigated", "challenge"), NoSuccess),
    line!("cloudflare" Refused Statement "crawler-error: CrawlerForbidden" CRAWL_CONTROL: FieldIs("crawler-error", "crawlerforbidden"), NoSuccess),
    line!("aws-waf" Challenged Statement "x-amzn-waf-action: challenge" AWS: FieldIs("x-amzn-waf-action", "challenge")),
    line!("aws-waf" Challenged Statement "x-amzn-waf-action: captcha" AWS: FieldIs("x-amzn-waf-action", "captcha")),
    line!("vercel" Challenged Statement "x-vercel-mitigated: challenge" VERCEL: FieldIs("x-vercel-mitigated", "challenge")),
    line!("vercel" Refused Statement "x-vercel-mitigated: deny" VERCEL: FieldIs("x-vercel-mitigated", "deny")),
    line!("sucuri" Refused Statement "x-sucuri-block" IS_ANTIBOT: Field("x-sucuri-block")),
    line!("kasada" Challenged Statement "x-kpsdk-*" IS_ANTIBOT: FieldPrefix("x-kpsdk-"), Status(&[403, 429])),
    // Markup that counts at any size.
    line!("anubis" Challenged Anywhere "script#anubis_challenge" ANUBIS: Element("script#anubis_challenge")),
    line!("anubis" Refused Anywhere "Anubis' reject image" ANUBIS: Ref("/.within.website/x/cmd/anubis/static/img/reject")),
    line!("anubis" Challenged Anywhere "/.within.website/x/cmd/anubis/" ANUBIS: Ref("/.within.website/x/cmd/anubis/")),
    line!("bot_challenge_page" Challenged Anywhere "#botChallengePageErrorTemplate" BOT_CHALLENGE_PAGE: Element("#botChallengePageErrorTemplate")),
    line!("bot_challenge_page" Challenged Anywhere ".bot_challenge_page" BOT_CHALLENGE_PAGE: Element(".bot_challenge_page")),
    // Markup of empty pages.
    line!("cloudflare" Challenged Empty "script _cf_chl_opt" CLOUDFLARE: Script("_cf_chl_opt")),
    line!("cloudflare" Challenged Empty "#cf-please-wait" CLOUDFLARE_OLD: Element("#cf-please-wait")),
    line!("cloudflare" Challenged Empty ".cf-browser-verification" CLOUDFLARE_OLD: Element(".cf-browser-verification")),
    line!("cloudflare" Challenged Empty "form#challenge-form" CLOUDFLARE_OLD: Element("form#challenge-form")),
    line!("cloudflare" RateLimited Empty "#cf-error-details, error 1015" CLOUDFLARE_BLOCK: Element("#cf-error-details"), Status(&[403, 429]), Text("1015")),
    line!("cloudflare" Refused Empty "#cf-error-details" CLOUDFLARE_BLOCK: Element("#cf-error-details"), Status(&[403, 429])),
    line!("cloudflare" RateLimited Empty "error code: 1015" CLOUDFLARE_BLOCK: Plain, Bytes(100), NoSuccess, Text("error code: 1015")),
    line!("cloudflare" Refused Empty "error code: 10xx" CLOUDFLARE_BLOCK: Plain, Bytes(100), NoSuccess, Text("error code: 10")),
    line!("go-away" Challenged Empty "/.well-known/.go-away/" GO_AWAY: Ref("/.well-known/.go-away/")),
    line!("go-away" Challenged Empty "link to go-away, Request Id" GO_AWAY: Link("git.gammaspectra.live/git/go-away"), Text("request id")),
    line!("haproxy-protection" Challenged Empty "/.basedflare/" HAPROXY: Ref("/.basedflare/")),
    line!("haproxy-protection" Challenged Empty "body[data-pow]" HAPROXY: Element("body[data-pow]")),
    line!("aws-waf" Challenged Empty "script gokuProps" AWS: Script("gokuProps")),
    line!("cloudfront" Refused Empty "The request could not be satisfied, Request blocked" CLOUDFRONT: Status(&[403]), Text("the request could not be satisfied"), Text("request blocked")),
    line!("azure" Refused Empty "The request is blocked, x-azure-ref" AZURE: Status(&[403]), Bytes(2_048), Field("x-azure-ref"), Text("the request is blocked")),
    line!("vercel" Challenged Empty "title Vercel Security Checkpoint" VERCEL: Title("vercel security checkpoint")),
    line!("fastly" Challenged Empty "/_fs-ch-*, title Client Challenge" FASTLY: Ref("/_fs-ch-"), Title("client challenge")),
    line!("akamai" Refused Empty "title Access Denied, Reference #" MEASURED: Title("access denied"), AkamaiReference),
    line!("akamai" Challenged Empty "#sec-if-cpt-container" IS_ANTIBOT: Element("#sec-if-cpt-container")),
    line!("akamai" Challenged Empty "#sec-bc-tile-container" IS_ANTIBOT: Element("#sec-bc-tile-container")),
    line!("imperva" Refused Empty "_Incapsula_Resource with an incident" IS_ANTIBOT: RefQuery("/_Incapsula_Resource", &["incident_id", "CWUDNSAI"])),
    line!("imperva" Challenged Empty "_Incapsula_Resource and nothing else" IS_ANTIBOT: RefQuery("/_Incapsula_Resource", &["SWJIYLWA"]), Nothing),
    line!("datadome" Challenged Empty "script dd" IS_ANTIBOT: ScriptAll(&["dd={", "captcha-delivery.com"])),
    line!("datadome" Challenged Empty "script dd with hsh and cid" IS_ANTIBOT: ScriptAll(&["dd={", "'hsh'", "'cid'"])),
    line!("datadome" Challenged Empty "frame of captcha-delivery.com" IS_ANTIBOT: FrameHost("captcha-delivery.com")),
    line!("datadome" Challenged Empty "url of captcha-delivery.com" IS_ANTIBOT: Json, Status(&[403]), Bytes(4_096), Text("captcha-delivery.com"), Text("\"url\"")),
    line!("human" Challenged Empty "#px-captcha" IS_ANTIBOT: Element("#px-captcha")),
    line!("sucuri" Challenged Empty "script sucuri_cloudproxy_js" IS_ANTIBOT: Script("sucuri_cloudproxy_js")),
    line!("ddos-guard" Challenged Empty "/.well-known/ddos-guard/js-challenge" MEASURED: Ref("/.well-known/ddos-guard/js-challenge")),
    line!("ddos-guard" Challenged Empty "/.well-known/ddos-guard/ddg-captcha-page" MEASURED: Ref("/.well-known/ddos-guard/ddg-captcha-page")),
    line!("ddos-guard" Challenged Empty "body[data-ddg-origin]" MEASURED: Element("body[data-ddg-origin]")),
    line!("qrator" Challenged Empty "/__qrator/qauth" MEASURED: Ref("/__qrator/qauth")),
    line!("kasada" Challenged Empty "script window.KPSDK, no text" IS_ANTIBOT: Script("window.KPSDK"), NoText),
    line!("f5" Refused Empty "title Request Rejected, support ID" MEASURED: Title("request rejected"), Bytes(4_096), NumberAfter("support id is")),
    line!("wordfence" Refused Empty "Generated by Wordfence" MEASURED: Status(&[403, 503]), Text("generated by wordfence")),
    line!("bunny" Challenged Empty "/.bunny-shield/" MEASURED: Ref("/.bunny-shield/")),
    line!("bunny" Challenged Empty "shield-challenge" MEASURED: Ref("/shield-challenge")),
    line!("wikimedia" Refused Empty "robot policy" WIKIMEDIA: Status(&[403]), Plain, Text("robot policy"), Text("w.wiki")),
    line!("wikimedia" Refused Empty "robot policy, wikimedia" WIKIMEDIA: Status(&[403]), Plain, Text("robot policy"), Text("wikimedia"), NotText("w.wiki")),
    // Sites that aren't there.
    line!("sedo" Placeholder Empty "html[data-adblockkey], sedoparking.com" MEASURED: Element("html[data-adblockkey]"), RefHost("sedoparking.com")),
    line!("parking" Placeholder Empty "html[data-adblockkey]" MEASURED: Element("html[data-adblockkey]")),
    line!("parking" Placeholder Empty "x-adblock-key" MEASURED: Field("x-adblock-key")),
    line!("parking" Placeholder Empty "script /lander, no text" MEASURED: Ref("/lander"), NoText),
    line!("sedo" Placeholder Empty "sedoparking.com" MEASURED: RefHost("sedoparking.com")),
    line!("parkingcrew" Placeholder Empty "parkingcrew.net" MEASURED: RefHost("parkingcrew.net")),
    line!("parkingcrew" Placeholder Empty "parkingcrew.com" MEASURED: RefHost("parkingcrew.com")),
    line!("bodis" Placeholder Empty "bodis.com" MEASURED: RefHost("bodis.com")),
    line!("parklogic" Placeholder Empty "parklogic.com" MEASURED: RefHost("parklogic.com")),
];

/// A path that only walls have. A redirect or refresh there is one.
#[derive(Clone, Copy, Debug)]
pub struct WallPath {
    /// The vendor or the program.
    pub vendor: &'static str,
    /// The beginning of the path, at its start or behind a prefix.
    pub path: &'static str,
    /// What it leads to.
    pub outcome: Outcome,
    /// Where it is described.
    pub source: &'static str,
}

macro_rules! path {
    ($vendor:literal $outcome:ident $path:literal $source:ident) => {
        WallPath { vendor: $vendor, path: $path, outcome: Outcome::$outcome, source: $source }
    };
}

/// Paths that only walls redirect to.
pub static WALL_PATHS: &[WallPath] = &[
    path!("cloudflare" Challenged "/cdn-cgi/challenge" CLOUDFLARE),
    path!("anubis" Challenged "/.within.website/" ANUBIS),
    path!("go-away" Challenged "/.well-known/.go-away/" GO_AWAY),
    path!("ddos-guard" Challenged "/.well-known/ddos-guard/" MEASURED),
    path!("qrator" Challenged "/__qrator/" MEASURED),
    path!("imperva" Challenged "/_Incapsula_Resource" IS_ANTIBOT),
    path!("haproxy-protection" Challenged "/.basedflare/" HAPROXY),
    path!("fastly" Challenged "/_fs-ch-" FASTLY),
    path!("bunny" Challenged "/.bunny-shield/" MEASURED),
    path!("cpanel" Placeholder "/cgi-sys/suspendedpage.cgi" MEASURED),
    path!("cpanel" Placeholder "/cgi-sys/defaultwebpage.cgi" MEASURED),
];

/// A host that only walls have.
#[derive(Clone, Copy, Debug)]
pub struct WallHost {
    /// The vendor or the program.
    pub vendor: &'static str,
    /// The host, or a domain of it. With a dot at its end, the beginning of the host: `consent.google.`.
    pub host: &'static str,
    /// What it leads to.
    pub outcome: Outcome,
    /// Where it is described.
    pub source: &'static str,
}

macro_rules! host {
    ($vendor:literal $outcome:ident $host:literal $source:ident) => {
        WallHost { vendor: $vendor, host: $host, outcome: Outcome::$outcome, source: $source }
    };
}

/// Hosts that only walls redirect to.
pub static WALL_HOSTS: &[WallHost] = &[
    host!("radware" Challenged "validate.perfdrive.com" IS_ANTIBOT),
    host!("datadome" Challenged "captcha-delivery.com" IS_ANTIBOT),
    host!("google" Consent "consent.google." MEASURED),
    host!("google" Consent "consent.youtube." MEASURED),
    host!("yahoo" Consent "guce." MEASURED),
];

/// What a redirect or refresh to a target is, by its path or host.
pub(crate) fn wall_target(parts: &Parts<'_>, place: Place) -> Option<Verdict> {
    let by_path = WALL_PATHS.iter().find(|wall| has_path(parts.path, wall.path));
    if let Some(wall) = by_path {
        return Some(Verdict::certain(wall.outcome, place, wall.path).of(wall.vendor));
    }
    let host = target::without_port(parts.host?).to_ascii_lowercase();
    let is_at = |name: &str| {
        let is_beginning = name.ends_with('.') && host.starts_with(name);
        is_beginning || target::is_host_below(&host, name)
    };
    let wall = WALL_HOSTS.iter().find(|wall| is_at(wall.host))?;
    Some(Verdict::certain(wall.outcome, place, wall.host).of(wall.vendor))
}

/// Whether a path has another one at its start or behind a prefix of whole segments.
fn has_path(path: &str, wanted: &str) -> bool {
    // What is wanted begins with a slash.
    path.match_indices(wanted).next().is_some()
}

/// Texts of which a page has one, if a line holds for it whose markup counts at any size: so most pages need no second look.
const ANYWHERE: [&str; 3] = ["anubis", "botChallengePageErrorTemplate", "bot_challenge_page"];

/// Names in the table of what pages are searched for.
#[derive(Debug)]
pub(crate) struct Index {
    refs: Vec<(usize, &'static str, Option<&'static [&'static str]>)>,
    ref_hosts: Vec<(usize, &'static str)>,
    frame_hosts: Vec<(usize, &'static str)>,
    elements: Vec<(usize, Selector)>,
    scripts: Vec<(usize, Vec<Finder<'static>>)>,
    links: Vec<(usize, &'static str)>,
    /// What must be in the body for a signal that counts on a page of any size.
    pub(crate) anywhere: Vec<Finder<'static>>,
    /// The number of the first test of each line.
    first: Vec<usize>,
    /// Every text of which a page with a status of success has one, if it is anything but a page and not bare.
    names: Option<AhoCorasick>,
}

/// Attributes that hide text, without which what a page has is seen; a refresh; a form for a password.
const OTHER_NAMES: [&str; 5] = ["hidden", "display", "visibility", "refresh", "password"];

impl Index {
    /// Whether a body has a text without which nothing but a bare page is a wall.
    pub(crate) fn names_any(&self, body: &[u8]) -> bool {
        self.names.as_ref().is_none_or(|names| names.is_match(body))
    }
}

/// The texts of the table that a body has where their tests hold.
fn texts_of_lines() -> impl Iterator<Item = &'static str> {
    LINES.iter().flat_map(|line| line.tests).filter_map(|test| match *test {
        Ref(text) | RefQuery(text, _) | RefHost(text) | FrameHost(text) | Script(text) | Title(text) => {
            Some(text)
        }
        Link(text) => text.split('/').next(),
        ScriptAll(texts) => texts.last().copied(),
        Element(selector) => selector.split(['#', '.', '[', ']']).nth(1),
        _ => None,
    })
}

#[derive(Debug)]
struct Selector {
    name: &'static str,
    id: &'static str,
    class: &'static str,
    /// With a space before and behind it.
    data: String,
}

impl Selector {
    fn new(text: &'static str) -> Self {
        let (name, rest) = text.split_at(text.find(['#', '.', '[']).unwrap_or(text.len()));
        let mut selector = Self { name, id: "", class: "", data: String::new() };
        if let Some(id) = rest.strip_prefix('#') {
            selector.id = id;
        } else if let Some(class) = rest.strip_prefix('.') {
            selector.class = class;
        } else if let Some(data) = rest.strip_prefix('[') {
            selector.data = format!(" {} ", data.trim_end_matches(']'));
        }
        selector
    }

    fn is(&self, name: &str, id: &str, class: &str, data: &str) -> bool {
        (self.name.is_empty() || self.name == name)
            && (self.id.is_empty() || self.id == id)
            && (self.class.is_empty() || class.split_ascii_whitespace().any(|class| class == self.class))
            && (self.data.is_empty() || data.contains(&self.data))
    }
}

/// The table, arranged for one pass over a page.
pub(crate) fn index() -> &'static Index {
    static INDEX: LazyLock<Index> = LazyLock::new(|| {
        let mut index = Index {
            refs: Vec::new(),
            ref_hosts: Vec::new(),
            frame_hosts: Vec::new(),
            elements: Vec::new(),
            scripts: Vec::new(),
            links: Vec::new(),
            anywhere: ANYWHERE.iter().map(Finder::new).collect(),
            first: Vec::new(),
            names: AhoCorasick::builder()
                .ascii_case_insensitive(true)
                .build(texts_of_lines().chain(words::names()).chain(OTHER_NAMES))
                .ok(),
        };
        let mut number = 0;
        for line in LINES {
            index.first.push(number);
            for test in line.tests {
                match *test {
                    Ref(path) => index.refs.push((number, path, None)),
                    RefQuery(path, words) => index.refs.push((number, path, Some(words))),
                    RefHost(host) => index.ref_hosts.push((number, host)),
                    FrameHost(host) => index.frame_hosts.push((number, host)),
                    Element(selector) => index.elements.push((number, Selector::new(selector))),
                    Script(text) => index.scripts.push((number, vec![Finder::new(text)])),
                    ScriptAll(texts) => index.scripts.push((number, texts.iter().map(Finder::new).collect())),
                    Link(text) => index.links.push((number, text)),
                    _ => {}
                }
                number += 1;
            }
        }
        index
    });
    &INDEX
}

/// Words of 64 bits, one bit for each test.
const WORDS: usize = 3;

/// The tests of the table that something on a page fulfils.
#[derive(Debug, Default)]
pub(crate) struct Found([u64; WORDS]);

impl Found {
    fn set(&mut self, number: usize) {
        if let Some(word) = self.0.get_mut(number / 64) {
            *word |= 1 << (number % 64);
        }
    }

    fn has(&self, number: usize) -> bool {
        self.0.get(number / 64).is_some_and(|word| word & 1 << (number % 64) != 0)
    }

    /// Notes an element by its name, id, classes and names of attributes `data-*`.
    pub(crate) fn element(&mut self, name: &str, id: &str, class: &str, data: &str) {
        if id.is_empty() && class.is_empty() && data.is_empty() {
            return;
        }
        for (number, selector) in &index().elements {
            if selector.is(name, id, class, data) {
                self.set(*number);
            }
        }
    }

    /// Notes a reference of the page.
    pub(crate) fn reference(&mut self, parts: &Parts<'_>, is_own: bool) {
        if is_own {
            for (number, path, words) in &index().refs {
                let has_words =
                    || words.is_none_or(|words| words.iter().any(|word| parts.query.contains(word)));
                if has_path(parts.path, path) && has_words() {
                    self.set(*number);
                }
            }
        }
        if let Some(host) = parts.host {
            for (number, name) in &index().ref_hosts {
                if target::is_host_below(host, name) {
                    self.set(*number);
                }
            }
            for (number, name) in &index().frame_hosts {
                if target::is_host_below(host, name) && !words::is_ambient(parts) {
                    self.set(*number);
                }
            }
        }
    }

    /// Notes the text of a script.
    pub(crate) fn script(&mut self, text: &[u8]) {
        for (number, finders) in &index().scripts {
            if !self.has(*number) && finders.iter().all(|finder| finder.find(text).is_some()) {
                self.set(*number);
            }
        }
    }

    /// Notes the vendors of walls that the target of a link belongs to.
    pub(crate) fn link(&mut self, parts: &Parts<'_>) {
        if let Some(host) = parts.host {
            for (number, text) in &index().links {
                let (name, path) = text.split_at(text.find('/').unwrap_or(text.len()));
                if host == name && parts.path.starts_with(path) {
                    self.set(*number);
                }
            }
        }
    }
}

/// What a vendor states in header fields.
pub(crate) fn statement(answer: &Answer<'_>) -> Option<Verdict> {
    let line = LINES.iter().find(|line| {
        line.strength == Strength::Statement && line.tests.iter().all(|test| holds_without_page(test, answer))
    })?;
    Some(Verdict::certain(line.outcome, Place::Header, line.signal).of(line.vendor))
}

/// What the markup of a page says.
pub(crate) fn markup(answer: &Answer<'_>, page: &Page, is_of_site: bool) -> Option<Verdict> {
    let is_empty = page.is_empty();
    for (line, first) in LINES.iter().zip(&index().first) {
        let counts = match line.strength {
            Strength::Statement => false,
            Strength::Anywhere => true,
            Strength::Empty => is_empty,
        };
        let is_placeholder = line.outcome == Outcome::Placeholder;
        if !counts || is_placeholder != is_of_site || is_placeholder && !answer.is_success() {
            continue;
        }
        let numbered = line.tests.iter().enumerate();
        if numbered.clone().all(|(place, test)| holds(test, first + place, answer, page)) {
            let is_markup = line.tests.iter().any(is_structure);
            let place = if is_markup { Place::Markup } else { Place::Text };
            return Some(Verdict::certain(line.outcome, place, line.signal).of(line.vendor));
        }
    }
    None
}

fn is_structure(test: &Test) -> bool {
    matches!(
        test,
        Ref(_) | RefQuery(..) | RefHost(_) | FrameHost(_) | Element(_) | Script(_) | ScriptAll(_) | Link(_)
    )
}

fn holds(test: &Test, number: usize, answer: &Answer<'_>, page: &Page) -> bool {
    match *test {
        Title(title) => page.title.to_lowercase() == title,
        Text(wanted) => page.lower_text().contains(wanted),
        NotText(unwanted) => !page.lower_text().contains(unwanted),
        Nothing => page.says_nothing(),
        NoText => !page.has_text(),
        AkamaiReference => words::has_akamai_reference(page.lower_text()),
        NumberAfter(before) => words::has_number_after(page.lower_text(), before),
        Bytes(most) => page.bytes() <= most,
        _ if is_structure(test) => page.found.has(number),
        _ => holds_without_page(test, answer),
    }
}

fn holds_without_page(test: &Test, answer: &Answer<'_>) -> bool {
    let begins = |value: &str, wanted: &str| {
        value.get(..wanted.len()).is_some_and(|start| start.eq_ignore_ascii_case(wanted))
    };
    match *test {
        Field(name) => answer.has(name),
        FieldPrefix(prefix) => answer.has_prefix(prefix),
        FieldIs(name, wanted) => answer.values(name).any(|value| begins(value, wanted)),
        FieldOther(name, wanted) => {
            answer.values(name).any(|value| !value.is_empty() && !begins(value, wanted))
        }
        Status(statuses) => statuses.contains(&answer.status),
        NoSuccess => !answer.is_success(),
        Plain => answer.form() == Form::Text,
        Json => answer.form() == Form::Json,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_test_has_room_and_every_line_a_source() {
        let tests: usize = LINES.iter().map(|line| line.tests.len()).sum();
        assert!(tests <= WORDS * 64, "{tests}");
        assert!(LINES.iter().all(|line| !line.tests.is_empty() && !line.source.is_empty()));
        assert!(!index().names_any(b"<p>An ordinary page with <a href=/x>a link</a></p>"));
        assert!(texts_of_lines().all(|text| text.len() > 2 && index().names_any(text.as_bytes())));
        for line in LINES.iter().filter(|line| line.strength == Strength::Anywhere) {
            let names = |test: &Test| match test {
                Ref(text) | Element(text) => ANYWHERE.iter().any(|name| text.contains(name)),
                _ => false,
            };
            assert!(line.tests.iter().any(names), "{line:?}");
        }
    }
}
