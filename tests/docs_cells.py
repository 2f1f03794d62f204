#!/usr/bin/env python3
"""Runs the cells of the documents on crawls: command lines, commands and conditions in the text, SQL.

    tests/docs_cells.py BINARY [CRAWL...]

CRAWL is the directory of a crawl; it is copied, and the cells that only read run on the copy. Those that fetch run on a crawl of the
tutorial's site, which is made and served here; those that steer a crawl have one that runs. Checked are the exit code and the shape of the
output: there is some, JSON and CSV are read, columns and formats are those asked for, and lines that a document shows have lines of their
form in the output. Cells that can't run here are counted by the reason. Python cells: `tests/python`.
"""

import collections
import concurrent.futures
import csv
import functools
import http.server
import io
import itertools
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

import docs_commands
from docs_commands import DEADLINE, ROOT

AGENT = ["--agent", "TutorialBot/1.0", "--contact", "you@example.org"]

# Commands by what they need.
FETCH = {"resume", "recrawl", "plan", "run", "demo"}
STEER = {"set", "pause", "continue", "stop"}
WRITE = {"forget", "repair"}
# The end of a crawl is a document's subject, and its code as well; a reader's 1 is an answer (docs/cli.md).
CODES = {"explain": {0, 1}, "diff": {0, 1}, "search": {0, 1}, "status": {0, 10, 11, 13}, "page": {0, 1}, "robots": {0, 1}}
ENDS = {0, 10, 13}

CLUSTER = re.compile(r"\bcluster\b|postgres:|\bDATABASE\b|s3://|study-index|worker")


class Skipped(Exception):
    """Why a cell isn't run."""


class Wrong(Exception):
    """What is wrong with what a cell prints."""


def documents():
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def cells(path):
    """Yields (line number, kind, text, lines shown below): `block` for a line of a block of code, `text` for code in the text, `sql`."""
    fence = None
    shown = None
    paragraph = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        mark = re.match(r"\s*```(\w*)", line)
        if mark or fence is None and not line.strip():
            yield from spans(paragraph)
            paragraph = []
        if mark:
            if shown:
                yield shown
            shown = None
            fence = None if fence is not None else mark.group(1)
        elif fence is None:
            if code := re.match(r"    (crawl [^=].*)", line):
                yield number, "block", code.group(1), []
            else:
                paragraph.append((number, line))
        elif fence == "console" and line.lstrip().startswith("$ "):
            if shown:
                yield shown
            shown = (number, "block", line.lstrip()[2:], [])
        elif fence == "console" and shown:
            shown[3].append(line.strip())
        elif fence == "sh" and line.lstrip().startswith("crawl ") and '"$1"' not in line:
            yield number, "block", line.strip(), []
        elif fence == "sql" and line.strip():
            yield number, "sql", line.strip(), []
    yield from spans(paragraph)


def spans(paragraph):
    """The code in a paragraph, which may go over the end of a line."""
    text = "\n".join(line for _, line in paragraph)
    for found in re.finditer(r"`([^`]+)`", text):
        number = paragraph[0][0] + text.count("\n", 0, found.start())
        code = " ".join(found.group(1).split())
        if re.match(r"crawl [^=]", code):
            yield number, "text", code, []
        else:
            yield number, "condition", code, []


class Place:
    """A working directory of one document, with copies of a crawl under the names that documents use."""

    def __init__(self, source, site, running, bin_dir, text):
        self.source, self.site, self.running = source, site, running
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)
        env = {k: v for k, v in os.environ.items() if not k.startswith("CRAWL_")}
        self.env = env | {"PAGER": "", "NO_COLOR": "1", "PATH": f"{bin_dir}:{os.environ['PATH']}", "HOME": str(self.path)}
        (self.path / ".local/share/bash-completion/completions").mkdir(parents=True)
        # `crawl diff DIR1 DIR2` has the last two. Of a large crawl each copy takes its space.
        for name, words in {"crawl-data": "", "study": "study", "DIR": "DIR", "SPRING": "SPRING|DIR1", "AUTUMN": "AUTUMN|DIR2"}.items():
            if re.search(words, text):
                shutil.copytree(source.path, self.path / name)
        (self.path / "urls.txt").write_text(f"{site.url}\n")
        (self.path / "robots.txt").write_text("User-agent: *\nDisallow: /private\n")
        (self.path / "page.html").write_text('<meta name="robots" content="noindex"><a href="/a">a</a>')
        (self.path / "study.toml").write_text(self.config())

    @staticmethod
    def config():
        """The settings that the guide to long crawls shows, which `crawl --config study.toml` there reads."""
        text = (ROOT / "docs/how-to/long-crawl.md").read_text(encoding="utf-8")
        block = re.search(r"(?ms)^ *```toml\n(.*?)^ *```", text).group(1)
        return "\n".join(line.strip() for line in block.splitlines()).replace('delay = "2s"', 'delay = "0s"')

    def close(self):
        self.folder.cleanup()


