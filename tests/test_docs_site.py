"""The documentation site builds without a warning and loads nothing from other servers."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LOADS = re.compile(
    r"""<(?:script|img|iframe|source|link(?=[^>]*(?:stylesheet|preload|preconnect|icon)))\b[^>]*?"""
    r"""(?:src|href)=["']?((?:https?:)?//[^"'\s>]+)"""
)
STYLE_LOADS = re.compile(r"""(?:url\(|@import\s)\s*["']?((?:https?:)?//[^"')]+)""")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("material", reason="pip install mkdocs-material")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(folder)]
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=quiet)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_pages_load_nothing_from_other_servers(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert LOADS.findall(text) + STYLE_LOADS.findall(text) == [], page.name
    for style in [*site.rglob("*.css"), *site.rglob("*.svg")]:
        assert STYLE_LOADS.findall(style.read_text(encoding="utf-8")) == [], style.name


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param('<script async src="https://a.b/c.js">', True, id="script"),
        pytest.param('<link href="//a.b/c.css" rel="stylesheet">', True, id="stylesheet"),
        pytest.param('<link rel="preconnect" href="https://fonts.gstatic.com">', True, id="font"),
        pytest.param('<img alt="x" src="https://a.b/c.png">', True, id="image"),
        pytest.param('<script src="../assets/c.js">', False, id="own-script"),
        pytest.param('<link rel="canonical" href="https://a.b/">', False, id="canonical"),
        pytest.param('<a href="https://a.b/">', False, id="link-to-follow"),
    ],
)
def test_what_counts_as_loading(text: str, found: bool) -> None:
    assert bool(LOADS.findall(text)) is found


def test_links_of_the_readme_lead_to_pages_and_files(site: Path) -> None:
    text = (site / "index.html").read_text(encoding="utf-8")
    links = re.findall(r'href="([^"#:]+)', text)
    assert "guide/repair.html" in links
    assert [link for link in links if not (site / link).exists()] == []
