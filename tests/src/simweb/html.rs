//! Writes a page of the model as HTML and its header fields.

use std::fmt::Write as _;

use super::model::{AGENT, Link, LinkKind, Page, Place};

/// Writes the page.
pub(super) fn body(page: &Page) -> String {
    let mut html = String::from("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n");
    let marker = &page.marker;
    let _ = writeln!(
        html,
        "<title>Title {marker}</title>\n<meta name=\"description\" content=\"About {marker}\">"
    );
    for (directive, place) in &page.directives {
        let name = match place {
            Place::Meta => "robots",
            Place::AgentMeta => AGENT,
            Place::OtherMeta => "otherbot",
            Place::Header | Place::AgentHeader | Place::OtherHeader => continue,
        };
        let _ = writeln!(html, "<meta name=\"{name}\" content=\"{}\">", directive.word());
    }
    if let Some(base) = &page.base {
        let _ = writeln!(html, "<base href=\"{base}\">");
    }
    let (head, rest): (Vec<&Link>, Vec<&Link>) = page.links.iter().partition(|link| in_head(link.kind));
    for link in head {
        element(&mut html, link);
    }
    let _ = writeln!(
        html,
        "</head><body>\n<p>Text {marker} text.</p>\n<!-- <a href=\"/commented-out\">no</a> -->"
    );
    let (last, rest) = rest.split_last().map_or((None, &rest[..]), |(last, rest)| (Some(last), rest));
    for link in rest {
        element(&mut html, link);
    }
    if page.padding > 0 {
        let words = "Lorem ipsum dolor sit amet. ";
        let _ = writeln!(html, "<p>{}</p>", words.repeat(page.padding / words.len() + 1));
    }
    if let Some(last) = last {
        element(&mut html, last);
    }
    html.push_str("<a href=\"mailto:someone@a.test\">mail</a> <a href=\"javascript:void(0)\">script</a></body></html>\n");
    html
}

/// Returns the values of the `X-Robots-Tag` fields.
pub(super) fn robots_tags(page: &Page) -> Vec<String> {
    let value = |(directive, place): &(super::Directive, Place)| match place {
        Place::Header => Some(directive.word().to_owned()),
        Place::AgentHeader => Some(format!("{AGENT}: {}", directive.word())),
        Place::OtherHeader => Some(format!("otherbot: {}", directive.word())),
        Place::Meta | Place::AgentMeta | Place::OtherMeta => None,
    };
    page.directives.iter().filter_map(value).collect()
}

fn in_head(kind: LinkKind) -> bool {
    matches!(kind, LinkKind::Next | LinkKind::Refresh | LinkKind::Stylesheet)
}

fn element(html: &mut String, link: &Link) {
    let href = link.href.replace('&', "&amp;");
    let rel = if link.nofollow { " rel=\"nofollow\"" } else { "" };
    let _ = match link.kind {
        LinkKind::Anchor => writeln!(html, "<a href=\"{href}\"{rel}>a link</a>"),
        LinkKind::Area => writeln!(html, "<map name=m><area href=\"{href}\"{rel}></map>"),
        LinkKind::Iframe => writeln!(html, "<iframe src=\"{href}\"></iframe>"),
        LinkKind::Next => writeln!(html, "<link rel=next href=\"{href}\">"),
        LinkKind::Refresh => writeln!(html, "<meta http-equiv=refresh content=\"30; url={href}\">"),
        LinkKind::Image => writeln!(html, "<img src=\"{href}\" alt=\"\">"),
        LinkKind::Script => writeln!(html, "<script src=\"{href}\"></script>"),
        LinkKind::Stylesheet => writeln!(html, "<link rel=stylesheet href=\"{href}\">"),
        LinkKind::Form => writeln!(html, "<form action=\"{href}\"><input name=q></form>"),
    };
}
