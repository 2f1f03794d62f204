#!/usr/bin/env python3
"""Runs the commands of the tutorial and compares what they print with what it shows; checks the options of all other documents.

    tests/docs_commands.py BINARY

The tutorial's site is served on a free port of 127.0.0.1. Times, hashes and ids differ from run to run and aren't compared, nor is the
space between words; a line `...` of the tutorial is any text. Prints the whole output of a command that differs.
"""

import functools
import http.server
import os
import pathlib
import pty
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parent.parent
TUTORIAL = ROOT / "docs/tutorial/first-crawl.md"
# How long one command may take. It is a guard against a hanging test, not a measurement.
DEADLINE = 120
# Requests after which the tutorial's Ctrl-C comes: robots.txt and two pages.
STOP_AFTER = 3

# What differs from run to run, and what it is compared as.
VARIABLE = [
    (r"\x1b\[[0-9;]*[A-Za-z]", ""),
    (r"\b\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME"),
    (r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "ID"),
    (r"\b[0-9a-f]{64}\b", "HASH"),
    (r"\b\d{4}-\d\d-\d\d\b", "DATE"),
    (r"\+\d+\.\d+ s", "+MARGIN s"),
]


class Site(http.server.SimpleHTTPRequestHandler):
    """The tutorial's site. Counts requests, and says when there were enough of them."""

    lock = threading.Lock()
    served = 0
    stop_at = None
    enough = threading.Event()

    def do_GET(self):
        super().do_GET()
        with Site.lock:
            Site.served += 1
            if Site.served == Site.stop_at:
                Site.enough.set()

    def log_message(self, *_):
        pass


def blocks(path):
    """Yields (line number, command, lines of output) of the `console` blocks."""
    command = None
    inside = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip() == "```console":
            inside = True
        elif inside and line.strip() == "```":
            inside = False
            if command:
                yield command
            command = None
        elif inside and line.startswith("$ "):
            if command:
                yield command
            command = (number, line[2:], [])
        elif inside and command:
            command[2].append(line)


def words(text, stopped):
    # How far a crawl had come when it was stopped depends on the machine.
    for pattern, name in VARIABLE + ([(r"\d+(\.\d+)?", "N")] if stopped else []):
        text = re.sub(pattern, name, text)
    return text.split()


def matches(expected, actual):
    """Whether the words are the same; `...` among the expected ones is any number of words."""
    if not expected:
        return not actual
    if expected[0] == "...":
        return any(matches(expected[1:], actual[i:]) for i in range(len(actual) + 1))
    return bool(actual) and expected[0] == actual[0] and matches(expected[1:], actual[1:])


def run_on_terminal(arguments, directory, env):
    """What a command prints on a terminal of 100 columns."""
    main, terminal = pty.openpty()
    subprocess.run(["stty", "cols", "100", "rows", "50"], stdin=terminal, check=True)
    process = subprocess.Popen(
        arguments, cwd=directory, env=env, stdin=subprocess.DEVNULL, stdout=terminal, stderr=subprocess.DEVNULL
    )
    os.close(terminal)
    output = b""
    while True:
        try:
            data = os.read(main, 65536)
        except OSError:
            break
        if not data:
            break
        output += data
    process.wait(DEADLINE)
    os.close(main)
    return output.decode()


