//! Every directive of the digest's 4.4, 4.6, 4.7 and section 5 that one response can carry, with what is to become of
//! the page, from the spec's text. Agent SuperRobot, alias newsbot, dialect strict.

/// One page of the simulated site.
#[derive(Clone, Copy)]
pub(super) struct Case {
    /// Its path is `/c/NAME`.
    pub(super) name: &'static str,
    pub(super) status: u16,
    pub(super) form: Form,
    pub(super) headers: &'static [(&'static str, &'static str)],
    pub(super) head: &'static str,
    pub(super) body: &'static str,
    /// What may be kept and used: `t` text, `b` body, `l` links, `i` images.
    pub(super) keeps: &'static str,
    /// Longest excerpt that may be shown.
    pub(super) excerpt: Option<usize>,
    /// Each directive that took effect, with its place.
    pub(super) because: &'static [&'static str],
    /// Statements of consent: signal, purpose, verdict.
    pub(super) consent: &'static [&'static str],
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Html,
    Pdf,
    Image,
    Plain,
}

pub(super) const FREE: Case = Case {
    name: "",
    status: 200,
    form: Form::Html,
    headers: &[],
    head: "",
    body: "",
    keeps: "tbli",
    excerpt: None,
    because: &[],
    consent: &[],
};

pub(super) const fn tag(
    name: &'static str,
    head: &'static str,
    keeps: &'static str,
    because: &'static [&'static str],
) -> Case {
    Case { name, head, keeps, because, ..FREE }
}

pub(super) const fn line(
    name: &'static str,
    headers: &'static [(&'static str, &'static str)],
    keeps: &'static str,
    because: &'static [&'static str],
) -> Case {
    Case { name, headers, keeps, because, ..FREE }
}

pub(super) const fn as_form(case: Case, form: Form) -> Case {
    Case { form, ..case }
}

const fn as_status(case: Case, status: u16) -> Case {
    Case { status, ..case }
}

pub(super) const fn with_excerpt(case: Case, most: usize) -> Case {
    Case { excerpt: Some(most), ..case }
}

pub(super) const fn with_consent(case: Case, consent: &'static [&'static str]) -> Case {
    Case { consent, ..case }
}

/// Of robots.txt: a `Noindex` line and consent lines.
pub(super) const ROBOTS_TXT: &str = "User-agent: *\nAllow: /\nNoindex: /c/rnoindex\n\
                                     Content-Usage: /c/rusage train-ai=n\nContent-Signal: /c/rsignal search=yes, ai-input=no\n";

