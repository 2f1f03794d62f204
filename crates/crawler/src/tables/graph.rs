//! The graphs of pages and of hosts, as GraphML or as a list of edges.

use std::borrow::Cow;
use std::io::{self, Write};

use quick_xml::escape::escape;

use crate::sorter::Sorter;
use crate::view::{CRAWL_COLUMN, Kind, RowSorter, Rows, Table, Value, View, ViewError, host_of, neutral};
use page::clean::clean;

/// Which graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Graph {
    /// URLs that were answered or are linked to, and the links between them.
    Pages,
    /// Hosts, and how many links lead from one to another.
    Hosts,
}

/// How a graph is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GraphFormat {
    /// GraphML 1.0: nodes and edges with typed attributes. The id of a node is its URL or name.
    GraphMl,
    /// CSV with a header line: `source`, `target`, `weight` and more.
    Edges,
}

/// How much was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GraphSize {
    /// Nodes; 0 in a list of edges.
    pub nodes: u64,
    /// Edges.
    pub edges: u64,
    /// Omitted links of pages under noindex.
    pub omitted: u64,
}

/// An attribute of nodes or edges: its name, and its type in GraphML.
type Attribute = (&'static str, &'static str);

const PAGE: [Attribute; 6] = [
    ("host", "string"),
    ("status", "long"),
    ("title", "string"),
    ("depth", "long"),
    ("indexed", "boolean"),
    ("fetched", "boolean"),
];
const HOST: [Attribute; 4] = [("requests", "long"), ("pages", "long"), ("bytes", "long"), ("errors", "long")];
const PAGE_EDGE: [Attribute; 3] = [("weight", "long"), ("nofollow", "boolean"), ("kind", "string")];
const HOST_EDGE: [Attribute; 1] = [("weight", "long")];
const CRAWL: Attribute = (CRAWL_COLUMN, "string");

impl Graph {
    fn node(self) -> &'static [Attribute] {
        match self {
            Self::Pages => &PAGE,
            Self::Hosts => &HOST,
        }
    }

    fn edge(self) -> &'static [Attribute] {
        match self {
            Self::Pages => &PAGE_EDGE,
            Self::Hosts => &HOST_EDGE,
        }
    }
}

/// Writes the graph of one or several crawls. Nodes and edges come by host and URL. Links between the same two are one edge, whose weight is their
/// number; of hosts, links within one make no edge; references that are no URL of a page (`not_http`) make none. Where there are several
/// crawls each edge says in `crawl` which one it is from. Memory: some 40 MB; nodes and edges are sorted in temporary files.
pub fn write_graph(
    crawls: &[(String, View)],
    graph: Graph,
    form: GraphFormat,
    out: &mut dyn Write,
) -> Result<GraphSize, ViewError> {
    let dir = crawls.first().and_then(|(_, view)| view.temporary());
    let (mut nodes, mut edges) = (RowSorter::new(Sorter::new(dir)), RowSorter::new(Sorter::new(dir)));
    let has_nodes = form == GraphFormat::GraphMl;
    let mut size = GraphSize::default();
    if has_nodes {
        for (_, view) in crawls {
            add_known(view, graph, &mut nodes)?;
        }
    }
    for (name, view) in crawls {
        let mut links = view.rows(Table::Links)?.taking(&["from", "to", "nofollow", "kind", "outcome"])?;
        for row in &mut links {
            add_link(&row?, graph, name, &mut edges, has_nodes.then_some(&mut nodes))?;
        }
        size.omitted += links.omitted();
    }
    let mut attributes = graph.edge().to_vec();
    if crawls.len() > 1 {
        attributes.push(CRAWL);
    }
    let edges = Edges { rows: edges.sorted()?, next: None, width: attributes.len() };
    match form {
        GraphFormat::Edges => {
            let mut csv = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(out);
            let names = ["source", "target"].into_iter().chain(attributes.iter().map(|(name, _)| *name));
            csv.write_record(names).map_err(crate::view::csv_error)?;
            for edge in edges {
                for value in edge? {
                    let text = value.text().unwrap_or_default();
                    csv.write_field(neutral(&text, Kind::Text).as_bytes()).map_err(crate::view::csv_error)?;
                }
                csv.write_record(None::<&[u8]>).map_err(crate::view::csv_error)?;
                size.edges += 1;
            }
            csv.flush()?;
        }
        GraphFormat::GraphMl => {
            head(out, graph.node(), &attributes)?;
            size.nodes = write_nodes(out, nodes.sorted()?, graph.node())?;
            for edge in edges {
                let edge = edge?;
                write!(out, "<edge source=\"{}\" target=\"{}\">", xml(&edge[0]), xml(&edge[1]))?;
                data(out, "e", &edge[2..])?;
                out.write_all(b"</edge>\n")?;
                size.edges += 1;
            }
            out.write_all(b"</graph>\n</graphml>\n")?;
        }
    }
    Ok(size)
}

/// Sorts by host, then name, then what else tells rows apart.
fn key(parts: &[&str]) -> Vec<u8> {
    let mut key = host_of(parts[0]).as_bytes().to_vec();
    for part in parts {
        key.push(0);
        key.extend_from_slice(part.as_bytes());
    }
    key.push(0);
    key
}

