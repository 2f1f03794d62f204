//! The link graph of hosts: the strongest of its edges, as a drawing and as a table.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::f64::consts::TAU;

use maud::{Markup, html};
use serde::Serialize;

use super::crawl_view::CrawlView;
use super::failure::Failure;
use super::layout::{host_link, shown};
use crate::view::{HostLink, HostLinks, View};
use page::quantity::grouped;

/// Edges that are kept: those with the most links.
const EDGES: usize = 300;

/// Edges that are listed at first.
const LISTED: usize = 25;

/// Hosts that are drawn: those with the most links among them.
const DRAWN: usize = 40;

/// Of the ring.
const RADIUS: f64 = 200.0;

/// The link graph of hosts.
#[derive(Debug, Serialize)]
pub(super) struct HostGraph {
    /// Form of this object: 1.
    v: u32,
    /// The pairs of hosts with the most links from one to the other, at most 300.
    edges: Vec<HostLink>,
    /// Pairs in all.
    edges_count: u64,
    /// Links between different hosts in all.
    links_count: u64,
    /// Those of its hosts that the crawl knows: others are outside of its scope.
    hosts: BTreeSet<String>,
}

/// Counts the links between hosts. Reads all links once.
pub(super) fn count(view: &CrawlView) -> Result<HostGraph, Failure> {
    let HostLinks { strongest: edges, pairs, links } = view.host_links(EDGES)?;
    let named: BTreeSet<&str> =
        edges.iter().flat_map(|edge| [edge.from.as_str(), edge.to.as_str()]).collect();
    let mut hosts = BTreeSet::new();
    for host in view.parts().flat_map(View::hosts) {
        let host = host?.host;
        if named.contains(host.as_str()) {
            hosts.insert(host);
        }
    }
    Ok(HostGraph { v: 1, edges, edges_count: pairs, links_count: links, hosts })
}

/// The page's main part. `crawl` is how commands name the crawl.
pub(super) fn main(graph: &HostGraph, crawl: &str) -> Markup {
    html! {
        h1 { "Link graph of hosts" }
        p {
            (grouped(graph.links_count)) " links lead from one host to another, between " (grouped(graph.edges_count)) " pairs of hosts."
            @if graph.edges.len() < usize::try_from(graph.edges_count).unwrap_or(usize::MAX) { " Those with the most links are listed: " (graph.edges.len()) "." }
            " Links of pages under noindex aren't counted."
            " The whole graph, for Gephi and others: " code { "crawl export " (crawl) " --format graphml" } "."
        }
        @if !graph.edges.is_empty() {
            (drawing(graph))
            h2 { "Links from host to host" }
            (table(graph, &graph.edges[..graph.edges.len().min(LISTED)], "Links from host to host"))
            @if graph.edges.len() > LISTED {
                details {
                    summary { "The next " (graph.edges.len() - LISTED) }
                    (table(graph, &graph.edges[LISTED..], "Links from host to host, continued"))
                }
            }
        }
    }
}

fn table(graph: &HostGraph, edges: &[HostLink], caption: &str) -> Markup {
    let name = |name: &str| html! { @if graph.hosts.contains(name) { (host_link(name)) } @else { bdi { (shown(name)) } } };
    html! {
        div .scroll tabindex="0" role="region" aria-label=(caption) {
            table {
                thead { tr { th scope="col" { "From" } th scope="col" { "To" } th .number scope="col" { "Links" } } }
                tbody { @for edge in edges { tr { td { (name(&edge.from)) } td { (name(&edge.to)) } td .number { (grouped(edge.links)) } } } }
            }
        }
    }
}

