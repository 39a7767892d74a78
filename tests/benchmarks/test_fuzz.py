"""The attackers themselves: what they count as right, how they damage, and that none is lost."""

import json
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from random import Random
from time import sleep

import pytest

from benchmarks.fuzz import sound_files, tables, worker_processes
from benchmarks.fuzz.damage_folder import OUTSIDE, SPECIAL, Tree, changed, damage, in_bytes, write
from benchmarks.fuzz.damage_with_valid_checksums import FRAME, OLD_TABLE, framed, seal
from benchmarks.fuzz.fuzz_input import FuzzInput
from benchmarks.fuzz.run_inputs import PARTS, Runner
from benchmarks.fuzz.time_and_memory_limits import peak, seconds
from benchmarks.fuzz.verdict import SOURCES, Mine, TooLong, Verdict, judge
from sickbay.arguments import check_int
from sickbay.errors import UsageError
from sickbay.vitals import Table


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runner]:
    monkeypatch.chdir(tmp_path)  # which is undone at the end
    monkeypatch.syspath_prepend(str(tmp_path))
    home = tmp_path / "home"
    home.mkdir()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield Runner(0, None, home)


def raised(call: object, *args: object, **kwargs: object) -> BaseException:
    assert callable(call)
    try:
        call(*args, **kwargs)
    except BaseException as error:
        return error
    raise AssertionError("it has not raised")


def test_one_clear_error_is_right() -> None:
    error = raised(check_int, "epochs", None)
    assert judge(1, "x", error, loop=False).happened == "refused"


def test_another_exception_is_a_failure_at_its_innermost_line_in_sickbay() -> None:
    table = Table.of("gradient", 0, {})
    verdict = judge(1, "x", raised(Table.column, table, []), loop=False)
    bare = judge(1, "x", raised(table.names.index, "x"), loop=False)
    assert bare.happened == verdict.happened == "failure"
    assert verdict.place.startswith("vitals.py:")


def test_a_type_error_of_the_signature_is_right() -> None:
    assert judge(1, "x", raised(check_int, "epochs"), loop=False).happened == "signature"


def test_a_type_error_from_inside_is_a_failure() -> None:
    def inside() -> None:
        exec(compile("None + 1", SOURCES + "/made_up.py", "exec"))

    assert judge(1, "x", raised(inside), loop=False).happened == "failure"


def test_exceptions_of_user_objects_are_right_except_in_the_loop() -> None:
    assert judge(1, "x", Mine("asked"), loop=False).happened == "mine"
    assert judge(1, "x", Mine("asked"), loop=True).happened == "failure"


@pytest.mark.parametrize(("code", "happened"), [(0, "exit"), (2, "exit"), (1, "failure")])
def test_exit_codes(code: int, happened: str) -> None:
    assert judge(1, "x", SystemExit(code), loop=False).happened == happened


def test_control_characters_are_escaped() -> None:
    verdict = judge(1, "\x1b[31m", ValueError("\ud800"), loop=False)
    assert verdict.what + verdict.said == "\\x1b[31m\\ud800"


def test_an_input_that_takes_too_long_is_stopped_even_if_it_catches_everything() -> None:
    def stubborn() -> None:
        try:
            sleep(60)
        except BaseException:
            return

    with pytest.raises(TooLong), seconds(0.05):
        stubborn()


def test_damage_is_the_same_for_the_same_seed_and_does_something() -> None:
    trees: list[Tree] = []
    for seed in (1, 1, 2):
        trees.append(dict(sound_files.old_chart()))
        assert damage(trees[-1], Random(seed))
    assert trees[0] == trees[1] != sound_files.old_chart()
    assert trees[2] != trees[1]


def test_bytes_and_json_change_anywhere() -> None:
    data, value = b'{"a": [1, {"b": 2}]}', {"a": [1, {"b": 2}]}
    assert len({in_bytes(data, Random(seed)) for seed in range(200)}) > 100
    found = {changed(json.loads(json.dumps(value)), Random(seed)) for seed in range(300)}
    assert {'{"a": [1, {"b": null}]}', '{"a": [{"b": 2}]}', '{"a": [1, {"x": 2}]}'} <= found


def test_special_files_are_written_and_stay_inside_the_folder(tmp_path: Path) -> None:
    (tmp_path / OUTSIDE).write_bytes(b"x")
    tree: Tree = {f"{place}": special for place, special in enumerate(SPECIAL)}
    write(tree, tmp_path / "a" / "c")
    made = {special: tmp_path / "a" / "c" / f"{place}" for place, special in enumerate(SPECIAL)}
    assert made["folder"].is_dir()
    assert made["pipe"].is_fifo()
    assert made["device"].is_char_device()
    assert made["outside"].read_bytes() == b"x"
    assert not made["dangling"].exists()


