//! Fields given by CSS selectors. The only place that builds a tree.

use std::time::Duration;

use html5ever::ParseOpts;
use html5ever::driver;
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::tree_builder::TreeBuilderOpts;
use scraper::error::SelectorErrorKind;
use scraper::selector::{Parser, Simple};
use scraper::{ElementRef, Html, HtmlTreeSink};
use selectors::matching::{
    MatchingContext, MatchingForInvalidation, MatchingMode, NeedsSelectorFlags, QuirksMode, SelectorCaches,
    matches_selector,
};
use selectors::parser::{ParseRelative, SelectorList};

use super::fold::Folded;
use super::timed_element::{TimeLimit, TimedElement};
use super::tree_cost;

/// Bytes that are parsed between two looks at the clock.
const PIECE: usize = 16 * 1024;

/// Holds one `[[extract]]` rule, checked.
#[derive(Debug, Clone)]
pub struct SelectRule {
    name: String,
    selectors: SelectorList<Simple>,
    take: Take,
    how_many: HowMany,
}

/// What a rule takes from a matched element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Take {
    /// Its text, white space folded.
    Text,
    /// The value of this attribute.
    Attribute(String),
}

/// How many matches a rule takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HowMany {
    /// The first match.
    One,
    /// All matches, in document order.
    All,
}

/// A selector that can't be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("rule {name}: bad CSS selector {css:?}: {message}")]
pub struct BadSelector {
    /// The rule's name.
    pub name: String,
    /// The selector as given.
    pub css: String,
    /// What is wrong with it.
    pub message: String,
}

/// Bytes of a selector: matching calls itself for each of its compounds.
const CSS_BYTES: usize = 1024;

/// Opening parentheses of a selector: reading it calls itself for each that is open.
const CSS_PARENTHESES: usize = 32;

/// Reads a selector, of at most 1,024 bytes with 32 opening parentheses. The error says what is wrong with it.
pub fn read_selector(css: &str) -> Result<SelectorList<Simple>, String> {
    if css.len() > CSS_BYTES {
        return Err(format!("it is longer than {CSS_BYTES} bytes"));
    }
    if css.matches('(').count() > CSS_PARENTHESES {
        return Err(format!("it has more than {CSS_PARENTHESES} opening parentheses"));
    }
    SelectorList::parse(&Parser, &mut cssparser::Parser::new(css), ParseRelative::No)
        .map_err(|error| SelectorErrorKind::from(error).to_string())
}

impl SelectRule {
    /// Checks a rule, as [`read_selector`] does. An attribute's name is taken in lower case, as HTML has them.
    pub fn new(name: &str, css: &str, take: Take, how_many: HowMany) -> Result<Self, BadSelector> {
        let selectors = read_selector(css).map_err(|message| BadSelector {
            name: name.to_owned(),
            css: css[..css.floor_char_boundary(CSS_BYTES)].to_owned(),
            message,
        })?;
        let take = match take {
            Take::Attribute(attribute) => Take::Attribute(attribute.to_ascii_lowercase()),
            Take::Text => Take::Text,
        };
        Ok(SelectRule { name: name.to_owned(), selectors, take, how_many })
    }

    /// The value of a matched element, and whether it was cut.
    fn value_of(&self, element: ElementRef<'_>, limit: usize) -> Option<(String, bool)> {
        let mut value = Folded::new(limit);
        match &self.take {
            Take::Text => {
                for piece in element.text() {
                    value.push(piece.as_bytes());
                    if value.was_cut() {
                        break;
                    }
                }
            }
            Take::Attribute(name) => value.push(element.attr(name)?.as_bytes()),
        }
        let was_cut = value.was_cut();
        Some((value.finish(), was_cut))
    }

    /// Returns whether an element matches; what it returns once the time is over means nothing. `caches` are those of this rule and this
    /// tree.
    fn matches(&self, element: ElementRef<'_>, time: &TimeLimit, caches: &mut SelectorCaches) -> bool {
        let element = TimedElement::new(element, time);
        let mut context = MatchingContext::new(
            MatchingMode::Normal,
            None,
            caches,
            QuirksMode::NoQuirks,
            NeedsSelectorFlags::No,
            MatchingForInvalidation::No,
        );
        let mut selectors = self.selectors.slice().iter();
        selectors.any(|selector| matches_selector(selector, 0, None, &element, &mut context))
    }

