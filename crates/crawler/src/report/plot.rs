//! Plots as inline SVG. Colours are names of the style sheet, so that a plot is readable on light and on dark ground and in print.

use std::error::Error;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::view::{Counted, GapClass, Timeline};
use page::quantity::grouped;

/// Colours that `report.css` replaces, by the attributes that have them.
pub(super) const INK: RGBColor = RGBColor(1, 1, 1);
const GRID: RGBColor = RGBColor(2, 2, 2);
pub(super) const BAR: RGBColor = RGBColor(3, 3, 3);
pub(super) const BAD: RGBColor = RGBColor(4, 4, 4);

/// Width of a plot, in units of its own: it is as wide as the page.
pub(super) const WIDTH: u32 = 760;

/// Bars of a list of counts; what comes after them is one bar.
const MOST_BARS: usize = 12;

/// Height of a bar with the space below it.
const BAR_HEIGHT: i32 = 26;

/// Where the bars begin.
const LABELS: i32 = 230;

/// Where the longest bar ends.
const BARS_END: i32 = 680;

/// Characters of a label.
const LABEL_LENGTH: usize = 34;

type Drawn = Result<(), Box<dyn Error>>;
pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Draws an SVG of this height. What can't be drawn leaves a plot without it: the numbers are below each plot.
pub(super) fn svg(height: u32, alternative: &str, draw: impl FnOnce(&Area<'_>) -> Drawn) -> String {
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, (WIDTH, height)).into_drawing_area();
        if let Err(error) = draw(&area).and_then(|()| Ok(area.present()?)) {
            tracing::warn!("a plot of the report is incomplete: {error}");
        }
    }
    // As wide as the page, and with a text for those who don't see it.
    let drawn = text.find('>').map_or("", |end| &text[end + 1..]);
    let alternative = quick_xml::escape::escape(alternative);
    format!("<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{alternative}\">{drawn}")
}

/// Text of a plot: its size and place.
pub(super) fn label(size: i32, horizontal: HPos, vertical: VPos) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&INK).pos(Pos::new(horizontal, vertical))
}

/// A text that is short enough for a label.
pub(super) fn shortened(text: &str) -> String {
    page::clean::clean_to(text, LABEL_LENGTH)
}

/// The bars that a list of counts is drawn as: its first ones, and one for the rest.
pub(super) fn bars_of(counts: &[Counted]) -> Vec<Counted> {
    if counts.len() <= MOST_BARS {
        return counts.to_vec();
    }
    let (first, rest) = counts.split_at(MOST_BARS - 1);
    let what = format!("{} others", rest.len());
    let count = rest.iter().map(|counted| counted.count).sum();
    first.iter().cloned().chain([Counted { what, count }]).collect()
}

/// Counts as horizontal bars, each with its number.
pub(super) fn bars(counts: &[Counted], alternative: &str) -> String {
    let bars = bars_of(counts);
    let most = bars.iter().map(|counted| counted.count).max().unwrap_or(0).max(1);
    let height = bars.len() as u32 * BAR_HEIGHT.unsigned_abs() + 8;
    svg(height, alternative, |area| {
        for (top, counted) in (4..).step_by(BAR_HEIGHT as usize).zip(&bars) {
            let middle = top + BAR_HEIGHT / 2 - 2;
            let length = (counted.count as f64 / most as f64 * f64::from(BARS_END - LABELS)).round() as i32;
            let end = LABELS + length.max(1);
            let name = shortened(&counted.what);
            area.draw(&Text::new(name, (LABELS - 8, middle), label(17, HPos::Right, VPos::Center)))?;
            area.draw(&Rectangle::new([(LABELS, top), (end, top + BAR_HEIGHT - 5)], BAR.filled()))?;
            let number = grouped(counted.count);
            area.draw(&Text::new(number, (end + 6, middle), label(17, HPos::Left, VPos::Center)))?;
        }
        Ok(())
    })
}

/// Requests over time: all of them, and the failed ones in front.
pub(super) fn timeline(timeline: &Timeline, alternative: &str) -> String {
    let most = timeline.steps.iter().map(|step| step.requests).max().unwrap_or(0).max(1);
    let end = timeline.steps.len() as f64;
    svg(240, alternative, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin(10)
            .x_label_area_size(30)
            .y_label_area_size(60)
            .build_cartesian_2d(0.0..end.max(1.0), 0.0..most as f64 * 1.05)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID)
            .axis_style(INK)
            .label_style(label(16, HPos::Center, VPos::Center))
            .x_labels(6)
            .y_labels(5)
            .x_label_formatter(&|step| time_label(timeline, *step))
            .y_label_formatter(&|number| {
                if number.fract() == 0.0 { grouped(*number as u64) } else { String::new() }
            })
            .draw()?;
        let bar = |place: usize, number: u64, colour: RGBColor| {
            let (from, to) = (place as f64, place as f64 + 1.0);
            Rectangle::new([(from, 0.0), (to, number as f64)], colour.filled())
        };
        let steps = || timeline.steps.iter().enumerate();
        chart.draw_series(
            steps().filter(|(_, step)| step.requests > 0).map(|(at, step)| bar(at, step.requests, BAR)),
        )?;
        chart.draw_series(
            steps().filter(|(_, step)| step.failed > 0).map(|(at, step)| bar(at, step.failed, BAD)),
        )?;
        Ok(())
    })
}

/// The time at a place of a time line: with the date if it covers more than a day.
fn time_label(timeline: &Timeline, step: f64) -> String {
    let Some(start) = timeline.start else { return String::new() };
    let seconds = (step * timeline.step_s as f64) as i64;
    let at = start.0.as_second().saturating_add(seconds);
    let Ok(at) = Timestamp::from_second(at) else { return String::new() };
    let covered = timeline.step_s.unsigned_abs().saturating_mul(timeline.steps.len() as u64);
    let form = match covered {
        ..600 => "%H:%M:%S",
        600..86_400 => "%H:%M",
        86_400..864_000 => "%m-%d %H:%M",
        _ => "%Y-%m-%d",
    };
    at.to_zoned(TimeZone::UTC).strftime(form).to_string()
}

/// The gaps by how many times the delay they were.
pub(super) fn gap_counts(classes: &[GapClass]) -> Vec<Counted> {
    classes.iter().map(|class| Counted { what: class.to_string(), count: class.count }).collect()
}