/// Hosts on a ring, with a line for each edge.
fn drawing(graph: &HostGraph) -> Markup {
    let mut weights: BTreeMap<&str, u64> = BTreeMap::new();
    for edge in &graph.edges {
        *weights.entry(&edge.from).or_default() += edge.links;
        *weights.entry(&edge.to).or_default() += edge.links;
    }
    let mut names: Vec<(&str, u64)> = weights.into_iter().collect();
    names.sort_by_key(|(name, weight)| (Reverse(*weight), *name));
    names.truncate(DRAWN);
    let heaviest = names.first().map_or(1, |(_, weight)| *weight).max(1) as f64;
    let names = spread(names, &graph.hosts);
    let place: BTreeMap<&str, usize> =
        names.iter().enumerate().map(|(place, (name, _))| (*name, place)).collect();
    let angle = |place: usize| TAU * place as f64 / names.len() as f64 - TAU / 4.0;
    let at = |place: usize| (angle(place).cos() * RADIUS, angle(place).sin() * RADIUS);
    let most = graph.edges.iter().map(|edge| edge.links).max().unwrap_or(1).max(1) as f64;
    let drawn: Vec<(&HostLink, usize, usize)> = graph
        .edges
        .iter()
        .filter_map(|edge| Some((edge, *place.get(edge.from.as_str())?, *place.get(edge.to.as_str())?)))
        .collect();
    let alt = format!(
        "The {} hosts with the most links between them, on a ring; the table below has the numbers",
        names.len()
    );
    html! {
        figure .graph {
            svg viewBox="-380 -380 760 760" role="img" aria-label=(alt) focusable="false" {
                @for (edge, from, to) in &drawn {
                    @let ((x1, y1), (x2, y2)) = (at(*from), at(*to));
                    @let width = 0.6 + 5.0 * (edge.links as f64).ln_1p() / most.ln_1p();
                    // Bent towards the middle, to one side, so that both directions show.
                    @let (cx, cy) = ((x1 + x2) * 0.25 + (y1 - y2) * 0.08, (y1 + y2) * 0.25 + (x2 - x1) * 0.08);
                    path .edge d=(format!("M{x1:.1} {y1:.1}Q{cx:.1} {cy:.1} {x2:.1} {y2:.1}")) stroke-width=(format!("{width:.2}")) {
                        title { (edge.from) " to " (edge.to) ": " (edge.links) }
                    }
                }
                @for (number, (name, weight)) in names.iter().enumerate() {
                    @let (x, y) = at(number);
                    @let size = 4.0 + 12.0 * (*weight as f64 / heaviest).sqrt();
                    // Names point away from the middle, and are never upside down.
                    @let turn = angle(number).to_degrees();
                    @let (turn, anchor, away) = if x < -0.1 { (turn + 180.0, "end", -size - 5.0) } else { (turn, "start", size + 5.0) };
                    circle .node .outside[!graph.hosts.contains(*name)] cx=(format!("{x:.1}")) cy=(format!("{y:.1}")) r=(format!("{size:.1}")) { title { (name) } }
                    text transform=(format!("translate({x:.1} {y:.1}) rotate({turn:.1})")) x=(format!("{away:.1}")) y="4" text-anchor=(anchor) { (short(name)) }
                }
            }
            figcaption { span { "Hosts with the most links: " (names.len()) ". Thick lines are many links; empty circles are hosts outside of the crawl; links within a host aren't drawn." } }
        }
    }
}

/// The hosts of the crawl at equal distances, the others between them: where most links are, they would hide each other.
fn spread<'a>(names: Vec<(&'a str, u64)>, known: &BTreeSet<String>) -> Vec<(&'a str, u64)> {
    let count = names.len();
    let (inside, outside): (Vec<_>, Vec<_>) = names.into_iter().partition(|(name, _)| known.contains(*name));
    let many = inside.len().max(1);
    let (mut inside, mut outside) = (inside.into_iter(), outside.into_iter());
    let is_place_of_inside =
        |place: usize| place * many / count.max(1) != (place + count - 1) * many / count.max(1) - many;
    (0..count)
        .filter_map(|place| {
            if place == 0 || is_place_of_inside(place) {
                inside.next().or_else(|| outside.next())
            } else {
                outside.next().or_else(|| inside.next())
            }
        })
        .collect()
}

/// A name that fits beside its circle.
fn short(name: &str) -> String {
    let name = shown(name);
    match name.char_indices().nth(24) {
        None => name,
        Some((end, _)) => format!("{}…", &name[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hosts_of_the_crawl_are_spread_over_the_ring() {
        let names = vec![("a", 9), ("b", 8), ("c", 7), ("x", 3), ("y", 2), ("z", 1)];
        let known = ["a", "b", "c"].map(str::to_owned).into_iter().collect();
        let spread: String = spread(names, &known).into_iter().map(|(name, _)| name).collect();
        assert_eq!(spread, "axbycz");
        assert_eq!(super::spread(vec![("x", 1), ("y", 1)], &BTreeSet::new()), [("x", 1), ("y", 1)]);
        assert!(super::spread(Vec::new(), &known).is_empty());
    }
}
