//! No circles between the modules of a crate: not between the top-level ones, and not between the children of one folder.
//!
//! A module uses another where a path or a `use` of it names something there. What a module passes on (`pub use`) counts as used in
//! the module that defines it. Code under `#[cfg(test)]` doesn't count. A folder's own file (`mod.rs`) and the folder's children
//! may name each other: it declares them, and they hold `impl` blocks of its types. A module that uses another only by calling
//! methods of a value that a third one hands it isn't seen.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

type Name = Vec<String>;

/// What one file says.
#[derive(Debug, Default)]
struct Module {
    /// Modules declared in it, without those of tests.
    children: BTreeSet<String>,
    /// Names that it imports, and the path of each.
    imports: BTreeMap<String, Name>,
    /// Those of them that it passes on to its users.
    passed_on: BTreeSet<String>,
    /// Paths to what it uses.
    paths: Vec<Name>,
    /// All other names that occur.
    names: BTreeSet<String>,
}

fn is_ident(token: Option<&TokenTree>, name: &str) -> bool {
    matches!(token, Some(TokenTree::Ident(ident)) if ident == name)
}

fn is_punct(token: Option<&TokenTree>, sign: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == sign)
}

fn is_double_colon(tokens: &[TokenTree], at: usize) -> bool {
    is_punct(tokens.get(at), ':') && is_punct(tokens.get(at + 1), ':')
}

/// The paths of a `use` tree: `a::{b, c as d}` as `(b, a::b)` and `(d, a::c)`.
fn use_tree(tokens: &[TokenTree], before: &Name, found: &mut Vec<(String, Name)>) {
    for part in tokens.split(|token| is_punct(Some(token), ',')) {
        let mut path = before.clone();
        let mut name = None;
        let mut is_group = false;
        for (at, token) in part.iter().enumerate() {
            match token {
                TokenTree::Ident(ident) if ident == "as" => {
                    name = part.get(at + 1).map(ToString::to_string);
                    break;
                }
                TokenTree::Ident(ident) => path.push(ident.to_string()),
                TokenTree::Punct(punct) if punct.as_char() == '*' => path.push("*".to_owned()),
                TokenTree::Group(group) => {
                    use_tree(&group.stream().into_iter().collect::<Vec<_>>(), &path, found);
                    is_group = true;
                }
                _ => {}
            }
        }
        if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        if let Some(last) = path.last().filter(|_| !is_group && !part.is_empty()) {
            found.push((name.unwrap_or_else(|| last.clone()), path));
        }
    }
}

impl Module {
    fn read(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        let mut is_public = false;
        while let Some(token) = tokens.get(at) {
            if is_punct(Some(token), '#')
                && let Some(TokenTree::Group(attribute)) = tokens.get(at + 1)
            {
                let text = attribute.stream().to_string().replace(' ', "");
                at += 2;
                if text == "cfg(test)" || text.starts_with("cfg(all(test") {
                    let is_end = |token: &TokenTree| {
                        is_punct(Some(token), ';')
                            || matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
                    };
                    let is_use = tokens[at..].iter().take(3).any(|token| is_ident(Some(token), "use"));
                    let end =
                        |token: &TokenTree| if is_use { is_punct(Some(token), ';') } else { is_end(token) };
                    at += tokens[at..].iter().position(end).map_or(tokens.len(), |end| end + 1);
                } else {
                    self.read(attribute.stream());
                }
                continue;
            }
            match token {
                TokenTree::Group(group) => self.read(group.stream()),
                TokenTree::Ident(ident) if ident == "pub" => {
                    is_public = true;
                    at += 1;
                    if matches!(tokens.get(at), Some(TokenTree::Group(_))) {
                        at += 1;
                    }
                    continue;
                }
                TokenTree::Ident(ident) if ident == "use" => {
                    let end = tokens[at..].iter().position(|token| is_punct(Some(token), ';'));
                    let end = end.map_or(tokens.len(), |end| at + end);
                    let mut found = Vec::new();
                    use_tree(&tokens[at + 1..end], &Name::new(), &mut found);
                    for (name, path) in found {
                        if is_public {
                            self.passed_on.insert(name.clone());
                        } else {
                            self.paths.push(path.clone());
                        }
                        self.imports.insert(name, path);
                    }
                    at = end;
                }
                TokenTree::Ident(ident) if ident == "mod" && is_punct(tokens.get(at + 2), ';') => {
                    self.children.insert(tokens[at + 1].to_string());
                    at += 2;
                }
                TokenTree::Ident(ident) => {
                    let mut path = vec![ident.to_string()];
                    while is_double_colon(&tokens, at + 1)
                        && let Some(TokenTree::Ident(next)) = tokens.get(at + 3)
                    {
                        path.push(next.to_string());
                        at += 3;
                    }
                    if path.len() == 1 {
                        self.names.insert(path.remove(0));
                    } else {
                        self.names.insert(path[0].clone());
                        self.paths.push(path);
                    }
                }
                _ => {}
            }
            is_public = false;
            at += 1;
        }
    }
}

