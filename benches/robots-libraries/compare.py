#!/usr/bin/env python3
"""Compares crates/robots with other libraries that read robots.txt, and writes the tables of docs/robots-libraries.md.

    benches/robots-libraries/run                 # installs what is needed, builds, prints the tables
    benches/robots-libraries/run --write         # also puts them into the document
    benches/robots-libraries/run --rounds 15     # more rounds of measurement (default 7)

Libraries: crates/robots, robotstxt and texting_robots (Rust), Google's C++ library through its Python binding jwm.robotstxt, protego
and urllib.robotparser (Python). One that isn't installed is left out of the tables, and named.

Conformance: the files in cases/. Speed: files that this program generates, always the same; medians of rounds in which every library
runs once. Times are those of the processor, not of the clock on the wall.
"""

import argparse
import base64
import json
import os
import pathlib
import platform
import random
import re
import statistics
import subprocess
import sys
import time
import urllib.robotparser
from importlib import metadata

HERE = pathlib.Path(__file__).resolve().parent
DOCUMENT = HERE.parent.parent / "docs" / "robots-libraries.md"
SITE = "https://site.example"
REASONS = HERE / "reasons.tsv"

# Clauses of RFC 9309 that the tests of Google's library examine.
GOOGLE_CLAUSES = {
    "GoogleOnly_AcceptUserAgentUpToFirstSpace": "2.2.1",
    "GoogleOnly_DocumentationChecks": "2.2.2",
    "GoogleOnly_IndexHTMLisDirectory": "2.2.2",
    "GoogleOnly_LineTooLong": "2.2.2",
    "GoogleOnly_SystemTest": "2.2.1",
    "ID_AllowDisallow_Value_CaseSensitive": "2.2.2",
    "ID_Encoding": "2.2.2",
    "ID_GlobalGroups_Secondary": "2.2.1",
    "ID_LineSyntax_Groups": "2.1",
    "ID_LineSyntax_Groups_OtherRules": "2.2.4",
    "ID_LineSyntax_Line": "2.2",
    "ID_LongestMatch": "2.2.2",
    "ID_REPLineNamesCaseInsensitive": "2.2",
    "ID_SpecialCharacters": "2.2.3",
    "ID_UserAgentValueCaseInsensitive": "2.2.1",
}
CLAUSES = {
    "2.1": "groups and rules",
    "2.2": "lines and fields",
    "2.2.1": "user-agent lines, merged groups",
    "2.2.2": "Allow and Disallow: longest match, escapes",
    "2.2.3": "`#`, `*` and `$`",
    "2.2.4": "other fields don't end a group",
    "2.3": "byte order mark",
    "2.5": "files of up to 500 KiB",
    "5": "the examples of the RFC",
    "Google": "leniency of Google's parser beyond the RFC",
}


