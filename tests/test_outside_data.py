"""A test that lacks outside data says which variable names it and what it is, and fails where data are required."""

from pathlib import Path

import pytest

from tests.conftest import OUTSIDE, outside_folder


@pytest.mark.parametrize("variable", OUTSIDE)
def test_the_reason_of_a_skip_names_the_variable_and_what_it_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str
) -> None:
    monkeypatch.delenv("THETAHOUSE_REQUIRE_DATA", raising=False)
    monkeypatch.delenv(variable, raising=False)
    needs = f"this test needs the folder with {OUTSIDE[variable]} (not part of the project)"
    with pytest.raises(pytest.skip.Exception) as skipped:
        outside_folder(variable)
    assert str(skipped.value) == f"{variable} is not set; {needs}"
    monkeypatch.setenv(variable, str(tmp_path / "none"))
    with pytest.raises(pytest.skip.Exception) as skipped:
        outside_folder(variable)
    assert str(skipped.value) == f"{variable}={tmp_path / 'none'}: no such folder; {needs}"
    monkeypatch.setenv("THETAHOUSE_REQUIRE_DATA", "1")
    with pytest.raises(pytest.fail.Exception, match=variable):
        outside_folder(variable)


def test_a_folder_that_is_there_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("THETAHOUSE_DATA", str(tmp_path))
    assert outside_folder("THETAHOUSE_DATA") == tmp_path
