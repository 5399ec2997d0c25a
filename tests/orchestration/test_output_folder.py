"""Where ``--out`` cannot be a folder, every command that writes files says so in one line and writes nothing."""

import errno
import tempfile
from pathlib import Path

import pytest

from orchestration.export import ExportFormat, export
from orchestration.output_folder import make_home, make_output_folder, writing
from orchestration.plots import SUFFIXES, draw, save
from orchestration.settings import Settings


def test_a_folder_is_made_with_its_parents_and_may_be_there(tmp_path: Path) -> None:
    for _ in range(2):
        make_output_folder(tmp_path / "a/b")
    assert (tmp_path / "a/b").is_dir()


@pytest.mark.parametrize("name", ["file", "file/below"])
def test_a_file_in_the_way_is_named(published: Settings, tmp_path: Path, name: str) -> None:
    file = tmp_path / "file"
    file.touch()
    message = f"--out {tmp_path / name}: {file} is a file; name a folder, new or old"
    for write in (
        lambda: make_output_folder(tmp_path / name),
        lambda: export(published, tmp_path / name, format="parquet"),
        lambda: save(None, tmp_path / name / "x.svg"),
    ):
        with pytest.raises(NotADirectoryError) as caught:
            write()
        assert str(caught.value) == message


def test_a_place_where_nothing_can_be_made_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(NotADirectoryError, match=r"--out .*/new: permission denied; name a folder, new or old"):
        make_output_folder(tmp_path / "new")


def test_a_home_is_made_and_stays_empty(tmp_path: Path) -> None:
    for _ in range(2):
        make_home(tmp_path / "a/home")
    assert list((tmp_path / "a/home").iterdir()) == []


@pytest.mark.parametrize(
    ("home", "why"),
    [
        ("/proc", "no such file or directory"),  # there, and nobody may write in it
        ("/proc/x", "no such file or directory"),
        ("file", "{}/file is a file"),
        ("file/below", "{}/file is a file"),
    ],
)
def test_a_home_that_cannot_be_written_is_named_with_its_variable(tmp_path: Path, home: str, why: str) -> None:
    if home.startswith("/proc") and not Path("/proc/self/fd").is_dir():
        pytest.skip("this system has no /proc")
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError) as caught:
        make_home(tmp_path / home)
    assert str(caught.value) == (
        f"THETAHOUSE_HOME={tmp_path / home}: cannot be written ({why.format(tmp_path)}); "
        "set THETAHOUSE_HOME to a folder where you may write"
    )


def test_a_home_that_is_read_only_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    with pytest.raises(NotADirectoryError, match=r"cannot be written \(read-only file system\)"):
        make_home(tmp_path)


@pytest.mark.parametrize("name", ["raters.csv", "raters.parquet", "x.png", "x.svg", "x.html"])
def test_a_folder_where_a_file_should_be_is_named(published: Settings, tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    message = f"--out: {tmp_path / name} cannot be written: is a folder; name another place"
    file = tmp_path / name
    picture = draw(published, "coverage", dataset="labels")
    exported: dict[str, ExportFormat] = {".csv": "csv", ".parquet": "parquet"}
    with pytest.raises(NotADirectoryError) as caught:
        save(picture, file) if file.suffix in SUFFIXES else export(published, tmp_path, format=exported[file.suffix])
    assert str(caught.value) == message


def test_why_a_file_cannot_be_written_is_said(tmp_path: Path) -> None:
    refused = pytest.raises(NotADirectoryError, match="cannot be written: permission denied; name another place")
    with refused, writing(tmp_path / "new.csv"):
        raise PermissionError(errno.EACCES, "Permission denied")