class Source:
    """A crawl that is read, and what its placeholders stand for."""

    def __init__(self, binary, path, has_server=False):
        self.path, self.has_server = pathlib.Path(path), has_server

        def rows(*arguments):
            done = subprocess.run([binary, *arguments, "--json"], capture_output=True, text=True, timeout=DEADLINE, check=True)
            return [json.loads(line) for line in done.stdout.splitlines()]

        page = rows("show", path, "pages", "--where", "indexed", "--limit", "1")[0]
        self.url = page["url"]
        self.origin = "/".join(self.url.split("/")[:3])
        self.host = rows("show", path, "hosts", "--where", f'host = "{self.origin.split("/")[2].split(":")[0]}"')[0]["host"]


# The crawl that is steered, and its only host.
Running = collections.namedtuple("Running", "path host")


class Held(docs_commands.Site):
    over = threading.Event()

    def do_GET(self):
        if self.path == "/held":
            Held.over.wait(3600)
        if self.path == "/robots.txt" and self.headers["Host"].startswith("127.0.0.2"):
            body = b"User-agent: *\nCrawl-delay: 2\n"
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            return
        super().do_GET()


class Site:
    """The tutorial's site, served on a free port. `/held` of a second host is answered by nothing until the end."""

    def __init__(self, folder):
        self.letter = folder / "site/letters/1891.html"
        self.changes, self.lock = 0, threading.Lock()
        shutil.copytree(ROOT / "docs/tutorial/site", folder / "site")
        handler = functools.partial(Held, directory=str(folder / "site"))
        self.url, held = (self.serve(address, handler) for address in ("127.0.0.1", "127.0.0.2"))
        self.held = f"{held}held"

    @staticmethod
    def serve(address, handler):
        server = http.server.ThreadingHTTPServer((address, 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://{address}:{server.server_address[1]}/"

    def change(self):
        """Time passes: one page is another one for the next crawl."""
        with self.lock:
            self.changes += 1
            text = self.letter.read_text(encoding="utf-8")
            new = self.letter.with_suffix(".new")
            new.write_text(text.replace("</body>", f"<p>Added {self.changes}.</p></body>"), encoding="utf-8")
            # Whoever fetches it meanwhile gets the one or the other.
            new.replace(self.letter)


def substituted(text, kind, place):
    """The command line with a value for each placeholder. Raises where it has none."""
    source = place.source
    if CLUSTER.search(text):
        raise Skipped("a cluster")
    text = text.replace("https://www.example.org/ ", f"{place.site.url} ").replace("https://example.org ", f"{place.site.url} ")
    if text.count("[") or "..." in text and " ..." not in text and kind == "text" or re.search(r"[A-Z]\|", text):
        raise Skipped("a synopsis")
    text = text.replace("https://example.org/staff/ann", source.url).replace("/var/lib/crawl/study/data", "study")
    if found := re.search(r"--head (\w+)", text):
        name = "DIR" if " DIR " in text else "crawl-data"
        shown = subprocess.run(["crawl", "show", name, "--json"], cwd=place.path, env=place.env, capture_output=True, text=True, check=True)
        text = text.replace(found.group(1), json.loads(shown.stdout)["head"])
    text = text.replace("--config FILE", "--config study.toml").replace("--seed FILE", "--seed urls.txt")
    text = text.replace("127.0.0.1:8000", place.site.url.split("/")[2])
    for name, value in {
        "DIR1": "SPRING", "DIR2": "AUTUMN", "NEWDIR": "repaired", "URL": source.url, "HOST": source.host, "ORIGIN": source.origin,
        "TABLE": "pages", "FORMAT": "csv", "FILE": "out.file", "AGE": "0s", "QUERY": "the", "SHELL": "bash", "COMMAND": "show",
        "DURATION": "6s", "H": source.host, "A": "TutorialBot/1.0", "NAME/VERSION": "TutorialBot/1.0", "RE": "'^nothing$'",
        "N": "3", "TEXT": "text",
    }.items():  # fmt: skip
        text = re.sub(rf"(?<![\w/.-]){name}(?![\w/])", lambda _: value, text)
    return text.replace(" ...", "")


def command_of(text):
    """The first command of the program in a shell line, or none."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words = list(itertools.takewhile(lambda word: word not in ("|", ">", "&", ";"), lexer))[1:]
    if not words or words[0].startswith("-") or "/" in words[0]:
        return "run", words
    return words[0], words


def run_block(kind, text, shown, place):
    """Runs a command line as a reader would in this directory."""
    text = substituted(text, kind, place).split("  #")[0].rstrip()
    if not text.startswith("crawl "):
        return run_other(text, place)
    command, words = command_of(text)
    names = 2 if command in ("robots", "page", "config") else 1
    whole = command in ("schema", "man", "demo") or command == "run" and ("http" in text or "--seed" in words)
    if kind == "text" and not whole and (len(words) == names or words[names].startswith("-")):
        raise Skipped("a name, not a command line")
    # What is compared was crawled before.
    if (command in FETCH or command == "diff" and "SPRING" not in text) and not place.source.has_server:
        raise Skipped("its site is served for the tutorial's crawl only")
    if command == "serve" or "--serve" in words or "--watch" in words:
        return run_server(text, place)
    if command in STEER:
        text = re.sub(r"crawl-data|\bDIR\b", str(place.running.path), text).replace("www.example.org", place.running.host)
        text = text.replace(f"--host {place.source.host}", f"--host {place.running.host}")
        if command == "stop":
            raise Skipped("it ends the crawl that the others steer; see the tutorial")
    if command == "report":
        text = text.replace("www.example.org", place.source.host)
    if command == "resume" and "repaired" in text and not (place.path / "repaired").exists():
        subprocess.run(["crawl", "repair", "crawl-data", "--out", "repaired"], cwd=place.path, env=place.env, check=True, capture_output=True)
    if command == "repair":
        shutil.rmtree(place.path / "repaired", ignore_errors=True)
    if command == "run":
        if "--agent" not in text and "--config" not in text:
            text += " " + " ".join(AGENT)
        if not re.search(r"--seed|--config|http:", text):
            text += f" {place.site.url}"
        out = words[words.index("--out") + 1] if "--out" in words else "study" if "--config" in words else "crawl-data"
        shutil.rmtree(place.path / out, ignore_errors=True)
        place.site.change()
    if command == "demo":
        shutil.rmtree(place.path / "demo", ignore_errors=True)
    return finish(text, command, words, shown, place)


def finish(text, command, words, shown, place):
    stopped = shown[:1] == ["^C"]
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", text], cwd=place.path, env=place.env, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, timeout=DEADLINE,
    )  # fmt: skip
    refused = shown and shown[0].startswith("error:")
    allowed = {2} if refused else ENDS if command in ("run", "resume", "recrawl") else CODES.get(command, {0})
    if done.returncode not in allowed:
        raise Wrong(f"ends with {done.returncode}\n{done.stdout}{done.stderr}")
    files = [words[i + 1] for i, word in enumerate(words[:-1]) if word in ("-o", "--out", "--all")]
    for name in files:
        path = place.path / name.replace("~/", "")
        if not path.exists() or path.is_file() and not path.stat().st_size or path.is_dir() and not any(path.iterdir()):
            raise Wrong(f"{name} isn't written, or is empty\n{done.stderr}")
    if not files and ">" not in text and not (done.stdout + done.stderr).strip():
        raise Wrong("prints nothing")
    output = done.stdout
    for name in files:
        path = place.path / name
        if path.is_file() and ("csv" in words or "jsonl" in words):
            output = path.read_text(encoding="utf-8")
    shape(output, words, " | " in text)
    if place.source.has_server and not stopped:
        forms(shown, (done.stdout + done.stderr).splitlines())


def shape(output, words, piped):
    """Whether the output has the form that the command names."""
    if piped:
        return
    value = {word: words[i + 1] for i, word in enumerate(words[:-1])}
    columns = value.get("--columns", "").split(",") if value.get("--columns") not in (None, "all") else None
    if "--json" in words or value.get("--format") == "jsonl":
        objects = [json.loads(line) for line in output.splitlines()]
        if any("v" not in row for row in objects):
            raise Wrong("an object has no v")
        if columns and any(list(row)[1:] != columns for row in objects):
            raise Wrong(f"the columns are {list(objects[0])}")
    elif value.get("--format") == "csv" and output:
        rows = list(csv.reader(io.StringIO(output)))
        if len({len(row) for row in rows}) != 1:
            raise Wrong("rows of CSV differ in length")
    elif columns and words[0] == "show":
        head = output.splitlines()[0].lower().split() if output else columns
        if [name for name in columns if name not in head]:
            raise Wrong(f"the head of the table is {head}")


def forms(shown, output):
    """Whether each line that the document shows has a line of its form in the output, in any order, since two streams are read."""

    def form(line):
        for pattern, name in docs_commands.VARIABLE + [(r"\bhttps?://\S+", "URL"), (r"[\d.]+ ([KM]i)?B\b", "SIZE"), (r"\b(www\.example\.org|127\.0\.0\.\d)(:\d+)?\b", "HOST"), (r"\d+(\.\d+)?", "N")]:
            line = re.sub(pattern, name, line)
        return line.split()

    found = [form(line) for line in output]
    for line in shown:
        if line in ("...", "", "^C"):
            continue
        if form(line) not in found:
            raise Wrong("it shows a line of which there is none in:\n" + "\n".join(output) + f"\n-- the line: {line}")


def run_server(text, place):
    """Starts what doesn't end by itself, until it says something, and stops it as Ctrl-C does."""
    text = re.sub(r"crawl (serve|status)(.*)", r"crawl \1\2", text)
    if text.startswith("crawl serve"):
        text += " --listen 127.0.0.1:0"
    process = subprocess.Popen(
        ["bash", "-c", f"exec {text}"], cwd=place.path, env=place.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    guard = threading.Timer(DEADLINE, process.kill)
    guard.start()
    first = process.stdout.readline()
    process.send_signal(signal.SIGINT)
    process.communicate()
    guard.cancel()
    if not first.strip():
        raise Wrong("it says nothing")


def run_other(text, place):
    """A command of another program."""
    program = text.split()[0].strip("(")
    needed = set(re.findall(r"\b(jq|openssl|unzip|warcio|wb-manager|wayback|curl|tar|sha256sum|base64)\b", text))
    for name in sorted(needed):
        if not shutil.which(name, path=place.env["PATH"]):
            raise Skipped(f"{name} isn't installed")
    if program in ("pip", "sudo", "apt", "apt-get", "wayback", "cargo", "git", "docker", "systemctl", "cd", "python3", "curl"):
        raise Skipped("it changes the machine, or waits for one")
    done = subprocess.run(["bash", "-o", "pipefail", "-c", text], cwd=place.path, env=place.env, capture_output=True, text=True, timeout=DEADLINE)
    if done.returncode:
        raise Wrong(f"ends with {done.returncode}\n{done.stdout}{done.stderr}")


def run_condition(text, columns, place):
    """Reads each table that has the columns of a condition by it. None where the text is no condition."""
    text = text.removeprefix("where=").strip('"') if text.startswith("where=") else text
    found = re.match(r"(?:not )?([a-z_]+) (?:=|==|!=|<>|<=?|>=?|~|!~|contains|in|not in|is) ", text)
    if not found or "..." in text or "(" in text.split(" in ")[0] or re.search(r"\b[A-Z]{4,}\b", text):
        return None
    tables = [table for table, names in columns.items() if found.group(1) in names]
    if not tables:
        return None
    errors = []
    for table in tables:
        done = subprocess.run(
            ["crawl", "show", "crawl-data", table, "--where", text, "--limit", "3", "--json"],
            cwd=place.path, env=place.env, capture_output=True, text=True, timeout=DEADLINE,
        )  # fmt: skip
        if done.returncode == 0:
            [json.loads(line) for line in done.stdout.splitlines()]
            return True
        errors.append(f"{table}: {done.stderr}")
    raise Wrong("".join(errors))


def run_sql(text, place):
    if "parquet" in text or "unnest" in text or "read_csv" in text or "read_json" in text:
        raise Skipped("DuckDB; see tests/python")
    path = place.path / "cells.sqlite"
    if not path.exists():
        subprocess.run(
            ["crawl", "export", "crawl-data", "--format", "sqlite", "-o", str(path)],
            cwd=place.path, env=place.env, check=True, capture_output=True, timeout=DEADLINE,
        )  # fmt: skip
    database = sqlite3.connect(path)
    try:
        database.execute(text).fetchall()
    except sqlite3.Error as error:
        raise Wrong(str(error)) from error
    finally:
        database.close()


def run_document(path, name, source, site, running, bin_dir, columns):
    """Runs the cells of one document in their order, in a directory of its own. Returns as `run_all`."""
    run, skipped, bad = collections.Counter(), collections.Counter(), 0
    found = list(cells(path))
    if path == docs_commands.TUTORIAL or path.name == "cluster.md":
        skipped["a cluster" if path.name == "cluster.md" else "the tutorial, run as a whole"] += sum(1 for cell in found if cell[1] == "block")
        return run, skipped, bad
    place = Place(source, site, running, bin_dir, path.read_text(encoding="utf-8"))
    try:
        for number, kind, text, shown in found:
            try:
                if kind == "condition":
                    if run_condition(text, columns, place) is None:
                        continue
                elif kind == "sql":
                    run_sql(text, place)
                else:
                    run_block(kind, text, shown, place)
                run[kind] += 1
            except Skipped as reason:
                skipped[str(reason)] += 1
            except (Wrong, ValueError, subprocess.TimeoutExpired) as error:
                bad += 1
                print(f"{path.relative_to(ROOT)}:{number}: on {name}: {text}\n{error}\n", file=sys.stderr)
    finally:
        place.close()
    return run, skipped, bad


def run_all(name, *rest):
    """Runs the cells on one crawl. Returns what was run, by kind; what wasn't, by reason; and how many were wrong."""
    run, skipped, bad = collections.Counter(), collections.Counter(), 0
    # Most of the time is that between requests.
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for ran, left, wrong in pool.map(lambda path: run_document(path, name, *rest), documents()):
            run.update(ran)
            skipped.update(left)
            bad += wrong
    return run, skipped, bad


def main():
    binary = str(pathlib.Path(sys.argv[1]).resolve())
    columns = collections.defaultdict(set)
    for line in subprocess.run([binary, "schema", "--json"], capture_output=True, text=True, check=True).stdout.splitlines():
        row = json.loads(line)
        columns[row["table"]].add(row["column"])
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        site = Site(folder)
        (folder / "bin").mkdir()
        (folder / "bin/crawl").symlink_to(binary)
        crawl = lambda *words: [binary, *words, *AGENT]  # noqa: E731
        tutorial = folder / "tutorial"
        subprocess.run(crawl(site.url, "--out", str(tutorial), "--delay", "0s", "-q"), stdout=subprocess.DEVNULL, timeout=DEADLINE)
        # One that runs while it is steered: its page doesn't come.
        run_dir = folder / "running"
        process = subprocess.Popen(crawl(site.held, "--out", str(run_dir), "--delay", "100ms", "--timeout", "1h", "-q"), stdout=subprocess.DEVNULL)
        try:
            # A guard against one that never starts.
            for _ in range(DEADLINE * 10):
                if subprocess.run([binary, "continue", str(run_dir)], capture_output=True).returncode == 0:
                    break
                time.sleep(0.1)
            running = Running(run_dir, "127.0.0.2")
            total, wrong = collections.Counter(), 0
            for name, path in [("the tutorial's crawl", tutorial), *((path, path) for path in sys.argv[2:])]:
                source = Source(binary, path, has_server=path == tutorial)
                run, skipped, bad = run_all(name, source, site, running, folder / "bin", columns)
                total += run
                wrong += bad
                print(f"{name}: {sum(run.values())} cells run ({run['block']} lines of code, {run['text']} commands in the text, "
                      f"{run['condition']} conditions, {run['sql']} of SQL), {bad} wrong; not run: "
                      + "; ".join(f"{count}: {reason}" for reason, count in sorted(skipped.items())))
        finally:
            Held.over.set()
            process.send_signal(signal.SIGINT)
            process.wait(DEADLINE)
    if total["block"] < 40 or total["text"] < 25 or total["condition"] < 2 or total["sql"] < 3:
        print("fewer cells than there should be", file=sys.stderr)
        return 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