    /// Returns the name of the field in the page record.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Holds what a tree may cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectLimits {
    /// Nodes of the tree, as estimated from the tags before it is built. Default 50,000.
    pub nodes: usize,
    /// Depth of open elements. Default 256.
    pub depth: usize,
    /// Values kept per rule. Default 1,000.
    pub values: usize,
    /// Time that building the tree and matching the rules may take together. Default 2 s.
    pub time: Duration,
    /// Bytes kept per value. Default 64 KiB.
    pub value_bytes: usize,
    /// Bytes kept of all values together. Default 1 MiB.
    pub bytes: usize,
}

impl Default for SelectLimits {
    fn default() -> Self {
        SelectLimits {
            nodes: 50_000,
            depth: 256,
            time: Duration::from_secs(2),
            values: 1_000,
            value_bytes: 64 * 1024,
            bytes: 1024 * 1024,
        }
    }
}

/// Holds the values found for one rule, in document order; empty where nothing matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The rule's name.
    pub name: String,
    /// What was found.
    pub values: Vec<String>,
}

/// Holds what was picked from a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selected {
    /// A field for each rule, in the order of the rules.
    pub fields: Vec<Field>,
    /// The first limit that was reached: `field values`, `field` or `fields`.
    pub limit_hit: Option<&'static str>,
}

/// Why no field was picked.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum SelectError {
    /// Too many nodes.
    #[error("the page would make {found} nodes or more, the budget is {budget}")]
    TooManyNodes {
        /// What was counted when it stopped.
        found: usize,
        /// [`SelectLimits::nodes`].
        budget: usize,
    },
    /// Too deep.
    #[error("elements are open {found} deep or more, the limit is {limit}")]
    TooDeep {
        /// What was counted when it stopped.
        found: usize,
        /// [`SelectLimits::depth`].
        limit: usize,
    },
    /// Tree and rules took too long.
    #[error("building the tree and matching the selectors took longer than {limit:?}")]
    TooLong {
        /// [`SelectLimits::time`].
        limit: Duration,
    },
}

impl SelectError {
    /// Returns the name of the limit in words, for the report; as [`LimitHit::name`](super::LimitHit::name) does.
    pub fn limit(&self) -> &'static str {
        match self {
            Self::TooManyNodes { .. } => "tree nodes",
            Self::TooDeep { .. } => "tree depth",
            Self::TooLong { .. } => "tree time",
        }
    }
}

/// Picks the named fields from a decoded page. Elements without the wanted attribute give no value; white space is
/// folded; scripting is off, so that `<noscript>` has elements.
///
/// Builds a tree: run it off the async threads. The cost of the tree is estimated from the tags first, and a page beyond
/// the limits is refused before anything is built. The time limit holds from the first tag of the tree to the last value, and within the
/// matching of a single element.
pub fn select(html: &str, rules: &[SelectRule], limits: &SelectLimits) -> Result<Selected, SelectError> {
    let cost = tree_cost::estimate(html, limits.nodes, limits.depth);
    if cost.nodes > limits.nodes {
        return Err(SelectError::TooManyNodes { found: cost.nodes, budget: limits.nodes });
    }
    if cost.depth > limits.depth {
        return Err(SelectError::TooDeep { found: cost.depth, limit: limits.depth });
    }
    let time = TimeLimit::new(limits.time);
    let tree = build_tree(html, &time).ok_or(SelectError::TooLong { limit: limits.time })?;
    let mut picker = Picker { tree: &tree, limits, time: &time, room: limits.bytes, limit_hit: None };
    let mut fields = Vec::with_capacity(rules.len());
    for rule in rules {
        fields.push(Field { name: rule.name.clone(), values: picker.values(rule)? });
    }
    Ok(Selected { fields, limit_hit: picker.limit_hit })
}

struct Picker<'a> {
    tree: &'a Html,
    limits: &'a SelectLimits,
    time: &'a TimeLimit,
    /// Bytes that may be kept still.
    room: usize,
    limit_hit: Option<&'static str>,
}