/// The nodes that the crawl has more to say of than their name.
fn add_known(view: &View, graph: Graph, nodes: &mut RowSorter) -> Result<(), ViewError> {
    let rows = match graph {
        Graph::Pages => view.rows(Table::Pages)?.taking(&["url", "status", "title", "depth", "indexed"])?,
        Graph::Hosts => view.rows(Table::Hosts)?.taking(&["host", "requests", "pages", "bytes", "errors"])?,
    };
    for row in rows {
        let mut row = row?;
        let name = row[0].as_str().unwrap_or_default().to_owned();
        if graph == Graph::Pages {
            row.insert(1, host_value(&name));
            row.push(Value::Boolean(true));
        }
        nodes.push(&key(&[&name]), &row)?;
    }
    Ok(())
}

fn host_value(url: &str) -> Value {
    Value::Text(Cow::Owned(host_of(url).to_owned()))
}

/// A link as an edge, and its ends as nodes.
fn add_link(
    row: &[Value],
    graph: Graph,
    crawl: &str,
    edges: &mut RowSorter,
    nodes: Option<&mut RowSorter>,
) -> Result<(), ViewError> {
    let [Value::Text(from), Value::Text(to), nofollow, kind, outcome] = row else { return Ok(()) };
    if outcome.as_str() == Some("not_http") {
        return Ok(());
    }
    let (source, target) = match graph {
        Graph::Pages => (from.as_ref(), to.as_ref()),
        Graph::Hosts => (host_of(from), host_of(to)),
    };
    if graph == Graph::Hosts && source == target {
        return Ok(());
    }
    if let Some(nodes) = nodes {
        for name in [source, target] {
            let mut node = vec![Value::Text(Cow::Owned(name.to_owned()))];
            if graph == Graph::Pages {
                node.push(host_value(name));
            }
            nodes.push(&key(&[name]), &node)?;
        }
    }
    let text = |text: &str| Value::Text(Cow::Owned(text.to_owned()));
    let mut edge = vec![text(source), text(target), Value::Integer(1)];
    if graph == Graph::Pages {
        edge.extend([nofollow.clone(), kind.clone()]);
    }
    edge.push(text(crawl));
    edges.push(&key(&[source, target, crawl]), &edge)
}

/// Edges with the same ends, of one crawl, as one: the weights added, nofollow where all of them are, the first kind.
struct Edges<I> {
    rows: I,
    next: Option<Vec<Value>>,
    /// How many attributes are written: with the crawl or without.
    width: usize,
}

impl<I: Iterator<Item = Result<Vec<Value>, ViewError>>> Iterator for Edges<I> {
    type Item = Result<Vec<Value>, ViewError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut edge = match self.next.take() {
            Some(edge) => edge,
            None => match self.rows.next()? {
                Ok(edge) => edge,
                Err(error) => return Some(Err(error)),
            },
        };
        for row in self.rows.by_ref() {
            let row = match row {
                Ok(row) => row,
                Err(error) => return Some(Err(error)),
            };
            if row[..2] != edge[..2] || row.last() != edge.last() {
                self.next = Some(row);
                break;
            }
            if let Value::Integer(weight) = &mut edge[2] {
                *weight += 1;
            }
            if let (Some(Value::Boolean(nofollow)), Some(Value::Boolean(other))) =
                (edge.get_mut(3), row.get(3))
            {
                *nofollow &= other;
            }
        }
        edge.truncate(2 + self.width);
        Some(Ok(edge))
    }
}

fn head(out: &mut dyn Write, node: &[Attribute], edge: &[Attribute]) -> io::Result<()> {
    out.write_all(
        b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n",
    )?;
    for (of, letter, attributes) in [("node", "n", node), ("edge", "e", edge)] {
        for (place, (name, kind)) in attributes.iter().enumerate() {
            writeln!(
                out,
                "<key id=\"{letter}{place}\" for=\"{of}\" attr.name=\"{name}\" attr.type=\"{kind}\"/>"
            )?;
        }
    }
    out.write_all(b"<graph edgedefault=\"directed\">\n")
}

/// A value as XML: text without control characters, which XML 1.0 doesn't have.
fn xml(value: &Value) -> String {
    let text = value.text().unwrap_or_default();
    let text: String = clean(&text).chars().filter(|c| !matches!(c, '\u{fffe}' | '\u{ffff}')).collect();
    escape(text.as_str()).into_owned()
}

fn data(out: &mut dyn Write, letter: &str, values: &[Value]) -> io::Result<()> {
    for (place, value) in values.iter().enumerate() {
        if *value != Value::Null {
            write!(out, "<data key=\"{letter}{place}\">{}</data>", xml(value))?;
        }
    }
    Ok(())
}

/// Writes each node once: what is said of it first counts, which is what the crawl knows of it.
fn write_nodes(
    out: &mut dyn Write,
    rows: impl Iterator<Item = Result<Vec<Value>, ViewError>>,
    attributes: &[Attribute],
) -> Result<u64, ViewError> {
    let mut count = 0;
    let mut last: Option<Value> = None;
    for row in rows {
        let row = row?;
        if last.as_ref() == Some(&row[0]) {
            continue;
        }
        let mut values = row[1..].to_vec();
        if row.len() <= attributes.len() && attributes.last() == PAGE.last() {
            values.resize(attributes.len() - 1, Value::Null);
            values.push(Value::Boolean(false));
        }
        write!(out, "<node id=\"{}\">", xml(&row[0]))?;
        data(out, "n", &values)?;
        out.write_all(b"</node>\n")?;
        count += 1;
        last = row.into_iter().next();
    }
    Ok(count)
}

impl Rows<'_> {
    /// Takes columns that every table of this program has.
    fn taking(self, names: &[&str]) -> Result<Self, ViewError> {
        self.select(names).map_err(|error| ViewError::Write(io::Error::other(error)))
    }
}
