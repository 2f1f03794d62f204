//! The answer as JSON.

use meta::Directives;
use serde_json::{Value, json};

use super::decide::Checked;

/// Returns the answer with the fields that `docs/cli.md` names.
pub(super) fn as_json(checked: &Checked) -> serde_json::Map<String, Value> {
    let d = &checked.directives;
    let because = d.because.iter().map(|b| json!({"directive": b.directive, "source": b.source.to_string()}));
    let warnings = d.warnings.iter().map(|w| json!({"message": w.message, "source": w.source.to_string()}));
    let consent = checked.statements.iter().map(|s| {
        json!({
            "signal": s.signal.name(),
            "purpose": s.claim.purpose_name(),
            "verdict": s.claim.verdict_name(),
            "source": s.source.to_string(),
        })
    });
    let answer = json!({
        "index": d.index,
        "follow": d.follow,
        "archive": d.archive,
        "snippet": d.snippet,
        "max_snippet": d.max_snippet,
        "max_image_preview": d.max_image_preview,
        "max_video_preview": d.max_video_preview,
        "imageindex": d.imageindex,
        "translate": d.translate,
        "indexifembedded": d.indexifembedded,
        "unavailable_after": d.unavailable_after,
        "ai_train": d.ai_train,
        "ai_train_images": d.ai_train_images,
        "tdm_reservation": d.tdm_reservation,
        "tdm_policy": d.tdm_policy,
        "document_state": d.document_state,
        "meta_url": d.meta_url,
        "canonical": checked.canonical,
        "keywords": d.keywords,
        "description": d.description,
        "revisit_after_days": revisit_days(d),
        "refresh": d.refresh,
        "effects": d.effects(),
        "links": checked.links,
        "consent": consent.collect::<Vec<_>>(),
        "because": because.collect::<Vec<_>>(),
        "warnings": warnings.collect::<Vec<_>>(),
    });
    match answer {
        Value::Object(answer) => answer,
        _ => serde_json::Map::new(),
    }
}

/// Returns the wish for a revisit in days: a whole number where it is one.
pub(super) fn revisit_days(directives: &Directives) -> Option<Value> {
    const DAY: u64 = 24 * 3600;
    let seconds = directives.revisit_after?.as_secs();
    Some(if seconds.is_multiple_of(DAY) { json!(seconds / DAY) } else { json!(seconds as f64 / DAY as f64) })
}