impl Picker<'_> {
    /// The values of one rule. The clock is looked at for each element that a selector looks at.
    fn values(&mut self, rule: &SelectRule) -> Result<Vec<String>, SelectError> {
        let mut values = Vec::new();
        let mut caches = SelectorCaches::default();
        let root = self.tree.root_element();
        for element in std::iter::once(root).chain(root.descendent_elements()) {
            let is_match = rule.matches(element, self.time, &mut caches);
            if self.time.is_over() {
                return Err(SelectError::TooLong { limit: self.limits.time });
            }
            if !is_match {
                continue;
            }
            let full = [(values.len() >= self.limits.values, "field values"), (self.room == 0, "fields")];
            if let Some((_, limit)) = full.into_iter().find(|(is_full, _)| *is_full) {
                self.limit_hit.get_or_insert(limit);
                break;
            }
            let most = self.limits.value_bytes.min(self.room);
            let Some((value, was_cut)) = rule.value_of(element, most) else { continue };
            if was_cut {
                let whole = most == self.limits.value_bytes;
                self.limit_hit.get_or_insert(if whole { "field" } else { "fields" });
            }
            self.room -= value.len();
            values.push(value);
            if rule.how_many == HowMany::One {
                break;
            }
        }
        Ok(values)
    }
}

/// Builds the tree of a page; none where that takes longer than it may.
pub(super) fn build_tree(html: &str, time: &TimeLimit) -> Option<Html> {
    let tree_builder = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() };
    let options = ParseOpts { tree_builder, ..ParseOpts::default() };
    let mut parser = driver::parse_document(HtmlTreeSink::new(Html::new_document()), options);
    let mut rest = html;
    while !rest.is_empty() {
        let (piece, more) = rest.split_at(rest.floor_char_boundary(PIECE));
        parser.process(StrTendril::from(piece));
        if time.is_over() {
            return None;
        }
        rest = more;
    }
    Some(parser.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "<h1> A\n page</h1><p class=price data-eur=3>3 <b>€</b><p class=price>4 €<noscript><i>n</i></noscript>";

    fn values(css: &str, take: Take, how_many: HowMany) -> Vec<String> {
        let rule = SelectRule::new("field", css, take, how_many).unwrap();
        select(PAGE, &[rule], &SelectLimits::default()).unwrap().fields.remove(0).values
    }

    #[test]
    fn fields_are_text_or_attributes_one_or_all() {
        assert_eq!(values("h1", Take::Text, HowMany::One), ["A page"]);
        assert_eq!(values(".price", Take::Text, HowMany::One), ["3 €"]);
        assert_eq!(values(".price", Take::Text, HowMany::All), ["3 €", "4 €n"]);
        assert_eq!(values(".price", Take::Attribute("DATA-eur".into()), HowMany::All), ["3"]);
        assert_eq!(values("noscript > i", Take::Text, HowMany::All), ["n"]);
        assert!(values("h2", Take::Text, HowMany::All).is_empty());
    }

    #[test]
    fn a_bad_selector_names_its_rule() {
        let error = SelectRule::new("price", "p[", Take::Text, HowMany::One).unwrap_err();
        assert_eq!((error.name.as_str(), error.css.as_str()), ("price", "p["));
        assert!(error.to_string().starts_with("rule price: bad CSS selector \"p[\""));
    }

    #[test]
    fn a_page_beyond_the_limits_is_refused() {
        let limits =
            SelectLimits { nodes: 1_000, depth: 50, values: 2, value_bytes: 3, ..SelectLimits::default() };
        let rules = [SelectRule::new("p", "p", Take::Text, HowMany::All).unwrap()];
        let many = select(&"<p>x".repeat(600), &rules, &limits).unwrap_err();
        assert!(matches!(many, SelectError::TooManyNodes { budget: 1_000, .. }), "{many}");
        let deep = select(&"<div>".repeat(60), &rules, &limits).unwrap_err();
        assert!(matches!(deep, SelectError::TooDeep { limit: 50, .. }), "{deep}");
        let within = select(&"<p>wxyz".repeat(60), &rules, &limits).unwrap();
        assert_eq!(within.fields[0].values, ["wxy", "wxy"]);
        assert_eq!(within.limit_hit, Some("field"));
        let many = select(&"<p>w".repeat(3), &rules, &limits).unwrap();
        assert_eq!((many.fields[0].values.len(), many.limit_hit), (2, Some("field values")));
        let all = SelectLimits { values: 9, bytes: 4, ..limits.clone() };
        let all = select(&"<p>wxy".repeat(3), &rules, &all).unwrap();
        assert_eq!((all.fields[0].values.join(","), all.limit_hit), ("wxy,w".to_owned(), Some("fields")));
        let exact = select("<p>wxy<p>z", &rules, &limits).unwrap();
        assert_eq!((exact.fields[0].values.join(","), exact.limit_hit), ("wxy,z".to_owned(), None));
    }

    #[test]
    fn a_selector_that_looks_at_all_siblings_ends_with_its_time() {
        let limits = SelectLimits { time: Duration::from_millis(20), ..SelectLimits::default() };
        let rules = [SelectRule::new("p", "p:has(~ i)", Take::Text, HowMany::All).unwrap()];
        // The whole of it would look at 110 million siblings.
        let late = select(&"<p>x</p>".repeat(15_000), &rules, &limits).unwrap_err();
        assert_eq!(late, SelectError::TooLong { limit: limits.time });
        assert_eq!(late.limit(), "tree time");
    }

    /// A hundred million steps and more each, if nothing ended them within the matching of an element.
    #[test]
    fn no_page_decides_how_long_one_element_is_looked_at() {
        let limits = SelectLimits { time: Duration::from_millis(50), ..SelectLimits::default() };
        let siblings = format!("<body><p>{}<i>", "<b></b>".repeat(20_000));
        let deep = "<div>".repeat(250) + &"<b></b>".repeat(10_000);
        for (css, page) in [
            ("html:has(u ~ b ~ b ~ b ~ b)", &siblings),
            ("html:not(:has(u ~ b ~ b ~ b ~ b))", &siblings),
            ("html:has(u div div > div div > div div > div b ~ b)", &deep),
            ("b:has(~ b ~ b ~ u)", &siblings),
        ] {
            let rules = [SelectRule::new("x", css, Take::Text, HowMany::One).unwrap()];
            assert_eq!(
                select(page, &rules, &limits),
                Err(SelectError::TooLong { limit: limits.time }),
                "{css}"
            );
        }
    }

    #[test]
    fn the_time_begins_with_the_tree() {
        let rules = [SelectRule::new("h", "h1", Take::Text, HowMany::One).unwrap()];
        let limits = SelectLimits { time: Duration::ZERO, ..SelectLimits::default() };
        assert_eq!(select("<h1>x", &rules, &limits), Err(SelectError::TooLong { limit: limits.time }));
        assert!(build_tree("<h1>x", &TimeLimit::new(limits.time)).is_none());
    }

    #[test]
    fn a_tag_with_very_many_attributes_makes_no_tree() {
        let rules = [SelectRule::new("h", "h1", Take::Text, HowMany::One).unwrap()];
        let attributes = (0..300_000).fold(String::new(), |all, n| all + " a" + &n.to_string());
        for page in
            [format!("<p{attributes}>"), format!("<p></p{attributes}>"), format!("<svg><p{attributes}/>")]
        {
            let refused = select(&page, &rules, &SelectLimits::default()).unwrap_err();
            assert_eq!(refused.limit(), "tree nodes");
        }
        // What pages have is no matter.
        let ordinary = format!("<h1>x</h1><p{}>", &attributes[..1_000]);
        assert_eq!(select(&ordinary, &rules, &SelectLimits::default()).unwrap().fields[0].values, ["x"]);
    }

    #[test]
    fn pieces_of_a_page_make_the_tree_of_the_whole() {
        let page =
            "<p class='é ü'>&am".repeat(PIECE / 8) + &"p;\r\n<table>x<td>&notit;</table>ß".repeat(PIECE / 8);
        let options = ParseOpts {
            tree_builder: TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() },
            ..ParseOpts::default()
        };
        let whole =
            driver::parse_document(HtmlTreeSink::new(Html::new_document()), options).one(page.as_str());
        assert!(build_tree(&page, &TimeLimit::new(Duration::MAX)).unwrap().html() == whole.html());
    }

    #[test]
    fn the_root_element_can_be_picked() {
        let rules = [SelectRule::new("lang", "html", Take::Attribute("lang".into()), HowMany::One).unwrap()];
        let found = select("<html lang=ga><p>x", &rules, &SelectLimits::default()).unwrap();
        assert_eq!(found.fields[0].values, ["ga"]);
    }

    #[test]
    fn rules_can_be_shared_by_threads() {
        fn shared<T: Send + Sync>() {}
        shared::<SelectRule>();
    }
}
