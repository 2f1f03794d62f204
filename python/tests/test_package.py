"""The package itself: what its types say, and what it is built from."""

import ast
import inspect
from importlib import resources
from pathlib import Path

import pytest

import crawl

ROOT = Path(__file__).parents[2]


def declared():
    """The functions of the type stubs: class and name to the names and defaults of the arguments."""
    stubs = ast.parse(resources.files(crawl).joinpath("_native.pyi").read_text())
    found = {}
    for kind in stubs.body:
        for function in getattr(kind, "body", []):
            if isinstance(function, ast.FunctionDef):
                arguments = function.args
                named = [argument.arg for argument in arguments.args[1:] + arguments.kwonlyargs]
                # Of overloads the first one has all arguments.
                found.setdefault((kind.name, function.name), (function, named))
    return found


def test_the_stubs_have_what_there_is():
    found = declared()
    for name in ("Crawl", "Table", "RowIterator"):
        methods = {
            method for method, value in vars(getattr(crawl, name)).items()
            if not method.startswith("__") or method.startswith("__arrow")
        }  # fmt: skip
        assert {method for of, method in found if of == name and (not method.startswith("__") or "arrow" in method)} == methods
    for (of, method), (_, named) in found.items():
        if method.startswith("__") or isinstance(inspect.getattr_static(getattr(crawl, of), method), property):
            continue
        signature = getattr(getattr(crawl, of), method, None)
        if not callable(signature):
            continue
        parameters = list(inspect.signature(signature).parameters)[1:]
        assert parameters == named, (of, method)


def test_everything_has_a_docstring():
    for of in (crawl.Crawl, crawl.Table, crawl.RowIterator, crawl.CrawlError, crawl.NoCrawlError, crawl.InUseError):
        assert of.__doc__, of
        for name, member in vars(of).items():
            assert name.startswith("__") or member.__doc__, (of, name)
    assert crawl.__version__ and crawl.SCHEMA_VERSION == 1


def test_the_package_is_built_of_the_versions_that_the_program_has():
    tomllib = pytest.importorskip("tomllib")

    def versions(lock):
        packages = tomllib.loads(lock.read_text())["package"]
        found = {}
        for package in packages:
            if "source" in package:
                found.setdefault(package["name"], set()).add(package["version"])
        return found

    program, package = versions(ROOT / "Cargo.lock"), versions(ROOT / "python/Cargo.lock")
    other = {name: found for name, found in package.items() if name in program and not found <= program[name]}
    assert not other, "run: cp Cargo.lock python/Cargo.lock && cargo metadata --manifest-path python/Cargo.toml"
