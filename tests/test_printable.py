import pytest

from sickbay.printable import error_summary, one_line, printable


@pytest.mark.parametrize("text", ["encoder.0", "gewöhnlich", "层", "⚠ a\n\tb", "👩‍🔬"])
def test_text_stays_as_it_is(text: str) -> None:
    assert printable(text) == text


@pytest.mark.parametrize(
    "harm", ["\x1b[2J", "\x9b2J", "\r", "\x07", "\x08", "\u202e", "\x00", "\ud800", "\u2028"]
)
def test_control_characters_are_escaped(harm: str) -> None:
    shown = printable(f"a{harm}b")
    assert harm[0] not in shown
    assert "\\" in shown
    shown.encode()


def test_one_line_has_no_line_break() -> None:
    assert one_line("a\n  b\r\nc\x1b[31m") == "a b c\\x1b[31m"


class UntoldError(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ValueError("a\n b\x1b[31m"), "ValueError: a b\\x1b[31m"),
        (SystemExit(), "SystemExit"),
        (UntoldError(), "UntoldError"),
        (ValueError("x" * 1000), f"ValueError: {'x' * 400} …"),
    ],
)
def test_error_summary(error: BaseException, told: str) -> None:
    assert error_summary(error) == told
