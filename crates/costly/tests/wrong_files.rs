//! What is wrong with a file of a kind is said with the file, the line and what to do.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;

use costly::{Kind, Kinds};

const SIGN: &str = "[[sign]]\ngenerator = 'X'\nsource = 'y'\n";

#[test]
fn errors_have_the_line_and_advice() {
    let head = "name = 'x'\ntitle = 'X'\n";
    for (text, line, words) in [
        ("name = 'x'\ntitle = 3\n".to_owned(), Some(2), "string"),
        (format!("{head}colour = 'red'\n"), Some(3), "unknown field"),
        (head.to_owned(), None, "add a table [[sign]]"),
        (format!("name = 'X Y'\ntitle = 'X'\n{SIGN}"), Some(1), "lower-case letters"),
        (format!("name = 'any'\ntitle = 'X'\n{SIGN}"), Some(1), "isn't `any`"),
        (format!("{head}[[sign]]\nsource = 'y'\n"), Some(3), "has one of `generator`"),
        (format!("{head}[[sign]]\npath = '/wiki/**'\nsource = 'y'\n"), Some(3), "weak = true"),
        (format!("{head}{SIGN}[[skip]]\nclass = 'edits'\nquery = ['a']\nsource = 'y'\n"), Some(7), "edits"),
        (format!("{head}{SIGN}[[skip]]\nclass = 'edit'\nsource = 'y'\n"), Some(6), "every URL"),
        (
            format!("{head}{SIGN}[[skip]]\nclass = 'edit'\npath = ['/**']\nsource = 'y'\n"),
            Some(6),
            "every URL",
        ),
        (
            format!("{head}{SIGN}[[skip]]\nclass = 'edit'\npath = ['edit']\nsource = 'y'\n"),
            Some(6),
            "no slash",
        ),
        (format!("{head}{SIGN}[[skip]]\nclass = 'edit'\npath = ['/{{a']\nsource = 'y'\n"), Some(6), "braces"),
        (
            format!("{head}{SIGN}[[skip]]\nclass = 'edit'\nquery = ['=x']\nsource = 'y'\n"),
            Some(6),
            "name of a parameter",
        ),
        (format!("{head}{SIGN}[[skip]]\nclass = 'edit'\nquery = ['a']\n"), Some(6), "source"),
        (
            format!("{head}{SIGN}[[skip]]\nclass = 'edit'\nquery = ['a']\nsource = ' '\n"),
            Some(6),
            "say where",
        ),
    ] {
        let error = Kind::parse(&text, "my.toml").unwrap_err();
        assert_eq!((error.line, error.file.as_str()), (line, "my.toml"), "{text}\n{error}");
        assert!(error.to_string().contains(words), "{words}: {error}");
    }
}

#[test]
fn a_directory_of_ones_own_adds_and_replaces_kinds() {
    let directory = tempfile::tempdir().unwrap();
    let mut kinds = Kinds::embedded().unwrap();
    let before = kinds.iter().count();
    let kind = |name: &str, title: &str| format!("name = '{name}'\ntitle = '{title}'\n{SIGN}");
    fs::write(directory.path().join("a.toml"), kind("trac", "Our Trac")).unwrap();
    fs::write(directory.path().join("b.toml"), kind("own", "Own")).unwrap();
    fs::write(directory.path().join("README.md"), "no kind").unwrap();
    kinds.add_directory(directory.path()).unwrap();
    assert_eq!(kinds.iter().count(), before + 1);
    assert_eq!(kinds.get("trac").map(Kind::title), Some("Our Trac"));

    fs::write(directory.path().join("c.toml"), kind("own", "Again")).unwrap();
    let error = kinds.add_directory(directory.path()).unwrap_err().to_string();
    assert!(
        error.contains("c.toml") && error.contains("b.toml") && error.contains("another name"),
        "{error}"
    );
    let missing = kinds.add_directory(&directory.path().join("none")).unwrap_err();
    assert!(missing.to_string().contains("can't be read"));
}
