//! Namespaces in XML 1.0: which prefix stands for which vocabulary.

/// Maximum nesting of declarations; beyond it no name can be resolved.
const BINDINGS: usize = 100;

/// Names what an element belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Vocabulary {
    Html,
    /// It isn't said, or in another way than browsers know.
    MaybeHtml,
    Svg,
    Math,
    /// In no namespace.
    None,
    Other,
}

impl Vocabulary {
    /// Looks a namespace name up. Whatever calls itself HTML may be: Office writes `http://www.w3.org/TR/REC-html40`.
    fn of(namespace: &str) -> Vocabulary {
        match namespace.trim() {
            "" => Vocabulary::None,
            "http://www.w3.org/2000/svg" => Vocabulary::Svg,
            "http://www.w3.org/1998/Math/MathML" => Vocabulary::Math,
            "http://www.w3.org/1999/xhtml" => Vocabulary::Html,
            other if other.to_ascii_lowercase().contains("html") => Vocabulary::MaybeHtml,
            _ => Vocabulary::Other,
        }
    }
}

/// Holds the declarations in force.
#[derive(Debug, Default)]
pub(super) struct Namespaces {
    bindings: Vec<Binding>,
    is_over: bool,
}

#[derive(Debug)]
struct Binding {
    prefix: Box<str>,
    vocabulary: Vocabulary,
    /// Elements open around and including the one that declares it.
    depth: usize,
}

impl Namespaces {
    /// Binds a prefix (none: the default) to a namespace, or to one that can't be read.
    pub(super) fn bind(&mut self, prefix: &str, namespace: Option<&str>, depth: usize) {
        if self.bindings.len() >= BINDINGS {
            self.is_over = true;
            return;
        }
        let vocabulary = namespace.map_or(Vocabulary::MaybeHtml, Vocabulary::of);
        self.bindings.push(Binding { prefix: prefix.into(), vocabulary, depth });
    }

    /// Drops what elements deeper than this declared.
    pub(super) fn close_to(&mut self, depth: usize) {
        while self.bindings.last().is_some_and(|b| b.depth > depth) {
            self.bindings.pop();
        }
    }

    /// Returns what an element of this prefix belongs to. A prefix that nobody declared may well mean HTML.
    pub(super) fn vocabulary(&self, prefix: &str) -> Vocabulary {
        if self.is_over {
            return Vocabulary::MaybeHtml;
        }
        match self.bindings.iter().rfind(|b| *b.prefix == *prefix) {
            Some(binding) => binding.vocabulary,
            None if prefix.is_empty() => Vocabulary::None,
            None if prefix.eq_ignore_ascii_case("xml") => Vocabulary::Other,
            None => Vocabulary::MaybeHtml,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_hold_inside_of_their_element() {
        let mut names = Namespaces::default();
        assert_eq!(names.vocabulary(""), Vocabulary::None);
        assert_eq!(names.vocabulary("h"), Vocabulary::MaybeHtml, "undeclared");
        names.bind("", Some("http://www.w3.org/2000/svg"), 1);
        names.bind("h", Some("http://www.w3.org/1999/xhtml"), 2);
        names.bind("", Some(""), 3);
        names.bind("h", Some("urn:other"), 3);
        assert_eq!((names.vocabulary(""), names.vocabulary("h")), (Vocabulary::None, Vocabulary::Other));
        names.close_to(2);
        assert_eq!((names.vocabulary(""), names.vocabulary("h")), (Vocabulary::Svg, Vocabulary::Html));
    }

    #[test]
    fn beyond_the_bound_every_name_may_be_of_html() {
        let mut names = Namespaces::default();
        for depth in 0..=BINDINGS {
            names.bind("x", Some("urn:x"), depth);
        }
        assert_eq!((names.vocabulary("x"), names.bindings.len()), (Vocabulary::MaybeHtml, BINDINGS));
    }
}
