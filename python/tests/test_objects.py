"""What isn't a table: the summary, explanations, robots.txt, search. Each is the program's own JSON."""

import warnings
from datetime import datetime, timedelta, timezone

import pytest
from conftest import PAGES, lines, make, message

import crawl


@pytest.fixture
def opened(directory, request):
    with crawl.Crawl(directory) as opened:
        yield opened


def test_summary(directory):
    (shown,) = lines("show", directory, "--json")
    with crawl.Crawl(directory) as opened:
        assert opened.summary() == shown
    assert shown["totals"]["pages"] > 3


@pytest.mark.parametrize("path", ["/", "/private/x", "/gone", "/noindex", "/moved", "/broken", "/never-met"])
def test_explain(directory, server, path):
    url = server + path
    (explained,) = lines("explain", directory, url, "--json", codes=(0, 1))
    with crawl.Crawl(directory) as opened:
        assert opened.explain(url) == explained
    assert explained["url"] == url


def test_page(directory, server):
    (shown,) = lines("show", directory, "page", f"{server}/a", "--json")
    assert shown.pop("v") == 1
    with crawl.Crawl(directory) as opened:
        assert opened.page(f"{server}/a") == shown
        assert opened.page(f"{server}/private/x") is None


def test_robots(directory, server):
    host = server.removeprefix("http://")
    logged = lines("robots", "log", directory, host, "--json")
    shown = lines("show", directory, "robots", host, "--json")
    with crawl.Crawl(directory) as opened:
        assert opened.robots(host) == opened.robots(server) == opened.robots("127.0.0.1") == logged
        assert opened.robots_txt(host) == shown
    assert logged and [line["rule"] for line in shown[0]["binding"]]
    assert shown[0]["text"] == PAGES["/robots.txt"][2]


@pytest.mark.parametrize(
    ("query", "options", "arguments"),
    [
        ("hammers", {}, []),
        ("hammers OR 螺丝", {"limit": 1}, ["--limit", "1"]),
        ("hammers", {"lang": "en"}, ["--lang", "en"]),
        ("hammers OR 螺丝", {"lang": ["en", "zh"]}, ["--lang", "en", "--lang", "zh"]),
        ("hammers", {"host": "127.0.0.1"}, ["--host", "127.0.0.1"]),
        ("hammers", {"host": ["nowhere.test"]}, ["--host", "nowhere.test"]),
        ('"hammers, saws" AND title:a', {}, []),
        ("hammers", {"since": "2001-01-31"}, ["--since", "2001-01-31"]),
        ("hammers", {"until": "2001-01-31"}, ["--until", "2001-01-31"]),
        ("hammers", {"since": "2001-01-31T12:00:00Z", "until": "2099-01-01"}, ["--since", "2001-01-31T12:00:00Z", "--until", "2099-01-01"]),
        ("nothingofthekind", {}, []),
    ],
)
def test_search(directory, query, options, arguments):
    found = lines("search", directory, query, "--json", "--facets", *arguments)
    hits = [line for line in found if line["kind"] == "hit"]
    facets = {name: {} for name in ("host", "language")}
    for line in found:
        if line["kind"] == "facet":
            facets[line["facet"]][line["value"]] = line["count"]
    total = found[0]["total"]
    with crawl.Crawl(directory) as opened:
        assert opened.search(query, **options) == hits
        options.pop("limit", None)
        assert opened.search_counts(query, **options) == {"total": total, **facets}


def test_the_searches_find_something(directory):
    with crawl.Crawl(directory) as opened:
        assert len(opened.search("hammers")) == 2
        assert len(opened.search("hammers", limit=1)) == 1
        assert [hit["language"] for hit in opened.search("螺丝", lang="zh")] == ["zh"]
        assert opened.search("hammers", host="nowhere.test") == []


def test_searches_are_limited_to_times(directory):
    with crawl.Crawl(directory) as opened:
        times = sorted(datetime.fromisoformat(hit["fetched_at"].replace("Z", "+00:00")) for hit in opened.search("hammers"))
        # Whole seconds, which bracket both pages.
        first = times[0].replace(microsecond=0)
        last = times[-1].replace(microsecond=0) + timedelta(seconds=1)
        for since, until, count in [
            (first, None, 2),
            (last, None, 0),
            (None, first, 0),
            (None, last, 2),
            (first, last, 2),
            # A date: from its beginning, to its end.
            (first.date(), last.date(), 2),
            (last.date() + timedelta(days=1), None, 0),
            (None, first.date() - timedelta(days=1), 0),
            (first.isoformat(), last.isoformat(), 2),
            (first.astimezone(timezone(timedelta(hours=5))), last.astimezone(timezone(timedelta(hours=-5))), 2),
            (last.astimezone(timezone(timedelta(hours=5))), None, 0),
        ]:
            assert len(opened.search("hammers", since=since, until=until)) == count, (since, until)
            assert opened.search_counts("hammers", since=since, until=until)["total"] == count, (since, until)
        # A time without a zone could be anywhere's.
        for wrong in ["yesterday", "2026-02-30", "2026-01-31T12:00:00", datetime(2026, 1, 31)]:
            for name in ("since", "until"):
                with pytest.raises(ValueError, match=f"{name} is .* a date .2026-01-31. or an RFC 3339 time"):
                    opened.search("hammers", **{name: wrong})
        with pytest.raises(TypeError, match="since is a str, a date or a datetime, not int"):
            opened.search("hammers", since=1)


def test_an_index_that_is_behind_is_a_warning(server, tmp_path):
    directory = make(tmp_path, f"{server}/", codes=(0, 10, 13))
    # What a crawl that was killed leaves.
    (directory / "index" / "writing").touch()
    with crawl.Crawl(directory) as opened, pytest.warns(UserWarning, match="may lack what was stored last"):
        assert len(opened.search("hammers")) == 2
    # The program takes in what was missing.
    lines("search", directory, "hammers", "--json")
    with crawl.Crawl(directory) as opened, warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(opened.search("hammers")) == 2


def test_errors_of_searches_have_the_program_s_words(directory, server, tmp_path):
    with crawl.Crawl(directory) as opened:
        with pytest.raises(ValueError) as error:
            opened.search('"hammers')
        for limit in (0, 10_001):
            with pytest.raises(ValueError, match="limit is 1 to 10000"):
                opened.search("hammers", limit=limit)
    assert str(error.value) == message("search", directory, '"hammers')
    without = make(tmp_path, f"{server}/", "--no-index", codes=(0, 10, 13))
    with crawl.Crawl(without) as opened, pytest.raises(crawl.CrawlError) as error:
        opened.search("hammers")
    assert str(error.value) == message("search", without, "hammers")
