"""The Python and DuckDB cells of the documents run on a crawl, each document in a directory with the files that it names."""

import re
import shutil
from pathlib import Path

import duckdb
import networkx
import pandas
import pytest

from conftest import run

ROOT = Path(__file__).parents[2]


def cells(path, language):
    """The blocks of a language in a document; of Python also what is indented and imports the package."""
    text = path.read_text(encoding="utf-8")
    found = re.findall(rf"(?ms)^```{language}\n(.*?)^```", text)
    if language == "python":
        found += re.findall(r"(?m)^    (from crawl import (?:.*\n)(?:    .*\n)+)", text)
    return [re.sub(r"(?m)^    ", "", cell) for cell in found]


@pytest.fixture()
def files(directory, tmp_path, monkeypatch):
    """A directory with a crawl, and the exports that the documents load."""
    shutil.copytree(directory, tmp_path / "crawl-data")
    monkeypatch.chdir(tmp_path)
    crawl = tmp_path / "crawl-data"
    run("export", crawl, "--format", "parquet", "-o", "tables/")
    for table, form, name in [
        ("pages", "jsonl", "pages.jsonl"),
        ("links", "csv", "links.csv"),
        ("hosts", "graphml", "hosts.graphml"),
        ("pages", "edges", "pages.edges.csv"),
    ]:
        run("export", crawl, "--table", table, "--format", form, "-o", name)
    return tmp_path


@pytest.mark.parametrize("document", ["README.md", "docs/python.md", "docs/outputs.md"])
def test_each_python_cell_runs(server, files, document):
    found = cells(ROOT / document, "python")
    assert found
    for cell in found:
        # The host of the examples is that of this crawl.
        cell = cell.replace("https://example.org", server).replace("example.org", server.split("/")[2])
        exec(cell, {"pandas": pandas, "networkx": networkx})


def test_each_statement_for_duckdb_gives_rows(files):
    statements = [line for cell in cells(ROOT / "docs/outputs.md", "sql") for line in cell.splitlines()]
    found = [line for line in statements if re.search(r"parquet|unnest|read_", line)]
    assert len(found) >= 5
    with duckdb.connect() as database:
        for statement in found:
            database.sql(statement) if statement.startswith("CREATE") else database.sql(statement).fetchall()
