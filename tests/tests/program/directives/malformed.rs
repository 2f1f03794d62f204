//! Values that no grammar divides, in tags, header lines and links: what restricts in them counts. Agent SuperRobot, alias
//! newsbot, dialect strict.

use super::cases::{Case, FREE, Form, as_form, line, tag, with_consent, with_excerpt};

pub(super) const CASES: &[Case] = &[
    line(
        "spoiltbar",
        &[("X-Robots-Tag", "noindex|nofollow")],
        "",
        &[
            "nofollow (header x-robots-tag: noindex|nofollow)",
            "noindex (header x-robots-tag: noindex|nofollow)",
        ],
    ),
    // A no-break space in Latin-1: no UTF-8.
    line(
        "spoiltbyte",
        &[("X-Robots-Tag", "noindex\u{f7a0}")],
        "li",
        &["noindex (header x-robots-tag: noindex\u{fffd})"],
    ),
    as_form(
        line(
            "spoiltslash",
            &[("X-Robots-Tag", "noindex/noarchive")],
            "",
            &[
                "noarchive (header x-robots-tag: noindex/noarchive)",
                "noindex (header x-robots-tag: noindex/noarchive)",
            ],
        ),
        Form::Pdf,
    ),
    tag("spoiltdot", "<meta name=robots content='noindex.'>", "li", &["noindex (meta robots: noindex.)"]),
    tag(
        "spoiltjson",
        "<meta name=robots content='[\"noarchive\"]'>",
        "tli",
        &["noarchive (meta robots: [\"noarchive\"])"],
    ),
    tag(
        "spoiltwide",
        "<meta name=robots content=ｎｏｉｎｄｅｘ>",
        "li",
        &["noindex (meta robots: ｎｏｉｎｄｅｘ)"],
    ),
    tag("spoiltcyrillic", "<meta name=robots content=nоfоllоw>", "tb", &["nofollow (meta robots: nоfоllоw)"]),
    tag(
        "spoiltzero",
        "<meta name=robots content='no&#8203;index, no&shy;follow'>",
        "",
        &[
            "nofollow (meta robots: no\u{200b}index, no\u{ad}follow)",
            "noindex (meta robots: no\u{200b}index, no\u{ad}follow)",
        ],
    ),
    tag(
        "spoiltno",
        "<meta name=robots content='no index no follow'>",
        "",
        &["nofollow (meta robots: no index no follow)", "noindex (meta robots: no index no follow)"],
    ),
    line(
        "spoiltscope",
        &[("X-Robots-Tag", "otherbot: noindex | newsbot: noarchive")],
        "tli",
        &["noarchive (header x-robots-tag: otherbot: noindex | newsbot: noarchive)"],
    ),
    line(
        "spoiltlist",
        &[("X-Robots-Tag", "SuperRobot, otherbot: noindex")],
        "li",
        &["noindex (header x-robots-tag: SuperRobot, otherbot: noindex)"],
    ),
    tag(
        "spoiltname",
        "<meta name='robots,otherbot' content=noindex><meta name='SuperRobot/1.0' content=nofollow>",
        "",
        &["nofollow (meta superrobot/1.0: nofollow)", "noindex (meta robots,otherbot: noindex)"],
    ),
    line(
        "spoiltconfig",
        &[("Robots-Tag", "index=no; archive=no")],
        "li",
        &[
            "noarchive (header robots-tag: index=no; archive=no)",
            "noindex (header robots-tag: index=no; archive=no)",
        ],
    ),
    with_excerpt(
        tag(
            "spoiltdate",
            "<meta name=robots content='unavailable_after: Wed, 03 Dec 2014 13:09:53 GMT.'>",
            "li",
            &[
                "unavailable_after: 2014-12-03T13:09:53Z (meta robots: unavailable_after: Wed, 03 Dec 2014 13:09:53 GMT.)",
            ],
        ),
        0,
    ),
    tag(
        "spoiltword",
        "<meta name=robots content='noindexed|nofollowing the rules|indexnow'><meta name=robotscorner content=none>",
        "tbli",
        &[],
    ),
    tag(
        "spoiltallow",
        "<meta name=robots content=noindex><meta name=robots content='index|all'>",
        "li",
        &["noindex (meta robots: noindex)"],
    ),
    Case {
        name: "spoiltrel",
        body: "<a href=/spoilt/1 rel='nofollow,noopener'>1</a><a href=/spoilt/2 rel=no-follow>2</a>\
               <a href=/spoilt/3 rel='no follow'>3</a><a href=/spoilt/4 rel='ugc;external'>4</a>\
               <a href=/spoilt/5 rel='&quot;nofollow&quot;'>5</a><a href=/spoilt/6 rel=ｎｏｆｏｌｌｏｗ>6</a>",
        ..FREE
    },
    with_consent(
        line("spoiltsignal", &[("Content-Signal", "search=yes, ai-train=no\u{f7a0}")], "tbli", &[]),
        &["content-signal search allow", "content-signal ai-train deny"],
    ),
    with_consent(
        line("spoiltusage", &[("Content-Usage", "Train-AI=n;")], "tbli", &[]),
        &["content-usage ai-train deny"],
    ),
    with_consent(
        line(
            "spoilttdm",
            &[("tdm-reservation", "1.")],
            "tbli",
            &["tdm-reservation:1 (header tdm-reservation: 1.)"],
        ),
        &["tdm-rep tdm deny"],
    ),
];

/// The cases of these that are obeyed, so that the record has a warning.
pub(super) fn is_warned(case: &Case) -> bool {
    case.name.starts_with("spoilt")
        && case.name != "spoiltallow"
        && (!case.because.is_empty() || case.name == "spoiltrel")
}