def test_damaged_tables_have_valid_checksums() -> None:
    for seed in range(20):
        tree: Tree = {"tables.bin": sound_files.old_chart()["tables.bin"]}
        assert seal(tree, Random(seed)) == ["sealed tables of tables.bin"]
        data = tree["tables.bin"]
        assert isinstance(data, bytes)
        *_, size, checksum = OLD_TABLE.unpack(data[: OLD_TABLE.size])
        values = data[OLD_TABLE.size : OLD_TABLE.size + size]
        head = zlib.crc32(data[: OLD_TABLE.size - 4])
        assert len(values) < size or zlib.crc32(values, head) == checksum


def test_damaged_blocks_have_valid_checksums() -> None:
    body = zlib.compress(b'[{"name": "steps", "count": 1}]\n' + bytes(8))
    digest = zlib.compress(b'{"row": 0}')
    before = framed(b"SBB2", digest, body, len(body))
    seen = set()
    for seed in range(30):
        tree: Tree = {"scalars.bin": before}
        assert seal(tree, Random(seed)) == ["sealed blocks of scalars.bin"]
        data = tree["scalars.bin"]
        assert isinstance(data, bytes)
        _, first, second, *sums, whole_sum = FRAME.unpack(data[: FRAME.size])
        parts = data[FRAME.size :][:first], data[FRAME.size + first :][:second]
        assert [*map(zlib.crc32, parts)] == sums
        assert zlib.crc32(data[: FRAME.size - 4]) == whole_sum
        seen.add(data)
    assert len(seen) > 5


def test_an_input_is_reproducible(runner: Runner) -> None:
    first = [runner.run(number) for number in range(60)]
    again = [runner.run(number) for number in reversed(range(60))][::-1]
    assert [(each.what, each.happened) for each in first] == [
        (each.what, each.happened) for each in again
    ]
    assert {tables.kind_of(each) for each in first} == set(PARTS)


def test_writing_through_a_link_and_too_much_memory_are_failures(runner: Runner) -> None:
    def follow(case: FuzzInput) -> None:
        (case.home.parent / OUTSIDE).write_bytes(b"overwritten")

    def swell(case: FuzzInput) -> None:
        case.note(len(bytearray(peak() + (600 << 20))))  # more than any test before it

    for kind, error in ((follow, "Followed"), (swell, "OutOfMemory")):
        runner._kinds = {part: {kind: 1.0} for part in PARTS}
        verdict = runner.run(0)
        assert (verdict.happened, verdict.error) == ("failure", error)


def test_a_worker_that_dies_fails_only_its_current_input(tmp_path: Path) -> None:
    worker = worker_processes.Worker(0, "commands", tmp_path / "w")
    worker.start()
    worker.give((0, 4))
    worker.process.kill()
    done: list[Verdict] = []
    while worker.span:
        done += worker_processes.attend(worker, [], worker.line.poll(60))
    worker.stop()
    assert sorted(each.number for each in done) == [0, 1, 2, 3]
    assert [each.error for each in done if each.number == 0] == ["Died"]


def test_each_failure_is_listed_once_with_its_first_input() -> None:
    done = [
        Verdict(7, "files | a", "failure", "KeyError", "chart.py:1 read", "'x'"),
        Verdict(3, "files | b", "failure", "KeyError", "chart.py:1 read", "'y'"),
        Verdict(1, "calls | c", "refused", "UsageError"),
    ]
    (only,) = tables.failures(done)
    assert (only["count"], only["input"], only["said"]) == (2, 3, "'y'")
    assert tables.counts(done) == {"calls": {"refused": 1}, "files": {"failure": 2}}
    about = {"command": "c", "inputs": 3, "seed": 0, "failures": 2, "seconds": 1}
    made = {"sickbay": "0", "torch": "0", "python": "0"}
    page = tables.page(tables.sheets(done), {**about, "made": made})
    assert "- 3 inputs of seed 0 in 1 minutes: 2 failures." in page
    assert "\n- Calls: 1 refused.\n- Files: 2 failure.\n" in page
    assert "chart.py:1 read" in page


def test_a_refusal_is_not_a_failure() -> None:
    assert issubclass(UsageError, ValueError)
    sheets = tables.sheets([Verdict(1, "calls | c", "refused", "UsageError")])
    assert [sheet.title for sheet in sheets] == ["Outcomes"]
