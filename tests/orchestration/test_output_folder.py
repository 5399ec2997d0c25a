"""Where ``--out`` cannot be a folder, every command that writes files says so in one line and writes nothing."""

import errno
from pathlib import Path

import pytest

from orchestration.export import export
from orchestration.output_folder import make_output_folder
from orchestration.plots.style import save
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
