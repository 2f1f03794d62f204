#!/usr/bin/env python3
"""Fails when documents, comments or strings use words for which the project has a plainer or more usual term.

Reads README.md, CHANGELOG.md, CONTRIBUTING.md, docs/**/*.md, the comments of configs/*.toml, and the comments, doc comments and string
literals of the Rust sources of `crawler` and of the tests. Code is ignored (fenced and indented blocks, `code spans`, link targets,
identifiers).
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# What must not come back (a regular expression of whole words, any case), and what to write instead.
WORDS = [
    (r"octets?", "bytes"),
    (r"errands?", "robots fetch, hop"),
    (r"desks?|rooms?|shel(f|ves)", "pool, budget; module, directory, space; cache"),
    (r"hasten\w*|bur(y|ies|ied)", "flush soon; delete"),
    (r"harvest\w*", "crawl, fetch"),
    (r"every word that", "name what is honoured"),
    (r"(goes|go|going|gone|went) on with", "resumes, continues"),
    (r"tells? the story", "explain every decision about"),
    (r"least (pause|gap)", "minimum delay"),
    (r"lea(ves|ve) (a|the) host", "skips the host; ends after N pages of it"),
    (r"left", "skipped (never fetched), remaining (still queued), omitted"),
    (r"tr(y|ies) again where", "retries for transient failures"),
    (r"opens? a network", "allow a private network"),
    (r"stand|stands|stood", "is, appears, is listed, goes"),
    (r"nobody can (say|tell)", "undetermined, unknown"),
    (r"(none )?binds? us", "applies"),
    (r"(be|is|are) had|had back|had any more", "available, unreachable, recovered"),
    (r"cut off", "killed, interrupted; truncated"),
    (r"mend(ed|s)?", "fixed"),
    (r"of an unknown form", "unsupported format version"),
    (r"site's (word|matter)", "a robots.txt change; decided by the site"),
    (r"told", "reported, recorded"),
    (r"a want of", "out of"),
    (r"holds? (its|the) directory", "locks its directory"),
    (r"who says", "name the setting that overrides"),
    (r"anew|once more", "again"),
    (r"for ever", "forever"),
    (r"(?-i:http) [1-5]\d\d", "HTTP 200"),
    (r"robots txt", "robots.txt"),
    (r"1 (pages|URLs|hosts|requests|links)", "1 page"),
    (r"[Tt]alk to", "messages to"),
]

# (file, regular expression of the place, reason): uses that are right.
ALLOWED = [
    ("*", r"stands? for", "the usual English for an abbreviation"),
    ("*", r"left to right|left-hand|to the left", "the direction"),
    ("*", r"\.left|-left", "part of a name"),
    ("*", r"No space left( on device)?", "the operating system's message"),
    ("crates/crawler/src/demo/sites/marys.rs", r"auction room", "the name of a room"),
    ("crates/crawler/src/store/sled/seal.rs", r"octets", "stored format"),
]


# The Rust sources that are read.
RUST = ["crates/crawler/**/*.rs", "tests/**/*.rs"]

# Comments, strings, and what may contain a quote: character literals.
RUST_TOKEN = re.compile(
    r"""
      (?P<comment>//[^\n]*|/\*.*?\*/)
    | (?P<string>\b[bc]?r(?P<hashes>\#*)".*?"(?P=hashes) | \b[bc]?"(?:\\.|[^"\\])*" | "(?:\\.|[^"\\])*")
    | b?'(?:\\(?:x[0-9a-fA-F]{2}|u\{[^}]*\}|.)|[^'\\\n])'
    """,
    re.VERBOSE | re.DOTALL,
)


def rust_lines(text):
    """Yields (number, text) of each line of a comment or a string; strings of one word are names."""
    for token in RUST_TOKEN.finditer(text):
        if token["comment"] is None and token["string"] is None:
            continue
        found = token.group(0)
        if token["string"] is not None and " " not in found:
            continue
        first = text.count("\n", 0, token.start()) + 1
        for number, line in enumerate(found.splitlines(), first):
            yield number, re.sub(r"`[^`]*`|\{[^{}]*\}", "", line)


def text_lines(path):
    """Yields (number, text) of what a person reads as prose."""
    if path.suffix == ".rs":
        yield from rust_lines(path.read_text(encoding="utf-8"))
        return
    fenced = False
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        # A code span may go over the end of a line, never over a blank one. Line ends stay, so that numbers do.
        span = r"(?<![`\\])(`{1,2})(?!`)((?:(?!\n\s*\n)[^`])+?)\1(?!`)"
        text = re.sub(span, lambda match: "\n" * match.group(0).count("\n"), text)
    for number, line in enumerate(text.splitlines(), 1):
        if path.suffix == ".toml":
            if line.startswith("#"):
                yield number, re.sub(r"`[^`]*`", "", line)
            continue
        if line.lstrip().startswith("```"):
            fenced = not fenced
            continue
        if fenced or re.match(r" {4}(?! *[-*\d])", line):
            continue
        yield number, re.sub(r"\]\([^)]*\)", "]", line)


def main():
    files = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
    files += sorted((ROOT / "docs").rglob("*.md")) + sorted((ROOT / "configs").glob("*.toml"))
    files += sorted(path for pattern in RUST for path in ROOT.glob(pattern))
    found = 0
    for path in files:
        name = path.relative_to(ROOT).as_posix()
        allowed = [re.compile(place, re.I) for file, place, _ in ALLOWED if file in ("*", name)]
        for number, line in text_lines(path):
            for pattern in allowed:
                line = pattern.sub(" ", line)
            for word, instead in WORDS:
                for match in re.finditer(rf"(?<![\w-])(?:{word})(?![\w-])", line, re.I):
                    found += 1
                    print(f"{name}:{number}: {match.group(0)!r}: write {instead}", file=sys.stderr)
    if found:
        print(f"{found} words to replace (tests/docs_words.py says why)", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
