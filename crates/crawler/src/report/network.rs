//! The graph of the hosts that link to each other most, on a circle.

use std::collections::BTreeMap;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use super::plot::{BAR, INK, WIDTH, label, shortened, svg};
use crate::view::HostLinks;

/// Hosts on the circle.
const MOST_HOSTS: usize = 36;

/// Height of a row: a label has its own.
const ROW: f64 = 27.0;

/// Half the width of the circle.
const RADIUS: f64 = 190.0;

/// The hosts with the most links from and to others, the most first, at most 36; and how many links each has.
fn hosts(links: &HostLinks) -> Vec<(&str, u64)> {
    let mut of_host: BTreeMap<&str, u64> = BTreeMap::new();
    for link in &links.strongest {
        *of_host.entry(&link.from).or_default() += link.links;
        *of_host.entry(&link.to).or_default() += link.links;
    }
    let mut hosts: Vec<_> = of_host.into_iter().collect();
    hosts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    hosts.truncate(MOST_HOSTS);
    hosts
}

/// Draws it. Empty where no host links to another.
pub(super) fn network(links: &HostLinks) -> String {
    let mut hosts = hosts(links);
    if hosts.is_empty() {
        return String::new();
    }
    // By name from its end: hosts of one domain are neighbours.
    hosts.sort_by_key(|(host, _)| host.rsplit('.').collect::<Vec<_>>());
    let most = hosts.iter().map(|host| host.1).max().unwrap_or(1).max(1) as f64;
    // Down one side and up the other: each host has a row of its own.
    let rows = hosts.len().div_ceil(2);
    let height = (rows as f64 * ROW) as u32 + 16;
    let (centre, middle) = (f64::from(WIDTH) / 2.0, f64::from(height) / 2.0);
    let point = |place: usize, outwards: f64| {
        let (row, side) = if place < rows { (place, 1.0) } else { (2 * rows - 1 - place, -1.0) };
        let y = (row as f64 + 0.5 - rows as f64 / 2.0) * ROW;
        let x = (1.0 - (y / middle).powi(2)).max(0.0).sqrt() * RADIUS + outwards;
        ((centre + side * x).round() as i32, (middle + y).round() as i32)
    };
    let place_of: BTreeMap<&str, usize> =
        hosts.iter().enumerate().map(|(place, (host, _))| (*host, place)).collect();
    let strongest = links.strongest.first().map_or(1, |link| link.links).max(1) as f64;
    let alternative = format!(
        "Graph of {} hosts and the links between them; the table below has the numbers.",
        hosts.len()
    );
    svg(height, &alternative, |area| {
        for link in links.strongest.iter().rev() {
            let ends = (place_of.get(link.from.as_str()), place_of.get(link.to.as_str()));
            let (Some(from), Some(to)) = ends else { continue };
            let width = 1 + (link.links as f64 / strongest * 5.0).round() as u32;
            let line = BAR.mix(0.45).stroke_width(width);
            area.draw(&PathElement::new(vec![point(*from, 0.0), point(*to, 0.0)], line))?;
        }
        for (place, (host, count)) in hosts.iter().enumerate() {
            let radius = 4 + (*count as f64 / most * 8.0).round() as i32;
            area.draw(&Circle::new(point(place, 0.0), radius, INK.filled()))?;
            let horizontal = if place < rows { HPos::Left } else { HPos::Right };
            area.draw(&Text::new(shortened(host), point(place, 17.0), label(16, horizontal, VPos::Center)))?;
        }
        Ok(())
    })
}
