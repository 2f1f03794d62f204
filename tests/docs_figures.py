#!/usr/bin/env python3
"""Compares each figure of docs/politeness.md, docs/limits.md and docs/faults.md with the constant of the code that it is about.

    tests/docs_figures.py           fails on a figure that the code has otherwise, that no statement below covers, or that is covered by two
                                    statements with different values
    tests/docs_figures.py --list    prints each figure with the place that it was compared with

A figure is a number (`1,000`, `24 MiB`, `a minute`, `two`, `a tenth`). Each belongs to a statement of tests/docs_figures_table.py: words of the
document with `{}` in the place of the figure, and where the code has it. That is read from the source, so it may be a private constant of
any crate, or of a test. Defaults of settings are those of the table in docs/limits.md, which a unit test compares with the code
(`the_document_holds_the_limits_with_their_defaults`). What is no property of the program (RFC numbers, sections, statuses, code spans) is
left out by its form.
"""

import functools
import pathlib
import re
import sys
from fractions import Fraction

ROOT = pathlib.Path(__file__).resolve().parent.parent

DOCUMENTS = ["politeness.md", "limits.md", "faults.md"]

# Values are pairs of a number and what it counts: seconds, or anything else.
TIME, NUMBER = "s", ""

SECONDS = {"ns": Fraction(1, 10**9), "us": Fraction(1, 10**6), "ms": Fraction(1, 1000), "s": 1, "second": 1, "m": 60, "min": 60, "minute": 60}
SECONDS |= {"h": 3600, "hour": 3600, "d": 86400, "day": 86400}
BYTES = {"B": 1, "byte": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
PARTS = {"%": Fraction(1, 100), "ppm": Fraction(1, 10**6), "million": 10**6}
WORDS = {word: value for value, word in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())}
WORDS |= {"sixteen": 16, "a": 1, "an": 1, "twice": 2}
ORDINALS = {"second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "eighth": 8, "tenth": 10, "quarter": 4}

DIGITS = r"\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?"
SPELLED = r"two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|sixteen"
LONG_UNIT = r"(?:second|minute|hour|day|byte)s?"
SHORT_UNIT = r"(?:ns|us|ms|s|min|m|h|d|B|KB|KiB|MB|MiB|GB|GiB|ppm|million)\b|%"
FIGURE = (
    rf"(?:(?:{DIGITS})\s?(?:{SHORT_UNIT}|{LONG_UNIT}\b)|(?:{DIGITS})(?![\w%]|\.\d)"
    rf"|(?:{SPELLED}|an?|one) {LONG_UNIT}\b|(?:a|two|three|four) (?:third|fifth|tenth|quarter)s?\b"
    rf"|(?:{SPELLED})\b|twice\b|half\b|(?:third|fourth|fifth|sixth|eighth)\b)"
)
# No part of a word, a path, an address or a longer number.
FIGURE = rf"(?<![\w./:\[#-])(?<!\d,)(?:{FIGURE})"

# What is no figure of the program, by its form.
NO_FIGURE = [
    r"RFC \d+(?: sections? [\d.]+)?",
    r"(?:status|error|counts as) \d{3}\b",
    r"\b(?:206|304|401|403|404|405|410|421|425|429|501|503)\b(?! \w*bytes)",
    r"\b\d{3}-\d{3}\b",
    # Ordinals of things.
    r"\ba (?:second|third) (?:one|process|parser|signal)\b|\bone byte flipped\b",
    r"kill -9|HTTP/2|IPv[46]",
    r"(?<=KiB )a second\b",
]

# Rows whose figures other tests read: the table of statuses (crates/robots/tests/status.rs).
OTHER_TESTS = [r"^\| \d{3}[^|]*(?:\|[^|]*){5}\| (?:goes on|pauses[a-z ]*) \|$"]


def figure(text):
    """The value of a figure as a document writes it."""
    text = re.sub(r"\s+", " ", text.strip()).lower() if text[0].isalpha() else text.strip()
    if text == "half":
        return Fraction(1, 2), NUMBER
    if match := re.fullmatch(r"(\w+) (third|fifth|tenth|quarter)s?", text):
        return Fraction(WORDS[match[1]], ORDINALS[match[2]]), NUMBER
    if text in ORDINALS:
        return Fraction(ORDINALS[text]), NUMBER
    if text in WORDS:
        return Fraction(WORDS[text]), NUMBER
    match = re.fullmatch(r"([\d.,]+|[a-z]+)\s?([A-Za-z%]*)", text)
    number = Fraction(match[1].replace(",", "")) if match[1][0].isdigit() else Fraction(WORDS[match[1]])
    unit = match[2] if match[2] in SECONDS or match[2] in BYTES or match[2] in PARTS else match[2].removesuffix("s")
    if unit in SECONDS:
        return number * SECONDS[unit], TIME
    return number * (BYTES | PARTS | {"": 1})[unit], NUMBER


class Value:
    """A value of the code, or a calculation with some."""

    def __init__(self, of, where):
        self.of, self.where = of, where

    def read(self):
        return self.of()

    def _with(self, other, sign, calculate):
        def of():
            (one, unit), (two, other_unit) = self.read(), (other.read() if isinstance(other, Value) else (Fraction(other), NUMBER))
            return calculate(one, two), unit or other_unit

        return Value(of, f"{self.where} {sign} {other.where if isinstance(other, Value) else other}")

    def __add__(self, other):
        return self._with(other, "+", lambda one, two: one + two)

    def __sub__(self, other):
        return self._with(other, "-", lambda one, two: one - two)

    def __mul__(self, other):
        return self._with(other, "*", lambda one, two: one * two)

    def __truediv__(self, other):
        return self._with(other, "/", lambda one, two: one / two)

    def __getitem__(self, index):
        return Value(lambda: self.read()[index], f"{self.where}[{index}]")

    def power(self):
        """Two to the power of it."""
        return Value(lambda: (Fraction(2 ** int(self.read()[0])), NUMBER), f"2 ^ {self.where}")

    def seconds(self):
        """It, as a number of seconds."""
        return Value(lambda: (self.read()[0], TIME), self.where)


@functools.cache
def source(path):
    return (ROOT / path).read_text()


def evaluate(path, expression):
    """The value of a constant expression of Rust: integers, durations, other constants of the file, arrays, ranges."""
    text = re.sub(r"//.*", "", expression).strip()
    text = re.sub(r"(?<=[\da-f])_(?=\d)", "", text)
    text = re.sub(r"(\d)_?[uif](?:8|16|32|64|128|size)\b", r"\1", text)
    text = re.sub(r'\.expect\("[^"]*"\)|\bas [uif]\w+\b', "", text)
    text = re.sub(r"(?:std::time::)?(?:Signed)?Duration::from_(\w+)", r"from_\1", text)
    text = re.sub(r"NonZero\w*::new", "", text)
    text = re.sub(r"^(.+)\.\.=(.+)$", r"[\1, \2]", text)
    seconds = {"millis": Fraction(1, 1000), "secs": 1, "mins": 60, "hours": 3600}
    names = {f"from_{unit}": lambda n, by=by: (Fraction(n) * by, TIME) for unit, by in seconds.items()}
    for name in set(re.findall(r"\b(?:Self::)?([A-Z][A-Z0-9_]+)\b", text)):
        value = constant(path, name).read()
        names[name] = value[0] if isinstance(value, tuple) else value
    value = eval(text.replace("Self::", ""), {"__builtins__": {}}, names)
    return [each if isinstance(each, tuple) else (Fraction(each), NUMBER) for each in value] if isinstance(value, list) else (
        value if isinstance(value, tuple) and len(value) == 2 and value[1] in (TIME, NUMBER) else (Fraction(value), NUMBER))


def constant(path, name):
    """A constant, by its name."""

    def of():
        found = re.search(rf"\b(?:const|static) {name}: [^=]+? = (.+?);\n", source(path), re.S)
        if not found:
            raise LookupError(f"{path} has no constant {name}")
        return evaluate(path, found[1])

    return Value(of, f"{path} {name}")


def expression(path, pattern):
    """A value that has no name: what the group of a regular expression takes from the source, which has it once."""

    def of():
        found = re.findall(pattern, source(path))
        if len(set(found)) != 1:
            raise LookupError(f"{path} has {len(found)} times {pattern!r}")
        return evaluate(path, found[0])

    return Value(of, f"{path} {pattern!r}")


def count(path, block, row):
    """How often a pattern is in a part of the source."""

    def of():
        found = re.search(block, source(path), re.S)
        if not found:
            raise LookupError(f"{path} has no {block!r}")
        return Fraction(len(re.findall(row, found[found.lastindex or 0]))), NUMBER

    return Value(of, f"{path} {block!r}")


@functools.cache
def defaults():
    rows = re.findall(r"^\| `(\w+\.\w+)` \| ([^|]+) \|", source("docs/limits.md"), re.M)
    return dict(rows)


def setting(key):
    """The default of a setting."""
    return Value(lambda: figure(defaults()[key]), f"default of {key}")


class OneOf:
    """One of the integers that a file names as constants."""

    def __init__(self, path):
        self.where = f"a constant of {path}"
        self.path = path

    def read(self):
        names = re.findall(r"\bconst (\w+): [iu]\d+ =", source(self.path))
        return [constant(self.path, name).read() for name in names]


class Other:
    """A figure that is no constant, and why."""

    def __init__(self, why):
        self.where = why


def main():
    from docs_figures_table import STATEMENTS

    listed = "--list" in sys.argv[1:]
    bad, compared = [], 0
    for document in DOCUMENTS:
        lines = source(f"docs/{document}").split("\n")
        text = " ".join(lines)
        starts = [0]
        for line in lines:
            starts.append(starts[-1] + len(line) + 1)

        def place(at):
            number = sum(start <= at for start in starts)
            return f"docs/{document}:{number}"

        # Other tests' rows, code spans and link targets have no figures, but for settings with their default.
        masked = text
        blank = lambda match: " " * len(match.group())
        for start, line in zip(starts, lines):
            if any(re.match(pattern, line) for pattern in OTHER_TESTS):
                masked = masked[:start] + " " * len(line) + masked[start + len(line) :]
        masked = re.sub(r"\]\([^)]*\)", blank, masked)
        masked = re.sub(r"`[^`]*`", lambda match: "`" + "_" * (len(match.group()) - 2) + "`", masked)
        for pattern in NO_FIGURE:
            masked = re.sub(pattern, blank, masked, flags=re.I)
        found = {match.start(): match for match in re.finditer(FIGURE, masked, re.I)}
        covered = {}

        def compare(at, value, words):
            nonlocal compared
            match = found.get(at)
            if match is None:
                return
            covered[at] = value
            if listed:
                print(f"{place(at)}: {match.group()!r}: {value.where}")
            if isinstance(value, Other):
                return
            compared += 1
            says = figure(match.group())
            try:
                has = value.read()
            except Exception as error:
                bad.append(f"{place(at)}: {words!r}: {error}")
                return
            if isinstance(value, OneOf):
                if says not in has:
                    bad.append(f"{place(at)}: {match.group()!r} in {words!r} isn't {value.where}")
            elif has != says:
                unit = " s" if has[1] else ""
                bad.append(f"{place(at)}: {match.group()!r} in {words!r}, but {value.where} is {float(has[0]):g}{unit}")

        # `key` 200, `key` (200), (`key`, 200); 200 (`key`).
        for match in re.finditer(rf"(?:`(\w+\.\w+)`,? \(?|(?<=\| \| )`(\w+\.\w+)` \| )(?={FIGURE})", text, re.I):
            if (key := match[1] or match[2]) in defaults():
                compare(match.end(), setting(key), match.group())
        for match in re.finditer(rf"({FIGURE})(?: \w+)? \(`(\w+\.\w+)`\)", text, re.I):
            if match[2] in defaults():
                compare(match.start(1), setting(match[2]), match.group())

        for words, *values in STATEMENTS[document]:
            parts = [re.escape(part).replace(r"\ ", r"\s+") for part in words.split("{}")]
            pattern = parts[0] + "".join(f"({FIGURE}){part}" for part in parts[1:])
            matches = list(re.finditer(pattern, text, re.I))
            if not matches or len(parts) != len(values) + 1:
                bad.append(f"docs/{document} doesn't say {words!r}")
            for match in matches:
                for group, value in enumerate(values, 1):
                    compare(match.start(group), value, words)
        for at, match in found.items():
            if at not in covered:
                around = text[max(0, at - 60) : match.end() + 40]
                bad.append(f"{place(at)}: no statement of tests/docs_figures_table.py covers {match.group()!r} in {around!r}")
    if compared < 300:
        bad.append(f"only {compared} figures were found")
    for line in bad:
        print(line, file=sys.stderr)
    print(f"docs_figures: {compared} figures compared with the code", file=sys.stderr)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    # The table imports this module: one copy of its classes.
    import docs_figures

    docs_figures.main()
