//! Elements that a selector looks at only until a time is over: matching a single one may look at every other one many times
//! (`:has`, `:not`, sibling combinators), and a page chooses how many there are.

use std::cell::Cell;
use std::time::{Duration, Instant};

use html5ever::Namespace;
use scraper::ElementRef;
use scraper::selector::{CssLocalName, CssString, NonTSPseudoClass, PseudoElement, Simple};
use selectors::attr::{AttrSelectorOperation, CaseSensitivity, NamespaceConstraint};
use selectors::bloom::BloomFilter;
use selectors::matching::{ElementSelectorFlags, MatchingContext};
use selectors::{Element, OpaqueElement};

use crate::clock::real_time;

/// Steps between two looks at the clock: some microseconds.
const STEPS: usize = 256;

/// Bytes of a value that are compared in about the time of a step.
const BYTES_A_STEP: usize = 64;

/// How long something may take.
#[derive(Debug)]
pub(super) struct TimeLimit {
    /// None where it lies beyond what the clock can tell.
    end: Option<Instant>,
    steps: Cell<usize>,
    is_over: Cell<bool>,
}

impl TimeLimit {
    /// Returns a limit that ends after `time`, counted from this call.
    pub(super) fn new(time: Duration) -> Self {
        Self { end: real_time().checked_add(time), steps: Cell::new(0), is_over: Cell::new(false) }
    }

    /// Looks at the clock.
    pub(super) fn is_over(&self) -> bool {
        if !self.is_over.get() && self.end.is_some_and(|end| real_time() >= end) {
            self.is_over.set(true);
        }
        self.is_over.get()
    }

    /// Counts steps, and looks at the clock now and then. False once the time is over.
    fn goes_on(&self, steps: usize) -> bool {
        let count = self.steps.get() + steps;
        if count < STEPS {
            self.steps.set(count);
            return !self.is_over.get();
        }
        self.steps.set(0);
        !self.is_over()
    }
}

/// An element without parent, siblings and children once the time is over: whatever looks for one among them ends.
#[derive(Debug, Clone)]
pub(super) struct TimedElement<'a> {
    element: ElementRef<'a>,
    time: &'a TimeLimit,
}

impl<'a> TimedElement<'a> {
    pub(super) fn new(element: ElementRef<'a>, time: &'a TimeLimit) -> Self {
        Self { element, time }
    }

    fn other(&self, find: impl FnOnce(&ElementRef<'a>) -> Option<ElementRef<'a>>) -> Option<Self> {
        let element = self.time.goes_on(1).then(|| find(&self.element)).flatten()?;
        Some(Self { element, ..*self })
    }
}

impl Element for TimedElement<'_> {
    type Impl = Simple;

    fn opaque(&self) -> OpaqueElement {
        self.element.opaque()
    }

    fn parent_element(&self) -> Option<Self> {
        self.other(Element::parent_element)
    }

    fn prev_sibling_element(&self) -> Option<Self> {
        self.other(Element::prev_sibling_element)
    }

    fn next_sibling_element(&self) -> Option<Self> {
        self.other(Element::next_sibling_element)
    }

    fn first_element_child(&self) -> Option<Self> {
        self.other(Element::first_element_child)
    }

    fn parent_node_is_shadow_root(&self) -> bool {
        self.element.parent_node_is_shadow_root()
    }

    fn containing_shadow_host(&self) -> Option<Self> {
        None
    }

    fn is_pseudo_element(&self) -> bool {
        self.element.is_pseudo_element()
    }

    fn is_html_element_in_html_document(&self) -> bool {
        self.element.is_html_element_in_html_document()
    }

    fn has_local_name(&self, name: &CssLocalName) -> bool {
        self.element.has_local_name(name)
    }

    fn has_namespace(&self, namespace: &Namespace) -> bool {
        self.element.has_namespace(namespace)
    }

    fn is_same_type(&self, other: &Self) -> bool {
        self.element.is_same_type(&other.element)
    }

    fn attr_matches(
        &self,
        namespace: &NamespaceConstraint<&Namespace>,
        name: &CssLocalName,
        operation: &AttrSelectorOperation<&CssString>,
    ) -> bool {
        let attributes = self.element.value().attrs();
        let steps: usize = attributes.map(|(_, value)| 1 + value.len() / BYTES_A_STEP).sum();
        self.time.goes_on(steps) && self.element.attr_matches(namespace, name, operation)
    }

    fn match_non_ts_pseudo_class(
        &self,
        class: &NonTSPseudoClass,
        context: &mut MatchingContext<'_, Simple>,
    ) -> bool {
        self.element.match_non_ts_pseudo_class(class, context)
    }

    fn match_pseudo_element(
        &self,
        element: &PseudoElement,
        context: &mut MatchingContext<'_, Simple>,
    ) -> bool {
        self.element.match_pseudo_element(element, context)
    }

    fn apply_selector_flags(&self, _: ElementSelectorFlags) {}

    fn is_link(&self) -> bool {
        self.element.is_link()
    }

    fn is_html_slot_element(&self) -> bool {
        self.element.is_html_slot_element()
    }

    fn has_id(&self, id: &CssLocalName, case: CaseSensitivity) -> bool {
        self.element.has_id(id, case)
    }

    fn has_class(&self, name: &CssLocalName, case: CaseSensitivity) -> bool {
        // `ElementRef` would keep a list of all classes: a page of nothing else would take hundreds of MB.
        let Some(classes) = self.element.value().attr("class") else { return false };
        let mut words = classes.split_ascii_whitespace();
        self.time.goes_on(1 + classes.len() / BYTES_A_STEP)
            && words.any(|word| case.eq(word.as_bytes(), name.0.as_bytes()))
    }

    fn has_custom_state(&self, name: &CssLocalName) -> bool {
        self.element.has_custom_state(name)
    }

    fn imported_part(&self, name: &CssLocalName) -> Option<CssLocalName> {
        self.element.imported_part(name)
    }

    fn is_part(&self, name: &CssLocalName) -> bool {
        self.element.is_part(name)
    }

    fn is_empty(&self) -> bool {
        self.element.is_empty()
    }

    fn is_root(&self) -> bool {
        self.element.is_root()
    }

    fn add_element_unique_hashes(&self, filter: &mut BloomFilter) -> bool {
        self.element.add_element_unique_hashes(filter)
    }
}
