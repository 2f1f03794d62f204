from collections.abc import Iterator, Sequence
from datetime import date
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, final, overload

import pandas
import pyarrow

__version__: str
SCHEMA_VERSION: int

_Row = dict[str, Any]
_Order = Literal["export", "stored"]

class CrawlError(Exception): ...
class NoCrawlError(CrawlError): ...
class InUseError(CrawlError): ...

@final
class Crawl:
    def __new__(
        cls, directory: str | PathLike[str], /, *, snapshot_dir: str | PathLike[str] | None = None
    ) -> Crawl: ...
    @property
    def directory(self) -> Path: ...
    @property
    def tables(self) -> list[str]: ...
    def table(
        self,
        name: str,
        *,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        sort: str | None = None,
        limit: int | None = None,
        order: _Order = "export",
    ) -> Table: ...
    def pages(
        self,
        *,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        sort: str | None = None,
        limit: int | None = None,
        order: _Order = "export",
        purpose: str | None = None,
    ) -> Table: ...
    def links(
        self,
        *,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        sort: str | None = None,
        limit: int | None = None,
        order: _Order = "export",
        include_noindex: bool = False,
    ) -> Table: ...
    def hosts(
        self,
        *,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        sort: str | None = None,
        limit: int | None = None,
        order: _Order = "export",
    ) -> Table: ...
    def queue(
        self,
        *,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        sort: str | None = None,
        limit: int | None = None,
        order: _Order = "export",
    ) -> Table: ...
    def skipped(
        self,
        *,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        sort: str | None = None,
        limit: int | None = None,
        order: _Order = "export",
    ) -> Table: ...
    def ledger(
        self,
        *,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        sort: str | None = None,
        limit: int | None = None,
        order: _Order = "export",
    ) -> Table: ...
    def errors(
        self,
        *,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        sort: str | None = None,
        limit: int | None = None,
        order: _Order = "export",
    ) -> Table: ...
    def duplicates(
        self,
        *,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        sort: str | None = None,
        limit: int | None = None,
        order: _Order = "export",
    ) -> Table: ...
    def changes(
        self,
        *,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        sort: str | None = None,
        limit: int | None = None,
        order: _Order = "export",
    ) -> Table: ...
    @overload
    def robots(
        self,
        host: None = None,
        *,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        sort: str | None = None,
        limit: int | None = None,
        order: _Order = "export",
    ) -> Table: ...
    @overload
    def robots(self, host: str) -> list[_Row]: ...
    def robots_txt(self, host: str) -> list[_Row]: ...
    def page(self, url: str) -> _Row | None: ...
    def explain(self, url: str) -> _Row: ...
    def summary(self) -> _Row: ...
    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        host: str | Sequence[str] | None = None,
        lang: str | Sequence[str] | None = None,
        since: str | date | None = None,
        until: str | date | None = None,
    ) -> list[_Row]: ...
    def search_counts(
        self,
        query: str,
        *,
        host: str | Sequence[str] | None = None,
        lang: str | Sequence[str] | None = None,
        since: str | date | None = None,
        until: str | date | None = None,
    ) -> _Row: ...
    def close(self) -> None: ...
    def __enter__(self) -> Crawl: ...
    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
        /,
    ) -> None: ...

@final
class Table:
    @property
    def name(self) -> str: ...
    @property
    def columns(self) -> list[str]: ...
    @property
    def schema(self) -> list[_Row]: ...
    def __iter__(self) -> RowIterator: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...
    def to_arrow(self) -> pyarrow.Table: ...
    def to_pandas(self) -> pandas.DataFrame: ...

@final
class RowIterator(Iterator[_Row]):
    def __iter__(self) -> RowIterator: ...
    def __next__(self) -> _Row: ...
