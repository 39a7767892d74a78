"""A hook for MkDocs that makes links between repository files work on the site too.

The README becomes the home page. Every other file outside `docs/` that a page links to is added
to the site under its own path, so `../../examples/loop.py` leads somewhere in both places.
"""

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
HOME = "README.md"
PAGES = [HOME, "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"]
LINK = re.compile(r"(?<=\]\()[^)#:\s]+|(?<=src=\")[^\":]+")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages at the root of the repository and the files that pages link to."""
    found = {f"docs/{path}" for path in files.src_uris}
    waiting = [*PAGES, *(path for path in found if path.endswith(".md"))]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            files.append(File.generated(config, site_path(path), abs_src_path=str(ROOT / path)))
        if path.endswith(".md"):
            waiting += [target for target in links(path) if target not in found]
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Point the links of a page at the places the files have on the site."""
    site = page.file.src_uri
    source = repository_path(site)

    def moved(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), match[0]))
        return posixpath.relpath(site_path(target), posixpath.dirname(site) or ".")

    return LINK.sub(moved, markdown)


def links(path: str) -> Iterator[str]:
    """Yield the files that a page links to, as paths in the repository."""
    for link in LINK.findall((ROOT / path).read_text(encoding="utf-8")):
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), link))
        if (ROOT / target).is_file():
            yield target


def site_path(path: str) -> str:
    """Return the path on the site of a file in the repository."""
    return "index.md" if path == HOME else path.removeprefix("docs/")


def repository_path(path: str) -> str:
    """Return the path in the repository of a page on the site."""
    if path == "index.md":
        return HOME
    return f"docs/{path}" if (ROOT / "docs" / path).exists() else path
