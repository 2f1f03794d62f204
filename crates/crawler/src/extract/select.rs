//! Fields that a researcher names by CSS selector. The only place that builds a tree.

use html5ever::ParseOpts;
use html5ever::driver;
use html5ever::tendril::TendrilSink;
use html5ever::tree_builder::TreeBuilderOpts;
use scraper::{ElementRef, Html, HtmlTreeSink, Selector};

use super::fold::Folded;
use super::tree_cost;

/// Holds one `[[extract]]` rule, checked.
#[derive(Debug, Clone)]
pub struct SelectRule {
    name: String,
    selector: Selector,
    take: Take,
    how_many: HowMany,
}

/// Tells what a rule takes from a matched element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Take {
    /// Its text, white space folded.
    Text,
    /// The value of this attribute.
    Attribute(String),
}

/// Tells how many matches a rule takes.
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

impl SelectRule {
    /// Checks a rule. An attribute's name is taken in lower case, as HTML has them.
    pub fn new(name: &str, css: &str, take: Take, how_many: HowMany) -> Result<Self, BadSelector> {
        let selector = Selector::parse(css).map_err(|error| BadSelector {
            name: name.to_owned(),
            css: css.to_owned(),
            message: error.to_string(),
        })?;
        let take = match take {
            Take::Attribute(attribute) => Take::Attribute(attribute.to_ascii_lowercase()),
            Take::Text => Take::Text,
        };
        Ok(SelectRule { name: name.to_owned(), selector, take, how_many })
    }

    fn value_of(&self, element: ElementRef<'_>, limit: usize) -> Option<String> {
        let mut value = Folded::new(limit);
        match &self.take {
            Take::Text => element.text().for_each(|piece| value.push(piece.as_bytes())),
            Take::Attribute(name) => value.push(element.attr(name)?.as_bytes()),
        }
        Some(value.take())
    }

    /// Gives the name under which the field stands in the page record.
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
    /// Octets kept per value. Default 64 KiB.
    pub value_bytes: usize,
}

impl Default for SelectLimits {
    fn default() -> Self {
        SelectLimits { nodes: 50_000, depth: 256, values: 1_000, value_bytes: 64 * 1024 }
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

/// Why no tree was built.
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
}

/// Picks the named fields from a decoded page. Elements without the wanted attribute give no value; white space is
/// folded; scripting is off, so that `<noscript>` has elements.
///
/// Builds a tree: run it off the async threads. What the tree may cost is told from the tags first, and a page beyond
/// the limits is refused before anything is built.
pub fn select(html: &str, rules: &[SelectRule], limits: &SelectLimits) -> Result<Vec<Field>, SelectError> {
    let cost = tree_cost::estimate(html, limits.nodes, limits.depth);
    if cost.nodes > limits.nodes {
        return Err(SelectError::TooManyNodes { found: cost.nodes, budget: limits.nodes });
    }
    if cost.depth > limits.depth {
        return Err(SelectError::TooDeep { found: cost.depth, limit: limits.depth });
    }
    let tree = build_tree(html);
    let field = |rule: &SelectRule| {
        let most = if rule.how_many == HowMany::One { limits.values.min(1) } else { limits.values };
        let found = tree.select(&rule.selector).filter_map(|e| rule.value_of(e, limits.value_bytes));
        Field { name: rule.name.clone(), values: found.take(most).collect() }
    };
    Ok(rules.iter().map(field).collect())
}

pub(super) fn build_tree(html: &str) -> Html {
    let tree_builder = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() };
    let options = ParseOpts { tree_builder, ..ParseOpts::default() };
    driver::parse_document(HtmlTreeSink::new(Html::new_document()), options).one(html)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "<h1> A\n page</h1><p class=price data-eur=3>3 <b>€</b><p class=price>4 €<noscript><i>n</i></noscript>";

    fn values(css: &str, take: Take, how_many: HowMany) -> Vec<String> {
        let rule = SelectRule::new("field", css, take, how_many).unwrap();
        select(PAGE, &[rule], &SelectLimits::default()).unwrap().remove(0).values
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
        let limits = SelectLimits { nodes: 1_000, depth: 50, values: 2, value_bytes: 3 };
        let rules = [SelectRule::new("p", "p", Take::Text, HowMany::All).unwrap()];
        let many = select(&"<p>x".repeat(600), &rules, &limits).unwrap_err();
        assert!(matches!(many, SelectError::TooManyNodes { budget: 1_000, .. }), "{many}");
        let deep = select(&"<div>".repeat(60), &rules, &limits).unwrap_err();
        assert!(matches!(deep, SelectError::TooDeep { limit: 50, .. }), "{deep}");
        let within = select(&"<p>wxyz".repeat(60), &rules, &limits).unwrap();
        assert_eq!(within[0].values, ["wxy", "wxy"]);
    }

    #[test]
    fn rules_can_be_shared_by_threads() {
        fn shared<T: Send + Sync>() {}
        shared::<SelectRule>();
    }
}
