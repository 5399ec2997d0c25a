"""Which errors become one plain line."""

import errno
import sqlite3
import sys
from pathlib import Path

import pytest

from orchestration import cli
from orchestration.cli.errors import is_forbidden, is_out_of_room


def caused(by: Exception) -> Exception:
    """Return an error that another one led to."""
    error = RuntimeError("a step failed")
    error.__cause__ = by
    return error


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), True),
        (caused(OSError(errno.EDQUOT, "Disk quota exceeded")), True),
        (caused(caused(sqlite3.OperationalError("database or disk is full"))), True),
        (OSError(errno.ENOENT, "No such file or directory"), False),
        (caused(ValueError("unknown rater")), False),
    ],
)
def test_a_full_disk_is_found_among_the_causes(error: Exception, expected: bool) -> None:
    assert is_out_of_room(error) is expected


def test_a_full_disk_is_one_plain_line_and_exit_code_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full() -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(cli, "app", full)
    monkeypatch.setattr(sys, "argv", ["thetahouse", "run"])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 1
    assert capsys.readouterr().err == cli.OUT_OF_ROOM + "\n"


def test_a_file_that_the_system_forbids_is_one_plain_line_and_exit_code_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def forbidden() -> None:
        raise PermissionError(errno.EACCES, "Permission denied", "/srv/house")

    monkeypatch.setattr(cli, "app", forbidden)
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 2
    assert capsys.readouterr().err == f"error: /srv/house: permission denied; {cli.ALLOW}\n"


def test_a_file_where_a_folder_should_be_is_one_plain_line_and_exit_code_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "locks").touch()
    monkeypatch.setattr(cli, "app", (tmp_path / "locks").mkdir)
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 2
    said = f"error: {tmp_path / 'locks'}: a file stands where a folder should be; {cli.MOVE}\n"
    assert capsys.readouterr().err == said


@pytest.mark.parametrize(
    "error", [PermissionError(errno.EPERM, "Operation not permitted"), FileNotFoundError(errno.ENOENT, "gone", "x")]
)
def test_other_faults_of_the_system_are_not_taken_for_it(error: OSError) -> None:
    assert not is_forbidden(error)
