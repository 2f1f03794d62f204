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
