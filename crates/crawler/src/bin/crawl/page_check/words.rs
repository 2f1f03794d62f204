//! The answer as text.

use std::io::{self, Write};

use meta::{DirectiveSource, Directives};
use page::clean::clean;

use super::answer::revisit_days;
use super::decide::{Check, Checked};

/// Writes the directives of a page as text: each flag with the tag or header line that set it.
pub(super) fn write_text(check: &Check, checked: &Checked, out: &mut dyn Write) -> io::Result<()> {
    let directives = &checked.directives;
    let due = directives.is_unavailable(check.now);
    let by = |keys: &[&str]| said(&directives.because, keys, due);
    let flag = |may: bool| if may { "yes" } else { "no" };
    writeln!(out, "read by {} ({} dialect)", clean(check.agent.token()), check.dialect)?;
    let flags = [
        ("index", directives.index, &["noindex", "unavailable_after"][..]),
        ("follow", directives.follow, &["nofollow"]),
        ("archive", directives.archive, &["noarchive"]),
        ("snippet", directives.snippet, &["nosnippet", "max-snippet:0", "unavailable_after"]),
        ("index images", directives.imageindex, &["noimageindex"]),
        ("translate", directives.translate, &["notranslate"]),
    ];
    for (name, may, keys) in flags {
        let because = if may { Vec::new() } else { by(keys) };
        line(out, name, flag(may), &because)?;
    }
    if let Some(limit) = directives.max_snippet {
        line(out, "longest excerpt", &limit.number().to_string(), &by(&["max-snippet"]))?;
    }
    if let Some(size) = directives.max_image_preview {
        line(out, "image preview", size.word(), &by(&["max-image-preview"]))?;
    }
    if let Some(limit) = directives.max_video_preview {
        line(out, "video preview", &limit.number().to_string(), &by(&["max-video-preview"]))?;
    }
    if let Some(date) = directives.unavailable_after {
        let when = format!("{date} ({})", if due { "passed" } else { "in the future" });
        line(out, "unavailable after", &when, &said(&directives.because, &["unavailable_after"], true))?;
    }
    if directives.indexifembedded {
        line(out, "index if embedded", "yes, no effect here", &by(&["indexifembedded"]))?;
    }
    if directives.document_state.is_some() {
        line(out, "document state", document_state(directives), &by(&["document-state"]))?;
    }
    if let Some(days) = revisit_days(directives) {
        let s = if days == 1 { "" } else { "s" };
        line(out, "revisit after", &format!("{days} day{s}"), &by(&["revisit-after"]))?;
    }
    for statement in &checked.statements {
        let source = vec![format!("{} ({})", statement.signal.name(), statement.source)];
        line(out, statement.claim.purpose_name(), statement.claim.verdict_name(), &source)?;
    }
    for (name, text) in [("canonical", &checked.canonical), ("mirror of", &directives.meta_url)] {
        if let Some(text) = text {
            line(out, name, text, &[])?;
        }
    }
    let effects = directives.effects();
    let may_be = |may: bool| if may { "may be" } else { "may not be" };
    writeln!(
        out,
        "the text {} stored, the body {} stored",
        may_be(effects.store_text.is_allowed()),
        may_be(effects.store_body.is_allowed())
    )?;
    match (effects.enqueue_links.is_allowed(), checked.links.len()) {
        (false, _) => writeln!(out, "no link of this page may be queued")?,
        (true, count) => writeln!(out, "links of this page that may be queued: {count}")?,
    }
    for warning in &directives.warnings {
        writeln!(out, "warning: {}", clean(&warning.to_string()))?;
    }
    Ok(())
}

/// Writes one answer with its reasons, one per line.
fn line(out: &mut dyn Write, name: &str, answer: &str, because: &[String]) -> io::Result<()> {
    writeln!(out, "  {name:<18} {}", clean(answer))?;
    because.iter().try_for_each(|because| writeln!(out, "  {:<18}   {}", "", clean(because)))
}

/// Selects the reasons of a flag. A date in the future isn't a reason yet.
fn said(because: &[DirectiveSource], keys: &[&str], due: bool) -> Vec<String> {
    let key = |because: &DirectiveSource| because.directive.split(':').next().unwrap_or_default().to_owned();
    let is_one = |because: &&DirectiveSource| {
        let key = key(because);
        keys.contains(&because.directive.as_str())
            || keys.contains(&key.as_str()) && (due || key != "unavailable_after")
    };
    because.iter().filter(is_one).map(ToString::to_string).collect()
}

fn document_state(directives: &Directives) -> &'static str {
    match directives.document_state {
        Some(meta::DocumentState::Dynamic) => "dynamic",
        _ => "static",
    }
}