pub(super) const CASES: &[Case] = &[
    // 4.4: each term in a tag.
    tag("free", "", "tbli", &[]),
    tag("all", "<meta name=robots content=all>", "tbli", &[]),
    tag("positive", "<meta name=robots content='index, follow, archive, snippet'>", "tbli", &[]),
    tag("noindex", "<meta name=robots content=noindex>", "li", &["noindex (meta robots: noindex)"]),
    tag("nofollow", "<meta name=robots content=nofollow>", "tb", &["nofollow (meta robots: nofollow)"]),
    tag(
        "none",
        "<meta name=robots content=none>",
        "",
        &["nofollow (meta robots: none)", "noindex (meta robots: none)"],
    ),
    tag("noarchive", "<meta name=robots content=noarchive>", "tli", &["noarchive (meta robots: noarchive)"]),
    tag("nocache", "<meta name=robots content=nocache>", "tli", &["noarchive (meta robots: nocache)"]),
    with_excerpt(
        tag(
            "nosnippet",
            "<meta name=robots content=nosnippet>",
            "tbli",
            &["nosnippet (meta robots: nosnippet)"],
        ),
        0,
    ),
    with_excerpt(
        tag(
            "maxsnippet",
            "<meta name=robots content='max-snippet:12'>",
            "tbli",
            &["max-snippet:12 (meta robots: max-snippet:12)"],
        ),
        12,
    ),
    with_excerpt(
        tag(
            "maxsnippet0",
            "<meta name=robots content='max-snippet=0'>",
            "tbli",
            &["max-snippet:0 (meta robots: max-snippet=0)"],
        ),
        0,
    ),
    tag(
        "maxsnippetall",
        "<meta name=robots content='max-snippet:-1'>",
        "tbli",
        &["max-snippet:-1 (meta robots: max-snippet:-1)"],
    ),
    tag("maxsnippetbad", "<meta name=robots content='max-snippet:many'>", "tbli", &[]),
    tag(
        "previews",
        "<meta name=robots content='max-image-preview:none, max-video-preview:0'>",
        "tbli",
        &[
            "max-image-preview:none (meta robots: max-image-preview:none, max-video-preview:0)",
            "max-video-preview:0 (meta robots: max-image-preview:none, max-video-preview:0)",
        ],
    ),
    tag(
        "noimageindex",
        "<meta name=robots content=noimageindex>",
        "tbl",
        &["noimageindex (meta robots: noimageindex)"],
    ),
    tag(
        "notranslate",
        "<meta name=robots content=notranslate>",
        "tbli",
        &["notranslate (meta robots: notranslate)"],
    ),
    with_excerpt(
        tag(
            "gone",
            "<meta name=robots content='unavailable_after: 2020-09-21'>",
            "li",
            &["unavailable_after: 2020-09-21T00:00:00Z (meta robots: unavailable_after: 2020-09-21)"],
        ),
        0,
    ),
    tag(
        "later",
        "<meta name=robots content='unavailable_after: Wed, 21 Sep 2950 10:00:00 GMT'>",
        "tbli",
        &[
            "unavailable_after: 2950-09-21T10:00:00Z (meta robots: unavailable_after: Wed, 21 Sep 2950 10:00:00 GMT)",
        ],
    ),
    tag("whenever", "<meta name=robots content='unavailable_after: whenever'>", "tbli", &[]),
    tag(
        "embedded",
        "<meta name=robots content='noindex, indexifembedded'>",
        "li",
        &[
            "indexifembedded (meta robots: noindex, indexifembedded)",
            "noindex (meta robots: noindex, indexifembedded)",
        ],
    ),
    with_consent(
        tag("noai", "<meta name=robots content=noai>", "tbli", &["noai (meta robots: noai)"]),
        &["no-ai ai-train deny", "no-ai ai-train-images deny"],
    ),
    with_consent(
        tag("noml", "<meta name=robots content=noml>", "tbli", &["noml (meta robots: noml)"]),
        &["no-ai ai-train deny", "no-ai ai-train-images deny"],
    ),
    with_consent(
        tag(
            "noimageai",
            "<meta name=robots content=noimageai>",
            "tbli",
            &["noimageai (meta robots: noimageai)"],
        ),
        &["no-ai ai-train-images deny"],
    ),
    tag(
        "oldterms",
        "<meta name=robots content='noodp,noydir,noyaca,nositelinkssearchbox'>",
        "tbli",
        &[
            "noodp (meta robots: noodp,noydir,noyaca,nositelinkssearchbox)",
            "nositelinkssearchbox (meta robots: noodp,noydir,noyaca,nositelinkssearchbox)",
            "noyaca (meta robots: noodp,noydir,noyaca,nositelinkssearchbox)",
            "noydir (meta robots: noodp,noydir,noyaca,nositelinkssearchbox)",
        ],
    ),
    tag("unknown", "<meta name=robots content=indexnow>", "tbli", &[]),
    // 4.1, 4.2: where tags are and whom they address.
    tag("ours", "<meta name=SuperRobot content=noindex>", "li", &["noindex (meta superrobot: noindex)"]),
    tag("alias", "<meta name=newsbot content=noarchive>", "tli", &["noarchive (meta newsbot: noarchive)"]),
    tag("others", "<meta name=otherbot content=none><meta name=superrobots content=none>", "tbli", &[]),
    tag(
        "unlifted",
        "<meta name=robots content=noindex><meta name=superrobot content='index, all'>",
        "li",
        &["noindex (meta robots: noindex)"],
    ),
    tag(
        "twotags",
        "<meta name=robots content=noarchive><meta name=robots content=nofollow>",
        "t",
        &["noarchive (meta robots: noarchive)", "nofollow (meta robots: nofollow)"],
    ),
    tag(
        "equiv",
        "<meta http-equiv=X-Robots-Tag content=noindex>",
        "li",
        &["noindex (meta http-equiv x-robots-tag: noindex)"],
    ),
    tag(
        "printed",
        "<META NAME=”Robots” CONTENT=”noindex,nofollow”>",
        "",
        &["nofollow (meta robots: ”noindex,nofollow”)", "noindex (meta robots: ”noindex,nofollow”)"],
    ),
    tag(
        "lenient",
        "<meta name=robots content='no-index; NO FOLLOW'>",
        "",
        &["nofollow (meta robots: no-index; NO FOLLOW)", "noindex (meta robots: no-index; NO FOLLOW)"],
    ),
    tag(
        "firstattr",
        "<meta name=robots content=noindex content=index>",
        "li",
        &["noindex (meta robots: noindex)"],
    ),
    tag(
        "noscript",
        "<noscript><meta name=robots content=noindex></noscript>",
        "li",
        &["noindex (meta robots: noindex)"],
    ),
    Case {
        name: "inbody",
        body: "<div><p><meta name=robots content=noindex>",
        keeps: "li",
        because: &["noindex (meta robots: noindex)"],
        ..FREE
    },
    tag(
        "nosource",
        "<!-- <meta name=robots content=none> --><script>'<meta name=robots content=none>'</script>\
         <template><meta name=robots content=none></template><style>/*<meta name=robots content=none>*/</style>\
         <meta property=robots content=none><meta name=robots>",
        "tbli",
        &[],
    ),
    // 4.3: header lines.
    line("xnoindex", &[("X-Robots-Tag", "noindex")], "li", &["noindex (header x-robots-tag: noindex)"]),
    line("xnofollow", &[("X-Robots-Tag", "nofollow")], "tb", &["nofollow (header x-robots-tag: nofollow)"]),
    line(
        "xnoarchive",
        &[("X-Robots-Tag", "noarchive")],
        "tli",
        &["noarchive (header x-robots-tag: noarchive)"],
    ),
    line(
        "xours",
        &[("X-Robots-Tag", "superrobot: noindex")],
        "li",
        &["noindex (header x-robots-tag: superrobot: noindex)"],
    ),
    line("xothers", &[("X-Robots-Tag", "otherbot: noindex, nofollow")], "tbli", &[]),
    line(
        "xscopes",
        &[("X-Robots-Tag", "badbot: noindex, nofollow, newsbot: noarchive")],
        "tli",
        &["noarchive (header x-robots-tag: badbot: noindex, nofollow, newsbot: noarchive)"],
    ),
    line(
        "xlines",
        &[("X-Robots-Tag", "otherbot: noindex"), ("X-Robots-Tag", "noarchive")],
        "tli",
        &["noarchive (header x-robots-tag: noarchive)"],
    ),
    line(
        "xback",
        &[("X-Robots-Tag", "otherbot: all, *: noindex")],
        "li",
        &["noindex (header x-robots-tag: otherbot: all, *: noindex)"],
    ),
    with_excerpt(
        line(
            "rtag",
            &[("Robots-Tag", "*=noarchive, nosnippet; SuperRobot=;")],
            "tli",
            &[
                "noarchive (header robots-tag: *=noarchive, nosnippet; SuperRobot=;)",
                "nosnippet (header robots-tag: *=noarchive, nosnippet; SuperRobot=;)",
            ],
        ),
        0,
    ),
    line("rtagother", &[("Robots-Tag", "OtherBot=noindex")], "tbli", &[]),
    Case {
        name: "both",
        head: "<meta name=robots content='index, follow'>",
        headers: &[("X-Robots-Tag", "noindex")],
        keeps: "li",
        because: &["noindex (header x-robots-tag: noindex)"],
        ..FREE
    },
    with_excerpt(
        line(
            "xgone",
            &[("X-Robots-Tag", "unavailable_after: 25 Jun 2010 15:00:00 PST")],
            "li",
            &[
                "unavailable_after: 2010-06-25T23:00:00Z (header x-robots-tag: unavailable_after: 25 Jun 2010 15:00:00 PST)",
            ],
        ),
        0,
    ),
    // Other media types.
    as_form(line("pdf", &[], "tb", &[]), Form::Pdf),
    as_form(
        line("pdfnoindex", &[("X-Robots-Tag", "noindex")], "", &["noindex (header x-robots-tag: noindex)"]),
        Form::Pdf,
    ),
    as_form(
        line(
            "pdfnoarchive",
            &[("X-Robots-Tag", "noarchive")],
            "t",
            &["noarchive (header x-robots-tag: noarchive)"],
        ),
        Form::Pdf,
    ),
    as_form(line("image", &[], "tb", &[]), Form::Image),
    as_form(
        line(
            "imagenone",
            &[("X-Robots-Tag", "none")],
            "",
            &["nofollow (header x-robots-tag: none)", "noindex (header x-robots-tag: none)"],
        ),
        Form::Image,
    ),
    as_form(line("imageothers", &[("X-Robots-Tag", "otherbot: none")], "tb", &[]), Form::Image),
    as_form(
        line("plainnoindex", &[("X-Robots-Tag", "NoIndex")], "", &["noindex (header x-robots-tag: NoIndex)"]),
        Form::Plain,
    ),
    // No page to a browser; its content restricts all the same.
    as_form(
        tag(
            "plaintag",
            "<meta name=robots content=none>",
            "",
            &["nofollow (meta robots: none)", "noindex (meta robots: none)"],
        ),
        Form::Plain,
    ),
    as_form(line("plain", &[], "tb", &[]), Form::Plain),
    // Redirects and error pages: the body is that of the answer, text and links aren't used.
    as_status(line("moved", &[("Location", "/moved-to")], "b", &[]), 301),
    as_status(
        line(
            "movednoindex",
            &[("Location", "/moved-noindex"), ("X-Robots-Tag", "noindex")],
            "",
            &["noindex (header x-robots-tag: noindex)"],
        ),
        302,
    ),
    as_status(
        line(
            "movednoarchive",
            &[("Location", "/moved-noarchive"), ("X-Robots-Tag", "superrobot: noarchive")],
            "",
            &["noarchive (header x-robots-tag: superrobot: noarchive)"],
        ),
        307,
    ),
    as_status(
        line(
            "movednofollow",
            &[("Location", "/moved-nofollow"), ("X-Robots-Tag", "nofollow")],
            "b",
            &["nofollow (header x-robots-tag: nofollow)"],
        ),
        308,
    ),
    as_status(tag("missing", "", "b", &[]), 404),
    as_status(
        tag("missingnoindex", "<meta name=robots content=noindex>", "", &["noindex (meta robots: noindex)"]),
        404,
    ),
    as_status(
        line(
            "missingnoarchive",
            &[("X-Robots-Tag", "noarchive")],
            "",
            &["noarchive (header x-robots-tag: noarchive)"],
        ),
        410,
    ),
    // 4.7.
    tag(
        "dynamic",
        "<meta name=document-state content=DYNAMIC>",
        "li",
        &["document-state:dynamic (meta document-state: DYNAMIC)"],
    ),
    tag("static", "<meta name=document-state content=Static>", "tbli", &[]),
    tag(
        "revisit",
        "<meta name=revisit-after content='10 days'>",
        "tbli",
        &["revisit-after:240h (meta revisit-after: 10 days)"],
    ),
    // Section 5, for a crawl that is for search and archive.
    with_consent(
        line("usage", &[("Content-Usage", "train-ai=n, search=y")], "tbli", &[]),
        &["content-usage search allow", "content-usage ai-train deny"],
    ),
    with_consent(
        line("signal", &[("Content-Signal", "ai-input=no")], "tbli", &[]),
        &["content-signal ai-input deny"],
    ),
    with_consent(line("full", &[("Content-Signal", "use=full")], "tbli", &[]), &["content-signal use full"]),
    with_consent(
        line("reference", &[("Content-Signal", "use=reference")], "tli", &[]),
        &["content-signal use reference"],
    ),
    with_consent(
        line("immediate", &[("Content-Signal", "use=immediate")], "li", &[]),
        &["content-signal use immediate"],
    ),
    with_consent(
        line(
            "tdmheader",
            &[("tdm-reservation", "1")],
            "tbli",
            &["tdm-reservation:1 (header tdm-reservation: 1)"],
        ),
        &["tdm-rep tdm deny"],
    ),
    with_consent(
        tag(
            "tdmtag",
            "<meta name=tdm-reservation content=1>",
            "tbli",
            &["tdm-reservation:1 (meta tdm-reservation: 1)"],
        ),
        &["tdm-rep tdm deny"],
    ),
    tag("tdmyes", "<meta name=tdm-reservation content=yes>", "tbli", &[]),
    // robots.txt speaks of these.
    tag("rnoindex", "", "li", &["noindex (robots.txt line 3: Noindex: /c/rnoindex)"]),
    with_consent(tag("rusage", "", "tbli", &[]), &["content-usage ai-train deny"]),
    with_consent(
        tag("rsignal", "", "tbli", &[]),
        &["content-signal search allow", "content-signal ai-input deny"],
    ),
];
