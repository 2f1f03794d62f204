//! Pages that look like walls, and must be pages; walls of vendors that no table has.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use walls::{Answer, Asked, Outcome, RobotsReading, Verdict, classify, robots_reading};

const LINKS: &str = "<nav><a href=/a>A</a><a href=/b>B</a><a href=/c>C</a><a href=/d>D</a><a href=/e>E</a><a href=/f>F</a>\
    <a href=/g>G</a><a href=/h>H</a><a href=/i>I</a><a href=/j>J</a><a href=/k>K</a></nav>";

/// A paragraph of ordinary words.
fn prose(characters: usize) -> String {
    let words =
        "The reading room opens at nine and the catalogue lists every volume that the society has bought. ";
    format!("<p>{}</p>", words.repeat(characters / words.len() + 1))
}

fn judge(status: u16, url: &str, fields: &[(&str, &str)], body: &str) -> Verdict {
    let has_type = fields.iter().any(|(name, _)| *name == "content-type");
    let of_html = (!has_type).then_some(("content-type", "text/html; charset=utf-8"));
    let fields = fields.iter().copied().chain(of_html).map(|(name, value)| (name, value.as_bytes()));
    classify(&Answer::new(status, url).with_headers(fields).with_body(body.as_bytes()))
}

fn page(body: &str) -> Verdict {
    judge(200, "https://site.example/x", &[], body)
}

#[track_caller]
fn is_page(body: &str) {
    let verdict = page(body);
    assert!(verdict.outcome == Outcome::Page && verdict.suspect.is_none(), "{verdict:?}");
}

#[track_caller]
fn is_ordinary(verdict: &Verdict, outcome: Outcome) {
    assert!(verdict.outcome == outcome && verdict.suspect.is_none(), "{verdict:?}");
}

#[test]
fn articles_about_walls_are_pages() {
    let quoted = "<h1>How Cloudflare and Anubis work</h1><pre>&lt;script&gt;window._cf_chl_opt={}&lt;/script&gt;\n\
        &lt;script id=\"anubis_challenge\"&gt;</pre><p>/.within.website/x/cmd/anubis/static/img/pensive.webp</p>";
    is_page(&format!("<title>Just a moment</title>{LINKS}{quoted}{}", prose(2_000)));
    // Even a short one without a menu: quoted code is text.
    is_page(&format!("<title>Anubis</title>{quoted}<p><a href=/next>next</a></p>"));
    is_page(&format!(
        "<title>Anubis</title>{LINKS}<img src=https://anubis.example/.within.website/x/cmd/anubis/static/img/happy.webp>{}",
        prose(500)
    ));
}

#[test]
fn forms_with_a_captcha_are_pages() {
    let widget = "<div class=h-captcha></div><script src=https://js.hcaptcha.com/1/api.js></script>";
    let form = format!(
        "<form action=/send><input name=a><input type=email name=b>{widget}<button>Send</button></form>"
    );
    is_page(&format!("<title>Contact</title><h1>Contact</h1>{form}"));
    is_page(&format!("<title>Prove that you are human</title><h1>Register</h1>{form}"));
    is_page(&format!("<title>Newsletter</title><h1>Newsletter</h1>{widget}<p>Once a month.</p>"));
}

#[test]
fn scripts_that_vendors_put_on_good_pages_are_pages() {
    let scripts = "<script src=/cdn-cgi/challenge-platform/scripts/jsd/main.js></script>\
        <script>window.__CF$cv$params={r:'8f2a'};window.ddjskey='A';window._pxAppId='PX1';</script>\
        <script src=https://0a1b.token.awswaf.com/0a1b/challenge.js></script><script src=https://ct.captcha-delivery.com/c.js></script>\
        <script src=/akam/13/5a6b></script><script src='/_Incapsula_Resource?SWJIYLWA=719d'></script>\
        <script src=/_fs-ch-1T1wmsGaOgGaSxcX/challenge.js></script>";
    is_page(&format!(
        "<title>Hours</title><h1>Opening hours</h1><p>We open at nine on every day but Sunday, all the year round.</p>{scripts}"
    ));
    for status in [403, 503] {
        let body = format!(
            "<title>Down for maintenance</title><h1>Back on Monday</h1><p>We are moving all of the shelves to the new rooms of the house.</p>{scripts}"
        );
        is_ordinary(
            &judge(status, "https://site.example/x", &[("server", "cloudflare"), ("cf-ray", "1-FRA")], &body),
            Outcome::Error,
        );
    }
    let fields = [
        ("x-datadome", "protected"),
        ("x-kpsdk-ct", "1"),
        ("x-iinfo", "9-1"),
        ("x-sucuri-id", "1"),
        ("x-azure-ref", "1"),
    ];
    is_ordinary(&judge(200, "https://site.example/x", &fields, "<h1>Hours</h1>"), Outcome::Page);
}