/// The modules of one crate by their paths; the root's is empty.
#[derive(Debug, Default)]
struct Crate(BTreeMap<Name, Module>);

impl Crate {
    fn load(&mut self, file: &Path, folder: &Path, path: &Name) {
        let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let mut module = Module::default();
        module.read(text.parse().expect("it is Rust"));
        for child in &module.children {
            let file = folder.join(format!("{child}.rs"));
            let inner = folder.join(child);
            let file = if file.exists() { file } else { inner.join("mod.rs") };
            self.load(&file, &inner, &[path.as_slice(), std::slice::from_ref(child)].concat());
        }
        self.0.insert(path.clone(), module);
    }

    /// The module in which what a path names is defined.
    fn defining(&self, from: &Name, path: &[String], depth: usize) -> Option<Name> {
        let (mut at, mut rest) = match path[0].as_str() {
            "crate" => (Name::new(), &path[1..]),
            "self" => (from.clone(), &path[1..]),
            "super" => (from[..from.len().checked_sub(1)?].to_vec(), &path[1..]),
            name if self.0[from].children.contains(name) => (from.clone(), path),
            _ => return None,
        };
        while let Some(next) = rest.first() {
            if next == "super" {
                at.pop();
            } else if self.0[&at].children.contains(next) {
                at.push(next.clone());
            } else {
                break;
            }
            rest = &rest[1..];
        }
        if depth < 9
            && let Some(next) = rest.first()
            && let Some(import) = self.0[&at].imports.get(next)
            && let Some(found) = self.defining(&at, &[import.as_slice(), &rest[1..]].concat(), depth + 1)
        {
            return Some(found);
        }
        Some(at)
    }

    /// Who uses whom.
    fn edges(&self) -> BTreeSet<(Name, Name)> {
        let mut edges = BTreeSet::new();
        for (name, module) in &self.0 {
            let passed_on = module.passed_on.iter().map(|import| (&module.imports[import], import));
            let passed_on = passed_on.filter(|(path, import)| {
                // What a module passes on from its own folder it doesn't use by that.
                let from_inside = self
                    .defining(name, path, 0)
                    .is_some_and(|found| found.starts_with(name) || name.is_empty());
                !from_inside || module.names.contains(*import)
            });
            for path in module.paths.iter().chain(passed_on.map(|(path, _)| path)) {
                if let Some(to) = self.defining(name, path, 0).filter(|to| to != name) {
                    edges.insert((name.clone(), to));
                }
            }
        }
        edges
    }

    /// The circles inside the folder of each module: sets of modules that reach each other.
    fn circles(&self) -> Vec<String> {
        let edges = self.edges();
        let mut circles = Vec::new();
        for folder in self.0.keys() {
            // The part of this folder that a module belongs to; its own file is none.
            let part =
                |name: &Name| name.strip_prefix(folder.as_slice()).and_then(|rest| rest.first()).cloned();
            let mut inside: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
            for (from, to) in &edges {
                if let (Some(from), Some(to)) = (part(from), part(to))
                    && from != to
                {
                    inside.entry(from).or_default().insert(to);
                }
            }
            circles.extend(circles_of(&inside).into_iter().map(|circle| {
                let uses = edges.iter().filter(|(from, to)| {
                    let (from, to) = (part(from), part(to));
                    from != to
                        && [from, to]
                            .iter()
                            .all(|part| part.as_ref().is_some_and(|part| circle.contains(part)))
                });
                let uses: Vec<String> = uses
                    .map(|(from, to)| format!("    {} uses {}", from.join("::"), to.join("::")))
                    .collect();
                let folder = if folder.is_empty() { "crate".to_owned() } else { folder.join("::") };
                format!(
                    "in {folder}: {}\n{}",
                    circle.iter().cloned().collect::<Vec<_>>().join(", "),
                    uses.join("\n")
                )
            }));
        }
        circles
    }
}

