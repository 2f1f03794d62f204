//! The elements of a page where html5ever puts them, without their text.
//!
//! A sink of our own: that of `scraper` doesn't tell the tree builder which `<annotation-xml>` holds HTML.

use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;

use html5ever::driver::{self, ParseOpts};
use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::tree_builder::TreeBuilderOpts;
use html5ever::{Attribute, QualName, ns};

/// A node: an element, or something that none looks at.
#[derive(Debug)]
pub(crate) struct Node {
    name: QualName,
    attributes: RefCell<Vec<Attribute>>,
    parent: RefCell<Option<Rc<Node>>>,
    holds_html: bool,
    /// What a template holds.
    content: Option<Rc<Node>>,
}

impl Node {
    fn new(
        name: QualName,
        attributes: Vec<Attribute>,
        holds_html: bool,
        content: Option<Rc<Node>>,
    ) -> Rc<Node> {
        let (attributes, parent) = (RefCell::new(attributes), RefCell::new(None));
        Rc::new(Node { name, attributes, parent, holds_html, content })
    }

    fn nothing() -> Rc<Node> {
        Node::new(QualName::new(None, ns!(), "".into()), Vec::new(), false, None)
    }

    pub(crate) fn attribute(&self, name: &str) -> Option<String> {
        let attributes = self.attributes.borrow();
        attributes.iter().find(|a| a.name.ns == ns!() && &*a.name.local == name).map(|a| a.value.to_string())
    }

    /// The root of its tree.
    fn root(node: &Rc<Node>) -> Rc<Node> {
        let mut node = Rc::clone(node);
        loop {
            let parent = node.parent.borrow().clone();
            match parent {
                Some(parent) => node = parent,
                None => return node,
            }
        }
    }
}

struct Tree {
    document: Rc<Node>,
    elements: RefCell<Vec<Rc<Node>>>,
}

/// Returns the `<meta>` elements of a document, except those in templates. Scripting is off.
pub(crate) fn metas(html: &str) -> Vec<Rc<Node>> {
    let tree_builder = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() };
    let options = ParseOpts { tree_builder, ..ParseOpts::default() };
    let tree = Tree { document: Node::nothing(), elements: RefCell::default() };
    let tree = driver::parse_document(tree, options).one(html);
    let mut metas = tree.elements.into_inner();
    let is_meta = |node: &Rc<Node>| node.name.ns == ns!(html) && &*node.name.local == "meta";
    metas.retain(|node| is_meta(node) && Rc::ptr_eq(&Node::root(node), &tree.document));
    metas
}

impl TreeSink for Tree {
    type Handle = Rc<Node>;
    type Output = Tree;
    type ElemName<'a> = &'a QualName;

    fn finish(self) -> Tree {
        self
    }
    fn parse_error(&self, _: Cow<'static, str>) {}
    fn get_document(&self) -> Rc<Node> {
        Rc::clone(&self.document)
    }
    fn elem_name<'a>(&'a self, node: &'a Rc<Node>) -> &'a QualName {
        &node.name
    }
    fn create_element(&self, name: QualName, attributes: Vec<Attribute>, flags: ElementFlags) -> Rc<Node> {
        let content = flags.template.then(Node::nothing);
        let node = Node::new(name, attributes, flags.mathml_annotation_xml_integration_point, content);
        self.elements.borrow_mut().push(Rc::clone(&node));
        node
    }
    fn create_comment(&self, _: StrTendril) -> Rc<Node> {
        Node::nothing()
    }
    fn create_pi(&self, _: StrTendril, _: StrTendril) -> Rc<Node> {
        Node::nothing()
    }
    fn append(&self, parent: &Rc<Node>, child: NodeOrText<Rc<Node>>) {
        if let NodeOrText::AppendNode(child) = child {
            *child.parent.borrow_mut() = Some(Rc::clone(parent));
        }
    }
    fn append_based_on_parent_node(&self, at: &Rc<Node>, before: &Rc<Node>, child: NodeOrText<Rc<Node>>) {
        let parent = at.parent.borrow().clone();
        self.append(parent.as_ref().unwrap_or(before), child);
    }
    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}
    fn get_template_contents(&self, template: &Rc<Node>) -> Rc<Node> {
        Rc::clone(template.content.as_ref().unwrap())
    }
    fn same_node(&self, x: &Rc<Node>, y: &Rc<Node>) -> bool {
        Rc::ptr_eq(x, y)
    }
    fn set_quirks_mode(&self, _: QuirksMode) {}
    fn append_before_sibling(&self, sibling: &Rc<Node>, child: NodeOrText<Rc<Node>>) {
        let parent = sibling.parent.borrow().clone().unwrap();
        self.append(&parent, child);
    }
    fn add_attrs_if_missing(&self, node: &Rc<Node>, attributes: Vec<Attribute>) {
        let mut own = node.attributes.borrow_mut();
        for attribute in attributes {
            if !own.iter().any(|a| a.name == attribute.name) {
                own.push(attribute);
            }
        }
    }
    fn remove_from_parent(&self, node: &Rc<Node>) {
        *node.parent.borrow_mut() = None;
    }
    fn reparent_children(&self, node: &Rc<Node>, new_parent: &Rc<Node>) {
        for element in self.elements.borrow().iter() {
            let mut parent = element.parent.borrow_mut();
            if parent.as_ref().is_some_and(|parent| Rc::ptr_eq(parent, node)) {
                *parent = Some(Rc::clone(new_parent));
            }
        }
    }
    fn is_mathml_annotation_xml_integration_point(&self, node: &Rc<Node>) -> bool {
        node.holds_html
    }
}
