"""Opening, closing, and what is wrong: exceptions with the words of the program."""

import fcntl
import gc
import multiprocessing
import os
import shutil
import subprocess
import sys
import threading
import time

import pyarrow
import pytest
from conftest import TABLES, lines, message, rows, run

import crawl


def test_a_directory_without_a_crawl_says_so(tmp_path):
    for missing in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(crawl.NoCrawlError) as error:
            crawl.Crawl(missing)
        assert str(error.value) == message("show", missing)
        assert isinstance(error.value, crawl.CrawlError)


def test_several_readers_at_once(directory):
    with crawl.Crawl(directory) as first, crawl.Crawl(str(directory)) as second:
        assert list(first.pages()) == list(second.pages()) == rows(directory, "pages")
    lines("show", directory, "--json")


def test_a_directory_in_use_says_so(directory, tmp_path):
    """Held by a process that answers nobody."""
    held = tmp_path / "held"
    shutil.copytree(directory, held)
    with open(held / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(crawl.InUseError) as error:
            crawl.Crawl(held)
        assert str(error.value) == message("show", held)
    lines("show", held, "--json")


def test_a_damaged_database_says_so(directory, tmp_path):
    damaged = tmp_path / "damaged"
    shutil.copytree(directory, damaged)
    for path in (damaged / "db").rglob("*"):
        if path.is_file():
            os.truncate(path, 0)
    with pytest.raises(crawl.CrawlError) as error:
        crawl.Crawl(damaged)
    assert str(error.value) == message("show", damaged)
    assert "crawl repair" in str(error.value)


def test_a_copy_that_lacks_commits_is_a_warning(directory, cut, tmp_path):
    """As a copy of a crawl that was running: its seal knows of more commits than the database has."""
    copy = tmp_path / "copy"
    shutil.copytree(cut, copy)
    shutil.copy(directory / "db/sealed", copy / "db/sealed")
    with pytest.warns(UserWarning, match="the database is incomplete"):
        opened = crawl.Crawl(copy)
    with opened:
        assert list(opened.pages()) == rows(cut, "pages")


@pytest.mark.parametrize("end", ["close", "with", "collected"])
def test_the_directory_is_free_when_it_is_closed(directory, end):
    if end == "with":
        with crawl.Crawl(directory) as opened:
            reading = iter(opened.ledger())
            next(reading)
    else:
        opened = crawl.Crawl(directory)
        reading = iter(opened.ledger())
        next(reading)
        if end == "close":
            opened.close()
            opened.close()
    if end == "collected":
        del opened, reading
        gc.collect()
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                crawl.Crawl(directory).close()
                break
            except crawl.InUseError:
                # The thread that read is about to end.
                time.sleep(0.01)
        lines("show", directory, "--json")
        return
    lines("show", directory, "--json")
    for use in (
        lambda: next(reading),
        lambda: list(opened.pages()),
        opened.summary,
        lambda: opened.explain("http://a.test/"),
        lambda: opened.search("x"),
    ):
        with pytest.raises(crawl.CrawlError, match="is closed; open it again"):
            use()


def test_closing_ends_a_reading_on_another_thread(directory):
    opened = crawl.Crawl(directory)
    begun = threading.Event()
    ended = []

    def read():
        try:
            while True:
                for _ in opened.links():
                    begun.set()
        except crawl.CrawlError as error:
            ended.append(str(error))

    thread = threading.Thread(target=read)
    thread.start()
    assert begun.wait(60)
    opened.close()
    thread.join(60)
    assert not thread.is_alive()
    assert "is closed" in ended[0]
    lines("show", directory, "--json")


def test_an_arrow_stream_of_a_closed_crawl_says_so(directory):
    with crawl.Crawl(directory) as opened:
        reader = pyarrow.RecordBatchReader.from_stream(opened.pages())
    with pytest.raises(OSError, match="is closed; open it again"):
        reader.read_all()


def test_tables_and_columns_that_do_not_exist_say_so(directory):
    with crawl.Crawl(directory) as opened:
        assert opened.tables == TABLES
        with pytest.raises(ValueError, match='there is no table "page"; there are: pages links'):
            opened.table("page")
        for options in ({"columns": ["statu"]}, {"sort": "statu"}, {"where": "statu = 1"}):
            with pytest.raises(ValueError, match=r'table pages has no column "statu" \(did you mean "status"\?\)'):
                opened.pages(**options)
        with pytest.raises(ValueError) as where:
            opened.pages(where="status >")
        with pytest.raises(ValueError) as sort:
            opened.pages(sort="status:up")
        with pytest.raises(ValueError, match='order is "export" or "stored"'):
            opened.pages(order="up")
        with pytest.raises(ValueError, match="purpose"):
            opened.pages(purpose="fun")
        with pytest.raises(TypeError):
            opened.pages(columns="url")
        with pytest.raises(OverflowError):
            opened.pages(limit=-1)
    assert "--" + str(where.value) == message("show", directory, "pages", "--where", "status >")
    assert "--" + str(sort.value) == message("show", directory, "pages", "--sort", "status:up")


def test_urls_and_hosts_that_do_not_exist_say_so(directory):
    with crawl.Crawl(directory) as opened:
        for use in (opened.explain, opened.page):
            with pytest.raises(ValueError) as error:
                use("mailto:a@b.test")
            refused = str(error.value)
        for use in (opened.robots, opened.robots_txt):
            with pytest.raises(LookupError, match="nothing is stored of a robots.txt of nowhere.test"):
                use("nowhere.test")
        with pytest.raises(ValueError, match="without a host"):
            opened.robots("127.0.0.1", limit=1)
    assert refused == message("explain", directory, "mailto:a@b.test")


def _in_a_fork(opened, answers):
    try:
        opened.summary()
    except crawl.CrawlError as error:
        answers.put(str(error))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_of_the_process_is_refused(directory):
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    with crawl.Crawl(directory) as opened:
        process = context.Process(target=_in_a_fork, args=(opened, answers))
        process.start()
        assert "was opened by another process" in answers.get(timeout=60)
        process.join(60)
        assert process.exitcode == 0
        assert list(opened.pages())


def test_what_was_crawled_stays_as_it_was(directory):
    def kept():
        paths = sorted(path for part in ("warc", "index") for path in (directory / part).rglob("*"))
        return {path: path.read_bytes() for path in paths if path.is_file()}

    before, exported = kept(), [rows(directory, table) for table in TABLES]
    with crawl.Crawl(directory) as opened:
        for table in TABLES:
            list(opened.table(table))
        opened.summary()
        opened.search("hammers")
    assert kept() == before
    assert [rows(directory, table) for table in TABLES] == exported
    run("audit", directory)


def test_reprs_and_properties(directory):
    with crawl.Crawl(directory) as opened:
        assert repr(opened) == f'<crawl.Crawl "{directory}">'
        assert opened.directory == directory
        assert repr(opened.pages(columns=["url", "status"])) == f'<crawl.Table pages of "{directory}": url, status>'


READ_ONLY = """
import sys, warnings
import crawl
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    opened = crawl.Crawl(sys.argv[1], snapshot_dir=sys.argv[2])
assert [warning.category for warning in caught] == [UserWarning], caught
assert "its database (" in str(caught[0].message), caught
with opened:
    print([page["url"] for page in opened.pages()])
    print([hit["url"] for hit in opened.search("hammers")])
"""


def test_a_directory_that_cannot_be_written_is_read_from_a_copy(directory, tmp_path):
    read_only, copies = tmp_path / "read-only", tmp_path / "copies"
    shutil.copytree(directory, read_only)
    copies.mkdir()
    mount = f"mount --bind '{read_only}' '{read_only}' && mount -o remount,ro,bind '{read_only}'"
    inside = ["unshare", "-rm", "sh", "-c", f'{mount} && exec "$0" "$@"']
    if not shutil.which("unshare") or subprocess.run([*inside, "true"], check=False).returncode != 0:
        pytest.skip("this machine lets nobody make a mount namespace")
    done = subprocess.run(
        [*inside, sys.executable, "-c", READ_ONLY, read_only, copies], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    pages, hits = done.stdout.splitlines()
    assert pages == str([page["url"] for page in rows(directory, "pages")])
    assert hits != "[]"
    assert not list(copies.iterdir())