class Rust:
    """The program in src/: its libraries, asked line by line."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def protego():
    from protego import Protego

    def parse(body, agent):
        rules = Protego.parse(body.decode("utf-8", "replace"))
        return lambda url: rules.can_fetch(url, agent)

    return parse


def robotparser():
    def parse(body, agent):
        rules = urllib.robotparser.RobotFileParser()
        rules.parse(body.decode("utf-8", "replace").splitlines())
        return lambda url: rules.can_fetch(agent, url)

    return parse


def google():
    import jwm.robotstxt.googlebot as googlebot

    def parse(body, agent):
        # No parsed form is kept: every question reads the file. It takes bytes for std::string.
        return lambda url: googlebot.RobotsMatcher().OneAgentAllowedByRobots(body, agent, url)

    return parse


# Name in the tables: how to make it, the package whose version is printed, whether it keeps a parsed form.
PYTHON = {
    "Google C++": (google, "jwm.robotstxt", False),
    "protego": (protego, "protego", True),
    "robotparser": (robotparser, None, True),
}
NAMES = {
    "hardened": "robots (`hardened`)",
    "rfc9309": "robots (`rfc9309`)",
    "like google": "robots (`rfc9309`, index folder)",
    "Google C++": "Google C++",
    "robotstxt": "robotstxt",
    "texting_robots": "texting_robots",
    "protego": "protego",
    "robotparser": "urllib.robotparser",
}


def load_python():
    made, missing = {}, []
    for name, (make, package, keeps) in PYTHON.items():
        try:
            made[name] = (make(), keeps)
        except ImportError as error:
            missing.append(f"{name} ({error})")
    return made, missing


def versions():
    """The versions in use: of the lock file, and of the installed packages."""
    found = {}
    lock = (HERE / "Cargo.lock").read_text(encoding="utf-8")
    for name in ("robotstxt", "texting_robots"):
        found[name] = re.search(rf'name = "{name}"\nversion = "([^"]+)"', lock).group(1)
    for name, (_, package, _) in PYTHON.items():
        try:
            found[name] = f"{package} {metadata.version(package)}" if package else f"Python {platform.python_version()}"
        except metadata.PackageNotFoundError:
            pass
    return found


def body_of(row):
    if "robots_b64" in row:
        return base64.b64decode(row["robots_b64"])
    text = row.get("robots")
    if text is None:
        text = "".join(part * count for part, count in row["robots_parts"])
    return text.encode("utf-8", "surrogateescape")


def cases():
    """Yields (clause, id, robots.txt, agent, URL, allowed)."""
    for file in ("rfc9309.jsonl", "google.jsonl"):
        for line in (HERE / "cases" / file).read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if row["dialect"] not in ("rfc9309", "google") or not isinstance(row.get("allowed"), bool):
                continue
            test = row["source"].rsplit(".", 1)[-1]
            if row["dialect"] == "google":
                clause = "Google"
            elif file == "google.jsonl":
                clause = GOOGLE_CLAUSES[test]
            else:
                clause = re.search(r"section (5|[\d.]+\d)", row["source"]).group(1)
                clause = "5" if clause.startswith("5") else clause
            url = row["url"] if "url" in row else "".join(part * count for part, count in row["url_parts"])
            url = SITE + url if url.startswith("/") else url
            yield clause, row["id"], body_of(row), row["agent"], url, row["allowed"]


def conformance(rust, python):
    rows = list(cases())
    encoded = [[base64.b64encode(body).decode(), agent, url] for _, _, body, agent, url, _ in rows]
    given = rust.ask({"answers": encoded})
    for name, (parse, _) in python.items():
        signs = []
        for _, _, body, agent, url, _ in rows:
            try:
                signs.append("1" if parse(body, agent)(url) else "0")
            except Exception:  # noqa: BLE001 - whatever it raises is no answer
                signs.append("!")
        given[name] = "".join(signs)
    names = [name for name in NAMES if name in given]
    reasons = [line.split("\t") for line in REASONS.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
    table = {clause: {name: [0, 0] for name in names} for clause in CLAUSES}
    because, unexplained = {}, []
    for name in names:
        for sign, (clause, case, _, _, _, allowed) in zip(given[name], rows):
            table[clause][name][0] += sign == "01"[allowed]
            table[clause][name][1] += 1
            if sign == "01"[allowed]:
                continue
            kind = {"0": "denies", "1": "allows", "!": "fails"}[sign]
            reason = next((why for lib, ids, why in reasons if name in lib.split("|") and re.fullmatch(ids, case)), None)
            if reason is None:
                unexplained.append(f"{name}\t{case}\t{kind}\t{clause}")
                reason = "?"
            because.setdefault((name, reason), []).append((kind, case))
    lines = ["| RFC 9309 | cases | " + " | ".join(NAMES[name] for name in names) + " |", "|---|---|" + "---|" * len(names)]
    for clause, title in CLAUSES.items():
        total = table[clause][names[0]][1]
        cells = [f"{table[clause][name][0]}" for name in names]
        label = title if clause == "Google" else f"{clause} {title}"
        lines.append(f"| {label} | {total} | " + " | ".join(cells) + " |")
    total = sum(row[names[0]][1] for row in table.values())
    sums = [str(sum(row[name][0] for row in table.values())) for name in names]
    lines += [f"| all | {total} | " + " | ".join(sums) + " |", "", "Each difference, with its reason:", ""]
    lines += ["| library | cases | it | reason |", "|---|---|---|---|"]
    for (name, reason), found in because.items():
        kinds = ", ".join(f"{kind} {sum(k == kind for k, _ in found)}" for kind in sorted({k for k, _ in found}))
        lines.append(f"| {NAMES[name]} | {len(found)} | {kinds} | {reason} |")
    return lines, unexplained


def generated():
    """Files of three sizes: [body, agent, URLs], always the same."""
    chance = random.Random(9309)
    words = ["a", "admin", "cart", "search", "private", "tmp", "wp-content", "node", "user", "print", "feed", "tag", "2024", "img"]
    path = lambda most: "".join("/" + chance.choice(words) for _ in range(chance.randint(1, most)))

    def rule():
        kind = chance.random()
        end = "" if kind < 0.6 else "/" if kind < 0.75 else "/*" if kind < 0.85 else "*.pdf$" if kind < 0.92 else "?*sort="
        return ("Allow: " if chance.random() < 0.15 else "Disallow: ") + path(4) + end

    def file(groups, rules):
        parts = []
        for group in range(groups):
            name = "*" if group == groups - 1 else f"bot-{chr(97 + group % 26)}"
            parts.append("\n".join([f"User-agent: {name}", "Crawl-delay: 1"] + [rule() for _ in range(rules)]))
        return "# robots.txt\n" + "\n\n".join(parts) + f"\n\nSitemap: {SITE}/sitemap.xml\n"

    sets = {}
    for name, count, groups, rules in (("small", 40, 2, 8), ("medium", 20, 6, 40), ("large", 2, 3, 3000)):
        files = []
        for _ in range(count):
            urls = [SITE + path(5) + chance.choice(["", "/", ".pdf", "?sort=x", "?a=b&sort=y"]) for _ in range(10)]
            files.append([file(groups, rules).encode(), "SuperRobot", urls])
        sets[name] = files
    return sets


def time_python(parse, keeps, files, times):
    """Processor time in ns of parsing, deciding, and both for each URL."""

    def timed(work):
        start = time.thread_time_ns()
        for _ in range(times):
            work()
        return time.thread_time_ns() - start

    prepared = [(parse(body, agent), urls) for body, agent, urls in files]
    read = timed(lambda: [parse(body, agent) for body, agent, _ in files]) if keeps else None
    decide = timed(lambda: [decide(url) for decide, urls in prepared for url in urls]) if keeps else None
    both = timed(lambda: [parse(body, agent)(url) for body, agent, urls in files for url in urls])
    return [read, decide, both]


def speed(rust, python, rounds):
    lines = []
    repeats = {"small": 20, "medium": 10, "large": 2}
    for name, files in generated().items():
        encoded = [[base64.b64encode(body).decode(), agent, urls] for body, agent, urls in files]
        count, urls = len(files), sum(len(file[2]) for file in files)
        figures = {}
        for _ in range(rounds):
            times = repeats[name]
            for library, measured in rust.ask({"files": encoded, "times": times}).items():
                figures.setdefault(library, []).append([m and m / times for m in measured])
            for library, (parse, keeps) in python.items():
                times = repeats[name] if library == "Google C++" else 1
                measured = time_python(parse, keeps, files, times)
                figures.setdefault(library, []).append([m and m / times for m in measured])
        sizes = [len(file[0]) for file in files]
        lines += [
            f"**{name}**: {count} files of {statistics.mean(sizes) / 1024:.1f} KiB on average, {urls} URLs.",
            "",
            "| library | parse a file | ratio | decide a URL | ratio | both, for one URL | ratio |",
            "|---|---|---|---|---|---|---|",
        ]
        for library in (library for library in NAMES if library in figures):
            cells = []
            for kind, by in enumerate((count, urls, urls)):
                times = [run[kind] for run in figures[library]]
                if times[0] is None:
                    cells += ["-", "-"]
                    continue
                ours = [run[kind] for run in figures["hardened"]]
                ratio = statistics.median(theirs / own for theirs, own in zip(times, ours))
                cells += [duration(statistics.median(times) / by), "1" if library == "hardened" else f"{ratio:.2g}" if ratio < 99 else f"{ratio:.0f}"]
            lines.append(f"| {NAMES[library]} | " + " | ".join(cells) + " |")
        lines.append("")
    return lines


def duration(nanoseconds):
    for unit, size in (("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.3g} {unit}"
    return f"{nanoseconds:.0f} ns"


def put(document, part, lines):
    """Replaces what is between `<!-- PART -->` and `<!-- end PART -->`."""
    text = document.read_text(encoding="utf-8")
    begin, end = f"<!-- {part} -->", f"<!-- end {part} -->"
    head, rest = text.split(begin, 1)
    _, tail = rest.split(end, 1)
    document.write_text(head + begin + "\n\n" + "\n".join(lines).strip() + "\n\n" + end + tail, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(HERE / "target/release/robots-libraries"), help="the built Rust program")
    parser.add_argument("--rounds", type=int, default=7, help="rounds of measurement; 0: conformance alone (default 7)")
    parser.add_argument("--write", action="store_true", help=f"put the tables into {DOCUMENT.name}")
    options = parser.parse_args()

    rust = Rust(options.program)
    python, missing = load_python()
    used = ", ".join(f"{NAMES[name]} {version}" for name, version in versions().items())
    used = f"Versions: {used}." + (f" Not installed: {', '.join(missing)}." if missing else "")
    conform, unexplained = conformance(rust, python)
    parts = {"versions": [used], "conformance": conform}
    if options.rounds:
        parts["speed"] = [f"Medians of {options.rounds} rounds, {os.cpu_count()} processors.", ""] + speed(rust, python, options.rounds)
    for part, lines in parts.items():
        print("\n".join(lines), end="\n\n")
        if options.write:
            put(DOCUMENT, part, lines)
    if unexplained:
        print("differences without a reason in reasons.tsv:", *unexplained, sep="\n", file=sys.stderr)
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