#[test]
fn small_pages_with_scripts_are_pages() {
    is_page(
        "<noscript>Some functions need JavaScript.</noscript><h1>Old maps</h1><p>Three sheets.</p><a href=/1>1</a>",
    );
    is_page(&format!("<div id=root><h1>Reports</h1>{}</div><script src=/m.js></script>", prose(400)));
    is_page("<title>Scan 14</title><img src=/scan.jpg alt=Folio><script src=/zoom.js></script>");
    is_page(
        "<title>Manual</title><frameset cols='20%,80%'><frame src=toc.html><frame src=main.html></frameset>",
    );
    is_page("<title>Webcam</title><meta http-equiv=refresh content=30><img src=/cam.jpg>");
    is_page("<title>Moved</title><meta http-equiv=refresh content='0; url=/new/'>");
    let inline = format!("<script>{}</script>", "x=1;".repeat(60_000));
    is_page(&format!("{inline}<div id=app></div>{}<a href=/x>x</a>", prose(400)));
}

#[test]
fn words_alone_are_pages() {
    is_page(&format!(
        "<title>Just a moment</title><h1>Just a moment</h1>{}<a href=/poems>more</a>",
        prose(350)
    ));
    is_page(&format!("<title>Just a moment</title><h1>Just a moment</h1><div>{}</div>", prose(350)));
    is_page(
        "<title>Request Rejected</title><h1>Request Rejected</h1><p>A band from Leeds. Three albums since 2009.</p><a href=/tour>Tour</a>",
    );
    is_page(
        "<title>Access Denied</title><h1>Access Denied</h1><p>A novel, 312 pages.</p><a href=/books>Books</a>",
    );
    let list = "<li>Ward 9, at nine</li>".repeat(8);
    is_page(&format!(
        "<title>Security check for bicycles</title><h1>Security check</h1><ul>{list}</ul><a href=/map>Map</a>"
    ));
    is_page(&format!("<title>Domains</title><h1>This domain is for sale</h1>{LINKS}{}", prose(300)));
    is_page(
        "<title>Captcha</title><h1>Captcha</h1><p>A film of 2021.</p><video src=/trailer.mp4></video><div class=captcha-poster></div>",
    );
}

#[test]
fn sign_ins_beside_content_are_pages() {
    let form =
        "<form action=/login><input name=u><input type=password name=p><button>Sign in</button></form>";
    is_page(&format!("<header>{form}</header><h1>News</h1>{LINKS}{}", prose(600)));
    is_page(&format!(
        "<title>Report</title>{LINKS}<p>The first lines.</p><p>Subscribe to read the rest.</p>"
    ));
    is_ordinary(
        &judge(200, "https://site.example/users/sign_in", &[], &format!("<h1>Sign in</h1>{form}")),
        Outcome::Page,
    );
    let hidden = form.replace("<form", "<form style='display: none'");
    is_page(&format!("<h1>Owls</h1><p>Nine kinds.</p>{hidden}"));
}

#[test]
fn ordinary_redirects_and_errors_stay_what_they_are() {
    let redirect = |location| judge(302, "https://site.example/x", &[("location", location)], "");
    for location in [
        "/challenge/2024/",
        "/login",
        "/captcha-history",
        "/en/?from=login",
        "https://www.site.example/login-help/?p=/y",
        "/sorry",
    ] {
        is_ordinary(&redirect(location), Outcome::Redirect);
    }
    is_ordinary(
        &judge(
            202,
            "https://site.example/x",
            &[],
            "<title>Export</title><meta http-equiv=refresh content=15><h1>Your export is being made</h1>",
        ),
        Outcome::Page,
    );
    is_ordinary(
        &judge(
            403,
            "https://site.example/x",
            &[("server", "Apache")],
            "<title>403 Forbidden</title><h1>Forbidden</h1><p>You don't have permission to access this.</p>",
        ),
        Outcome::Error,
    );
    is_ordinary(
        &judge(500, "https://site.example/x", &[], "<h1>Error</h1><p>Request id 4f5e3b17aa90</p>"),
        Outcome::Error,
    );
    is_ordinary(
        &judge(503, "https://site.example/x", &[("retry-after", "9")], "<h1>Back soon</h1>"),
        Outcome::Error,
    );
}

