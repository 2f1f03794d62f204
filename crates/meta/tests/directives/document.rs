//! `docs/directives.md` names files and tests that are there, and every term.

use std::path::Path;

use meta::Term;

#[test]
fn the_document_names_real_tests_and_every_term() {
    let meta = Path::new(env!("CARGO_MANIFEST_DIR"));
    let document = std::fs::read_to_string(meta.join("../../docs/directives.md")).unwrap();
    let mut named = 0;
    for code in document.lines().flat_map(|line| line.split('`').skip(1).step_by(2)) {
        if !code.starts_with("src/") && !code.starts_with("tests/") {
            continue;
        }
        let (file, test) = code.split_once(": ").unwrap_or((code, ""));
        let source =
            std::fs::read_to_string(meta.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(test.is_empty() || source.contains(&format!("fn {test}(")), "{file} has no test {test}");
        named += 1;
    }
    assert!(named > 30, "only {named} are named");
    names_whole_program_tests(&document, &meta.join("../../tests/tests/program"));

    let (_, terms) = document.split_once("## Terms").unwrap();
    let terms = terms.split("## Conflicts").next().unwrap();
    for term in [
        Term::All,
        Term::None,
        Term::NoIndex,
        Term::Index,
        Term::NoFollow,
        Term::Follow,
        Term::NoArchive,
        Term::NoCache,
        Term::Archive,
        Term::NoSnippet,
        Term::Snippet,
        Term::NoImageIndex,
        Term::NoTranslate,
        Term::IndexIfEmbedded,
        Term::NoAi,
        Term::NoMl,
        Term::NoImageAi,
        Term::NoOdp,
        Term::NoYdir,
        Term::NoYaca,
        Term::NoSitelinksSearchBox,
    ] {
        assert!(terms.contains(&format!("`{term}`")), "{term}");
    }
}

/// Checks the names of tests and pages in `tests/tests/program`, and that every page there is named.
fn names_whole_program_tests(document: &str, program: &Path) {
    let files = ["directives/cases.rs", "directives/malformed.rs"];
    let cases = files.map(|file| std::fs::read_to_string(program.join(file)).unwrap()).concat();
    let words: Vec<&str> = document.lines().flat_map(|line| line.split('`').skip(1).step_by(2)).collect();
    let mut pages: Vec<&str> = words.iter().filter_map(|word| word.strip_prefix("e2e/")).collect();
    pages.sort_unstable();
    pages.dedup();
    for page in pages.iter().filter(|page| **page != "NAME") {
        assert!(cases.contains(&format!("\"{page}\"")), "there is no page {page}");
    }
    let after = |mark: &str| -> Vec<String> {
        let parts = cases.split(mark).skip(1);
        let first = parts.filter_map(|part| part.trim_start().strip_prefix('"')?.split('"').next());
        first.filter(|name| !name.is_empty()).map(str::to_owned).collect()
    };
    let named = [after("tag("), after("line("), after("name: ")].concat();
    assert!(named.len() > 60, "{named:?}");
    for name in named {
        assert!(pages.contains(&name.as_str()), "page {name} isn't named in the document");
    }
    for word in words.iter().filter_map(|word| word.strip_prefix("program ")) {
        let Some((room, test)) = word.split_once(": ") else { continue };
        let file = program.join(room.replace("::", "/")).with_extension("rs");
        let source = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{word}: {error}"));
        assert!(source.contains(&format!("fn {test}(")), "{word}");
    }
}
