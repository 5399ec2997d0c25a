"""The commands plot, export and shell completion, as typed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from orchestration.cli import app
from orchestration.plots import PLOTS
from orchestration.settings import PROJECT_ROOT, Settings

COMMANDS = (
    "run",
    "plan",
    "publish",
    "status",
    "sql",
    "trace",
    "import-responses",
    "export",
    "plot",
    "fit",
    "prompt",
    "parse",
    "parse-diff",
    "add-model",
    "doctor",
)
MAIN = "from orchestration.cli import main; main()"


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, published: Settings) -> None:
    monkeypatch.setenv("THETAHOUSE_HOME", str(published.home))


def test_plot_writes_a_file_and_lists_what_it_can_draw(home: None, tmp_path: Path) -> None:
    listed = CliRunner().invoke(app, ["plot", "list"]).output
    assert [line.split(":")[0] for line in listed.splitlines()] == list(PLOTS)
    out = tmp_path / "wright.svg"
    done = CliRunner().invoke(app, ["plot", "wright-map", "--dataset", "labels", "--out", str(out)])
    assert (done.exit_code, done.output) == (0, f"wrote {out}\n")
    assert "Wright map" in out.read_text()


def test_export_names_its_files_and_rows(home: None, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["export", "--format", "irw", "--dataset", "scores", "--out", str(tmp_path)])
    assert (done.exit_code, done.output) == (0, f"{tmp_path / 'scores.csv'}: 360 rows\n")


def test_a_wrong_name_is_one_line_and_exit_code_2(published: Settings, tmp_path: Path) -> None:
    arguments = ("plot", "leaderbord", "--out", str(tmp_path / "x.png"))
    done = subprocess.run(
        [sys.executable, "-c", MAIN, *arguments], capture_output=True, text=True, check=False, cwd=PROJECT_ROOT,
        env=os.environ | {"THETAHOUSE_HOME": str(published.home)},
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith("error: unknown plot 'leaderbord' (did you mean 'leaderboard'?); expected one of")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str) -> None:
    done = CliRunner().invoke(app, [name, "--help"])
    assert done.exit_code == 0
    assert "Usage:" in done.output


def test_the_shell_completes_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # the shell is found among the parents of the process, which a test run need not have
    monkeypatch.setattr("shellingham.detect_shell", lambda *_, **__: ("bash", "/bin/bash"))
    script = CliRunner().invoke(app, ["--show-completion", "bash"], prog_name="thetahouse")
    assert script.exit_code == 0, script.output
    assert "_THETAHOUSE_COMPLETE=complete_bash" in script.output
    asked = CliRunner().invoke(
        app,
        prog_name="thetahouse",
        env={"_THETAHOUSE_COMPLETE": "complete_bash", "COMP_WORDS": "thetahouse p", "COMP_CWORD": "1"},
    )
    assert set(asked.output.split()) == {"parse", "parse-diff", "plan", "plot", "prompt", "publish"}