/// The sets of nodes that reach each other.
fn circles_of(graph: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<BTreeSet<String>> {
    let reach = |from: &String| {
        let mut found = BTreeSet::new();
        let mut open = vec![from.clone()];
        while let Some(next) = open.pop() {
            for to in graph.get(&next).into_iter().flatten() {
                if found.insert(to.clone()) {
                    open.push(to.clone());
                }
            }
        }
        found
    };
    let reached: BTreeMap<&String, BTreeSet<String>> = graph.keys().map(|node| (node, reach(node))).collect();
    let circle = |node: &&String| {
        reached[*node]
            .iter()
            .filter(|other| reached.get(other).is_some_and(|back| back.contains(*node)))
            .cloned()
            .collect()
    };
    reached.keys().map(circle).filter(|circle: &BTreeSet<String>| !circle.is_empty()).collect()
}

#[test]
fn no_module_uses_one_that_uses_it() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut circles = Vec::new();
    for root in ["page/src/lib.rs", "crawler/src/lib.rs", "crawler/src/bin/crawl/main.rs"] {
        let file = crates.join(root);
        let mut modules = Crate::default();
        modules.load(&file, file.parent().expect("its folder"), &Name::new());
        assert!(modules.0.len() > 10, "{root}: {} modules", modules.0.len());
        circles.extend(modules.circles());
        let reads_options = |module: &Module| module.paths.iter().any(|path| path[0] == "clap");
        let with_clap = modules.0.iter().filter(|(_, module)| reads_options(module)).map(|(name, _)| name);
        let with_clap: Vec<&Name> = with_clap.collect();
        assert!(
            root.ends_with("main.rs") || with_clap.is_empty(),
            "options are the program's: {with_clap:?}"
        );
    }
    assert!(circles.is_empty(), "{} circles\n{}", circles.len(), circles.join("\n"));
}

/// A crate of three modules, read from text.
fn modules(files: &[(&str, &str)]) -> Crate {
    let mut modules = Crate::default();
    for (path, text) in files {
        let mut module = Module::default();
        module.read(text.parse().expect("it is Rust"));
        let path = path.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect();
        modules.0.insert(path, module);
    }
    modules
}

#[test]
fn a_circle_is_found_through_what_a_folder_passes_on_and_not_in_tests() {
    let root = ("", "pub mod a; pub mod b; mod c { }");
    let b = |text| ("b", text);
    let a = ("a", "use crate::b::B; pub struct A;");
    assert_eq!(modules(&[root, a, b("pub struct B(crate::a::A);")]).circles().len(), 1);
    assert_eq!(modules(&[root, a, b("fn f() { g!(crate::a::A) } ")]).circles().len(), 1);
    assert_eq!(
        modules(&[root, a, b("pub struct B; // crate::a\n const S: &str = \"crate::a::A\";")])
            .circles()
            .len(),
        0
    );
    assert_eq!(
        modules(&[root, a, b("#[cfg(test)] use crate::a::A; #[cfg(test)] mod tests { use crate::a::A; }")])
            .circles()
            .len(),
        0
    );
    let a = ("a", "pub mod x; pub mod y; pub use x::X; pub use self::y::Y;");
    let x = ("a::x", "pub struct X; fn f(_: super::Y) {}");
    let y = |text| ("a::y", text);
    let b = b("");
    assert_eq!(modules(&[root, b, a, x, y("pub struct Y(super::X);")]).circles().len(), 1);
    assert_eq!(modules(&[root, b, a, x, y("pub struct Y;")]).circles().len(), 0);
}
