//! Charts as inline SVG, drawn from numbers alone, each with a text alternative and the numbers behind it.

use maud::{Markup, html};

use crate::view::Timeline;
use page::quantity::{grouped, size};

/// A bar of a list of bars.
#[derive(Debug)]
pub(super) struct Bar {
    pub(super) label: Markup,
    pub(super) count: u64,
}

/// Bars beside their labels and numbers: a table that also shows the shares. `what` says what is counted.
pub(super) fn bars(caption: &str, what: &str, bars: &[Bar]) -> Markup {
    let most = bars.iter().map(|bar| bar.count).max().unwrap_or_default().max(1);
    html! {
        div .scroll tabindex="0" role="region" aria-label=(caption) {
            table .bars {
                caption .visually-hidden { (caption) }
                thead .visually-hidden { tr { th scope="col" { (what) } th scope="col" { "Number" } } }
                tbody {
                    @for bar in bars {
                        tr {
                            th scope="row" { (bar.label) }
                            td .number { (grouped(bar.count)) }
                            td .bar aria-hidden="true" {
                                svg viewBox="0 0 100 8" preserveAspectRatio="none" focusable="false" {
                                    rect .track width="100" height="8" {}
                                    rect .fill width=(format!("{:.2}", bar.count as f64 * 100.0 / most as f64)) height="8" {}
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Requests over time as columns; the part that failed is of another colour.
pub(super) fn time_line(name: &str, line: &Timeline) -> Markup {
    let most = line.steps.iter().map(|step| step.requests).max().unwrap_or_default().max(1);
    let total: u64 = line.steps.iter().map(|step| step.requests).sum();
    let (width, height) = (720.0, 120.0);
    let step = width / line.steps.len().max(1) as f64;
    let length = span(line.step_s);
    let (Some(first), Some(last)) = (line.time_of(0), line.time_of(line.steps.len().saturating_sub(1)))
    else {
        return html! { p .quiet { "No request is on record yet." } };
    };
    let alt = format!("{name}: {total} requests from {first} to {last}, at most {most} in {length}");
    let tall = |count: u64| count as f64 * (height - 4.0) / most as f64;
    html! {
        figure .chart {
            svg .timeline viewBox=(format!("0 0 {width} {height}")) preserveAspectRatio="none" role="img" aria-label=(alt) focusable="false" {
                @for (place, counts) in line.steps.iter().enumerate() {
                    @for (class, count) in [("fill", counts.requests), ("fill failed", counts.failed)] {
                        @if count > 0 {
                            rect class=(class) x=(format!("{:.2}", place as f64 * step + step * 0.08)) y=(format!("{:.2}", height - tall(count)))
                                width=(format!("{:.2}", step * 0.84)) height=(format!("{:.2}", tall(count))) {}
                        }
                    }
                }
                line .axis x1="0" y1=(height) x2=(width) y2=(height) {}
            }
            figcaption { span { (time(&first.to_string())) } span { "requests in " (length) ", at most " (grouped(most)) } span { (time(&last.to_string())) } }
        }
        details {
            summary { "Numbers of " (name.to_lowercase()) }
            div .scroll tabindex="0" role="region" aria-label=(format!("Numbers of {}", name.to_lowercase())) {
                table {
                    thead { tr { th scope="col" { "From" } th .number scope="col" { "Requests" } th .number scope="col" { "Failed" } th .number scope="col" { "Received" } } }
                    tbody {
                        @for (place, counts) in line.steps.iter().enumerate() {
                            tr {
                                td { @if let Some(at) = line.time_of(place) { (time(&at.to_string())) } }
                                td .number { (grouped(counts.requests)) } td .number { (grouped(counts.failed)) } td .number { (size(counts.bytes)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A time as it is read: without the letters of RFC 3339, to the second; the whole of it is in the attribute.
pub(super) fn time(at: &str) -> Markup {
    let shown = at.get(..19).unwrap_or(at).replace('T', " ");
    html! { time datetime=(at) title=(at) { (shown) " UTC" } }
}

/// A length of time in words.
pub(super) fn span(seconds: i64) -> String {
    let (length, unit) = match seconds {
        1 => (1.0, "second"),
        ..120 => (seconds as f64, "seconds"),
        120..7200 => (seconds as f64 / 60.0, "minutes"),
        7200..172_800 => (seconds as f64 / 3600.0, "hours"),
        _ => (seconds as f64 / 86_400.0, "days"),
    };
    format!("{} {unit}", (length * 10.0).round() / 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_names_its_zone() {
        let shown = time("2026-03-01T12:30:05.120Z").into_string();
        assert!(shown.contains(">2026-03-01 12:30:05 UTC</time>"), "{shown}");
    }

    #[test]
    fn lengths_of_time_have_units() {
        assert_eq!(
            [1, 64, 128, 4096, 8192, 262_144].map(span),
            ["1 second", "64 seconds", "2.1 minutes", "68.3 minutes", "2.3 hours", "3 days"]
        );
    }
}