def run_with_stop(arguments, directory, env):
    """Runs a crawl and interrupts it, as Ctrl-C does, when the site has served enough."""
    with Site.lock:
        Site.enough.clear()
        Site.stop_at = Site.served + STOP_AFTER
    process = subprocess.Popen(
        arguments, cwd=directory, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if not Site.enough.wait(DEADLINE):
        process.kill()
    process.send_signal(signal.SIGINT)
    return process.communicate(timeout=DEADLINE)[0]


def tutorial(binary):
    """Runs the tutorial. Returns the number of commands, and of those that print something else."""
    handler = functools.partial(Site, directory=str(ROOT / "docs/tutorial/site"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    here = f"127.0.0.1:{server.server_address[1]}"
    env = {k: v for k, v in os.environ.items() if not k.startswith("CRAWL_")} | {"PAGER": "", "NO_COLOR": "1"}
    run = bad = 0
    heads = {}
    with tempfile.TemporaryDirectory() as directory:
        for number, command, expected in blocks(TUTORIAL):
            if command.startswith(("cd ", "python3 -m http.server")):
                continue
            run += 1
            command = command.replace("127.0.0.1:8000", here)
            for documented, actual in heads.items():
                command = command.replace(documented, actual)
            if not command.startswith("crawl "):
                subprocess.run(command, shell=True, cwd=directory, check=True)
                continue
            arguments = [binary, *shlex.split(command)[1:]]
            stopped = expected[:1] == ["^C"]
            if stopped:
                output = run_with_stop(arguments, directory, env)
                expected = expected[1:]
            elif arguments[1] in ("show", "explain", "search", "plan", "diff", "audit"):
                output = run_on_terminal(arguments, directory, env)
            else:
                output = subprocess.run(
                    arguments, cwd=directory, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                    timeout=DEADLINE,
                )
                output = output.stdout + output.stderr
            text = "\n".join(expected).replace("127.0.0.1:8000", here)
            head = r"head of the ledger: ([0-9a-f]{64})"
            if documented := re.search(head, text):
                heads[documented.group(1)] = re.search(head, output).group(1)
            if expected and not matches(words(text, stopped), words(output, stopped)):
                bad += 1
                print(f"{TUTORIAL.relative_to(ROOT)}:{number}: {command} prints something else:\n{output}", file=sys.stderr)
    server.shutdown()
    return run, bad


def commands(path):
    """Yields (line number, command line) of every line of code that runs the program."""
    fenced = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            line = re.sub(r"^\s*(\$ )?", "", line).split("  #")[0].split(" | ")[0].split(" > ")[0]
            if line.startswith("crawl ") and not line.startswith("crawl robots\n"):
                yield number, line


def options(binary):
    """Checks that the program knows each command and option that the documents use. Returns their number, and of unknown ones."""
    checked = bad = 0
    helps = {}
    files = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for path in files:
        for number, line in commands(path):
            try:
                arguments = shlex.split(line)[1:]
            except ValueError:
                arguments = line.split()[1:]
            names = [a for a in arguments if re.fullmatch(r"[a-z]+", a)]
            command = []
            if arguments and arguments[0] in names:
                command = arguments[:2] if arguments[0] in ("robots", "page", "config", "cluster") else arguments[:1]
            key = tuple(command)
            if key not in helps:
                done = subprocess.run([binary, *command, "--help"], capture_output=True, text=True, timeout=DEADLINE)
                helps[key] = done.stdout if done.returncode == 0 else ""
            known = set(re.findall(r"--[a-z][a-z-]*", helps[key])) | {"--version"}
            for option in [a.split("=")[0] for a in arguments if a.startswith("--") and len(a) > 2]:
                checked += 1
                if option not in known:
                    bad += 1
                    print(f"{path.relative_to(ROOT)}:{number}: crawl {' '.join(command)} has no {option}", file=sys.stderr)
            if not helps[key]:
                bad += 1
                print(f"{path.relative_to(ROOT)}:{number}: crawl has no command {' '.join(command)}", file=sys.stderr)
    return checked, bad


def main():
    binary = str(pathlib.Path(sys.argv[1]).resolve())
    run, differ = tutorial(binary)
    checked, unknown = options(binary)
    print(f"{run} commands of the tutorial run, {differ} print something else; {checked} options checked, {unknown} unknown")
    if run < 10 or checked < 30:
        print("fewer commands than there should be", file=sys.stderr)
        return 1
    return 1 if differ or unknown else 0


if __name__ == "__main__":
    sys.exit(main())