/// No line of the table has these: the general rules must.
#[test]
fn unknown_vendors_are_told_by_what_walls_have_in_common() {
    let certain = |verdict: Verdict, outcome| assert!(verdict.outcome == outcome, "{verdict:?}");
    certain(
        page(
            "<title>Please verify that you are human</title><div class=mtcaptcha></div><script src=https://service.mtcaptcha.example/a.js></script>",
        ),
        Outcome::Challenged,
    );
    certain(
        page(
            "<title>Vérification de sécurité</title><h1>Vérifiez que vous êtes humain</h1><altcha-widget challengeurl=/c></altcha-widget>",
        ),
        Outcome::Challenged,
    );
    certain(
        page(
            "<title>Einen Moment</title><h1>Ihr Browser wird überprüft</h1><script src=/shield/js-pow.js></script>",
        ),
        Outcome::Challenged,
    );
    for status in [403, 418, 429, 503] {
        let body = "<h1>Wait</h1><div id=my-captcha></div>";
        certain(judge(status, "https://site.example/x", &[], body), Outcome::Challenged);
    }
    certain(
        judge(
            406,
            "https://site.example/x",
            &[],
            "<title>Blocked</title><h1>Your request has been blocked</h1><p>Incident ID: 00aa11bb22cc33dd</p>",
        ),
        Outcome::Refused,
    );
    for (location, outcome) in [
        ("/verify/captcha?next=%2Fx", Outcome::Challenged),
        ("https://check.example/human-verification?u=https%3A%2F%2Fsite.example%2Fx", Outcome::Challenged),
        ("/base/.within.website/?redir=/x", Outcome::Challenged),
        ("https://geo.captcha-delivery.com/captcha/", Outcome::Challenged),
        ("https://consent.google.de/ml?continue=https://site.example/x", Outcome::Consent),
        ("https://idp.example/cas/login?service=https%3A%2F%2Fsite.example%2Fx", Outcome::Login),
        ("https://idp.example/authorize?response_type=code&client_id=1&redirect_uri=y", Outcome::Login),
        ("/cgi-sys/defaultwebpage.cgi", Outcome::Placeholder),
    ] {
        certain(judge(302, "https://site.example/x", &[("location", location)], ""), outcome);
    }
    let refresh = "<title>x</title><meta http-equiv=refresh content='0; url=/.well-known/.go-away/cmd/x'>";
    certain(page(refresh), Outcome::Challenged);
    certain(page(&format!("<noscript>{refresh}</noscript>")), Outcome::Challenged);
    certain(
        judge(503, "https://site.example/x", &[("refresh", "1;URL='/captcha?r=/x'")], ""),
        Outcome::Challenged,
    );
}

#[test]
fn robots_behind_a_wall_is_never_open() {
    let read = |status: u16, body: &str| {
        let fields = [("content-type", "text/html".as_bytes())];
        let answer = Answer::new(status, "https://site.example/robots.txt").with_headers(fields);
        robots_reading(&classify(&answer.with_body(body.as_bytes()).to(Asked::Robots)), status)
    };
    let likely = "<title>Checking your browser</title><h1>Checking your browser</h1>";
    let certain = "<script>window._cf_chl_opt={}</script>";
    for status in [200, 202, 418, 429, 503] {
        assert_eq!(read(status, certain), RobotsReading::Defer);
        assert_eq!(read(status, likely), RobotsReading::Defer);
    }
    assert_eq!(read(429, ""), RobotsReading::Defer);
    for status in [401, 403, 451] {
        assert_eq!(read(status, certain), RobotsReading::ClosedByWall);
    }
    for status in [404, 410] {
        assert_eq!(read(status, certain), RobotsReading::Defer);
        assert_eq!(read(status, likely), RobotsReading::AsItIs);
    }
    assert_eq!(read(200, &format!("{certain}\nUser-agent: *\nDisallow:")), RobotsReading::AsItIs);
    assert_eq!(read(200, "<div id=root></div><script src=/m.js></script>"), RobotsReading::AsItIs);
    assert_eq!(read(403, "Forbidden"), RobotsReading::AsItIs);
}

/// What isn't read to its end isn't called empty.
#[test]
fn a_cut_page_is_no_shell() {
    let shell = b"<div id=root></div><script src=/m.js></script>";
    let answer = Answer::new(200, "https://site.example/x").with_body(shell);
    assert_eq!(classify(&answer).outcome, Outcome::Shell);
    assert_eq!(classify(&answer.cut()).outcome, Outcome::Page);
}

/// What a shell has for browsers without scripts isn't its content, unless it is much.
#[test]
fn a_hint_and_a_counter_in_noscript_are_no_content() {
    let shell = |noscript: &str| {
        page(&format!("<noscript>{noscript}</noscript><div id=root></div><script src=/m.js></script>"))
            .outcome
    };
    let counter = "<iframe src=https://count.example/x></iframe><img src=/pixel.gif>";
    assert_eq!(shell(counter), Outcome::Shell);
    assert_eq!(shell("Please enable JavaScript: <a href=https://help.example/>how</a>"), Outcome::Shell);
    assert_eq!(shell(&prose(400)), Outcome::Page);
    assert_eq!(shell("<a href=/a>A</a><a href=/b>B</a><a href=/c>C</a>"), Outcome::Page);
}

#[test]
fn only_pages_are_looked_at() {
    let challenge = "<script>window._cf_chl_opt={}</script>";
    for kind in ["application/pdf", "image/png", "text/css", "application/xml", "text/javascript"] {
        is_ordinary(
            &judge(200, "https://site.example/x", &[("content-type", kind)], challenge),
            Outcome::Page,
        );
    }
    for asked in [Asked::Sitemap, Asked::Document, Asked::Resource] {
        let fields = [("content-type", "text/html".as_bytes())];
        let answer = Answer::new(200, "https://site.example/x.pdf")
            .with_headers(fields)
            .with_body(challenge.as_bytes());
        assert_eq!(classify(&answer.to(asked)).outcome, Outcome::Challenged);
    }
}
