"""Tables: the rows that the program exports, as dicts and as Arrow."""

import itertools
import threading

import pyarrow
import pyarrow.parquet
import pytest
from conftest import PAGES, TABLES, lines, make, rows, run

import crawl

#: 9,000 links that nobody follows.
MANY = "".join(f'<a rel="nofollow" href="/{number}">{number}</a>' for number in range(9_000))

#: Types of docs/schema.md in Arrow.
ARROW = {
    "text": pyarrow.string(),
    "integer": pyarrow.int64(),
    "number": pyarrow.float64(),
    "boolean": pyarrow.bool_(),
    "time": pyarrow.timestamp("ms", tz="UTC"),
    "object": pyarrow.string(),
}


def arrow_type(column):
    """The Arrow type of a column, as `crawl schema --json` describes it."""
    if column["type"] != "list":
        return ARROW[column["type"]]
    members = [pyarrow.field(member["name"], ARROW[member["type"]], False) for member in column["members"]]
    return pyarrow.list_(pyarrow.field("element", pyarrow.struct(members) if members else pyarrow.string(), False))


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("crawled", ["directory", "cut", "recrawled"])
def test_rows_are_those_of_the_export(table, crawled, request):
    directory = request.getfixturevalue(crawled)
    exported = rows(directory, table)
    assert exported or table in ("queue", "errors", "duplicates", "skipped", "changes"), "the crawl has rows to compare"
    with crawl.Crawl(directory) as opened:
        assert list(opened.table(table)) == exported
        assert list(getattr(opened, table)()) == exported


def test_each_table_has_rows_in_one_of_the_crawls(directory, cut, recrawled):
    for table in TABLES:
        assert rows(directory, table) or rows(cut, table) or rows(recrawled, table), table


@pytest.mark.parametrize("table", TABLES)
def test_stored_order_is_that_of_show(table, directory):
    shown = lines("show", directory, table, "--json")
    with crawl.Crawl(directory) as opened:
        stored = list(opened.table(table, order="stored"))
    for row in shown:
        del row["v"]
    assert stored == shown


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("crawled", ["directory", "cut"])
def test_arrow_is_the_parquet_export_in_values_and_types(table, crawled, request, tmp_path):
    directory = request.getfixturevalue(crawled)
    run("export", directory, "--table", table, "--format", "parquet", "-o", tmp_path / "table.parquet")
    exported = pyarrow.parquet.read_table(tmp_path / "table.parquet")
    with crawl.Crawl(directory) as opened:
        read = opened.table(table).to_arrow()
        assert pyarrow.schema(opened.table(table)) == read.schema
    read.validate(full=True)
    assert read.schema.equals(exported.schema)
    assert read.equals(exported)
    ours = {name: value for name, value in exported.schema.metadata.items() if name.startswith(b"crawl.")}
    assert read.schema.metadata == ours and len(ours) == 3


@pytest.mark.parametrize("table", TABLES)
def test_arrow_types_are_those_of_the_schema(table, directory):
    described = lines("schema", "--table", table, "--json")
    with crawl.Crawl(directory) as opened:
        columns = opened.table(table).schema
        fields = pyarrow.schema(opened.table(table))
        assert opened.table(table).columns == [column["column"] for column in columns] == fields.names
    # Columns of [[extract]] are this crawl's own.
    assert columns[: len(described)] == described
    assert [column["column"] for column in columns[len(described) :]] == (
        ["field_heading", "field_price"] if table == "pages" else []
    )
    for column, field in zip(columns, fields):
        assert field.type == arrow_type(column), column
        assert field.nullable == column["nullable"], column
        assert (field.metadata or {}).get(b"unit", b"").decode() == (column["unit"] or ""), column


def test_options_are_those_of_show(directory):
    shown = lines(
        "show", directory, "links", "--json", "--where", "nofollow or outcome = 'queued'", "--sort", "text:desc",
        "--limit", "3", "--columns", "to,text",
    )  # fmt: skip
    with crawl.Crawl(directory) as opened:
        table = opened.links(
            where="nofollow or outcome = 'queued'", sort="text:desc", limit=3, columns=["to", "text"], order="stored"
        )
        assert table.columns == ["to", "text"]
        assert [{"v": 1, **row} for row in table] == shown
        assert len(shown) == 3
        assert table.to_arrow().to_pylist() == list(table)
        found = [row["url"] for row in opened.pages(where="status = 200", columns=["url"])]
        assert list(opened.pages(limit=0)) == []
    # Filtered rows keep the order of exports.
    assert found == [row["url"] for row in rows(directory, "pages") if row["status"] == 200]


def test_links_of_pages_under_noindex_are_an_option(directory):
    exported = rows(directory, "links", "--include-noindex")
    with crawl.Crawl(directory) as opened:
        assert list(opened.links(include_noindex=True)) == exported
        assert sum(row["from_noindex"] for row in exported) == 1
        assert not any(row["from_noindex"] for row in opened.links())


def test_pages_that_may_serve_a_purpose_are_an_option(directory):
    exported = rows(directory, "pages", "--purpose", "ai-train")
    with crawl.Crawl(directory) as opened:
        assert list(opened.pages(purpose="ai-train")) == exported
        assert len(exported) < len(list(opened.pages(purpose="search")))


def test_a_table_is_read_anew_each_time_and_several_at_once(directory):
    with crawl.Crawl(directory) as opened:
        pages, links = opened.pages(), opened.links()
        once = list(pages)
        assert once and list(pages) == once
        pairs = list(itertools.product(pages, links))
        assert len(pairs) == len(once) * len(list(links))
        first, second = iter(pages), iter(pages)
        assert next(first) == next(second) == once[0]
        assert next(first) == once[1]


def test_other_libraries_take_the_stream(directory):
    pandas = pytest.importorskip("pandas")
    with crawl.Crawl(directory) as opened:
        frame = opened.pages().to_pandas()
        assert str(frame["fetched_at"].dtype) == "datetime64[ms, UTC]"
        assert list(frame["url"]) == [row["url"] for row in opened.pages()]
        assert len(pandas.DataFrame(opened.links())) == len(opened.links().to_arrow())
        reader = pyarrow.RecordBatchReader.from_stream(opened.ledger())
        assert sum(batch.num_rows for batch in reader) == len(list(opened.ledger()))


def test_a_stream_is_read_by_threads_that_hold_no_lock(directory):
    with crawl.Crawl(directory) as opened:
        counts = []

        def read():
            counts.append((opened.pages().to_arrow().num_rows, sum(1 for _ in opened.links())))

        threads = [threading.Thread(target=read) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert counts == [(len(list(opened.pages())), len(list(opened.links())))] * 8


def test_many_rows_come_in_batches(tmp_path, server, monkeypatch):
    monkeypatch.setitem(PAGES, "/many", (200, {}, MANY + '<a href="/many2">more</a>'))
    monkeypatch.setitem(PAGES, "/many2", (200, {}, MANY))
    directory = make(tmp_path, f"{server}/many", codes=(0, 10))
    exported = rows(directory, "links")
    assert len(exported) == 18_001
    with crawl.Crawl(directory) as opened:
        assert list(opened.links()) == exported
        table = opened.links().to_arrow()
        assert [len(batch) for batch in table.to_batches()] == [16_384, 18_001 - 16_384]
        assert table["to"].to_pylist() == [row["to"] for row in exported]
