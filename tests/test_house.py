"""Rules for the source tree that no linter checks: sizes, wording, and a single version number."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "boostne"
CODE_SUFFIXES = {".py", ".cpp", ".h", ".inl", ".js", ".css", ".html"}
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 50

# Phrases to replace by the usual technical term: estimate, again, the current level, resume, ...
BANNED_PHRASES = (
    r"anew",
    r"at hand",
    r"foretold",
    r"for want of",
    r"(go|goes|going|gone|went) on (from|where)",
    r"in hand",
    r"lets? (one )?expect",
    r"of one's own",
    r"reckon\w*",
    r"so many",
    r"suits? (it|them) not",
    r"(take|takes|taken|taking|took) apart",
    r"there and back",
    r"to be had",
    r"(what|which) is there",
    r"where nobody",
    r"who(m|so)?ever",
    r"work(ed|s)? on by",
)
BANNED = re.compile(rf"\b(?:{'|'.join(BANNED_PHRASES)})\b", re.IGNORECASE)


def text_files():
    """Everything written for readers, except this list of phrases."""
    folders = {
        "src": CODE_SUFFIXES,
        "tests": {".py"},
        "benchmarks": {".py"},
        "fuzz": {".py"},
        "docs": {".md"},
        "examples": {".py"},
    }
    for folder, suffixes in folders.items():
        yield from (path for path in sorted((ROOT / folder).rglob("*")) if path.suffix in suffixes)
    yield from sorted(ROOT.glob("*.md"))
    yield from (ROOT / "Makefile", ROOT / "CMakeLists.txt", ROOT / "pyproject.toml")


def python_files():
    return sorted(SOURCE.rglob("*.py"))


def body_lines(function):
    """Number of lines of a function without its signature and docstring."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


@pytest.mark.parametrize("path", python_files(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_functions_are_short(path):
    functions = [
        node
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    lines = {f"{function.name}, line {function.lineno}": body_lines(function) for function in functions}
    assert {name: count for name, count in lines.items() if count > MAX_FUNCTION_LINES} == {}


def test_files_are_short():
    files = [path for path in SOURCE.rglob("*") if path.suffix in CODE_SUFFIXES]
    lines = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in files}
    assert {name: count for name, count in lines.items() if count > MAX_FILE_LINES} == {}


def test_wording_is_plain():
    found = []
    for path in set(text_files()) - {Path(__file__)}:
        # Join wrapped lines, in comments too: a phrase may span two of them.
        text = re.sub(r"\s*\n\s*(?:#|//|\*)?\s*", " ", path.read_text())
        for match in BANNED.finditer(text):
            context = text[max(match.start() - 30, 0) : match.end() + 30]
            found.append(f"{path.relative_to(ROOT)}: {context}")
    assert sorted(found) == []


def imported_names(path):
    """Full names imported anywhere in a module, and strings, which may be passed to import_module."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_only_kernels_import_the_native_bindings():
    outside = [path for path in python_files() if SOURCE / "kernels" not in path.parents]
    assert [
        str(path.relative_to(ROOT))
        for path in outside
        if any(name.startswith("boostne.kernels.native") for name in imported_names(path))
    ] == []


def test_layout_in_contributing_is_the_checked_contract():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    section = (ROOT / "CONTRIBUTING.md").read_text().split("## Layout")[1].split("\n## ")[0]
    assert re.findall(r"^ {4}(\S.*?) {2,}", section, re.MULTILINE) == layers


def test_version_is_defined_once():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    elsewhere = [*python_files(), ROOT / "CMakeLists.txt", ROOT / "CITATION.cff", ROOT / "README.md"]
    version = re.compile(rf"(?<![\d.]){re.escape(project['version'])}(?![\d.])")
    assert [path.name for path in elsewhere if version.search(path.read_text())] == []
    headings = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == "Unreleased"
    assert project["version"] == headings[1]
