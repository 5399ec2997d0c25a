"""The command ``thetahouse``: what people type.

Each command is a thin layer: it reads its arguments, calls one function of the house and prints. Imports of heavy
libraries stand inside the commands, so that ``--help`` answers at once. Exit code 0: done; 1: something failed on the
way and was named; 2: bad input, nothing was changed.
"""

import gc
import sys

import typer

from orchestration.cli import add_model, doctor, export, fit, inout, look, parse, parse_diff, plot, prompt, ui, work
from orchestration.cli.errors import is_forbidden, is_in_the_way, is_out_of_room, is_user_error

app = typer.Typer(
    help="A psychometric warehouse for language models.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
COMMANDS = (
    ui.ui,
    ui.docs,
    work.run,
    work.plan,
    work.publish,
    look.status,
    look.sql,
    look.trace,
    inout.import_responses,
    export.export,
    plot.plot,
    fit.fit,
    prompt.prompt,
    parse.parse,
    parse_diff.parse_diff,
    add_model.add_model,
    doctor.doctor,
)
for command in COMMANDS:
    app.command()(command)

OUT_OF_ROOM = (
    "error: no room left on the disk of THETAHOUSE_HOME, or it cannot be written; free some space and run again: "
    "what had landed is kept, and what was published stays as it was"
)
ALLOW = "give yourself access, or name another place (THETAHOUSE_HOME, or the option that named this one)"
MOVE = "move it away, or name another place (THETAHOUSE_HOME, or the option that named this one)"


def main() -> None:
    """Run the command line; a fault of the input is one plain line and exit code 2."""
    # most of what a command makes lives to its end: looking through it seldom saves a tenth of the imports' time
    gc.set_threshold(100_000, 20, 20)
    try:
        app()
    except Exception as error:
        if is_out_of_room(error):
            sys.stderr.write(f"{OUT_OF_ROOM}\n")
            sys.exit(1)
        if is_forbidden(error):
            sys.stderr.write(f"error: {error.filename}: {str(error.strerror).lower()}; {ALLOW}\n")
            sys.exit(2)
        if is_in_the_way(error):
            sys.stderr.write(f"error: {error.filename}: a file stands where a folder should be; {MOVE}\n")
            sys.exit(2)
        if not is_user_error(error):
            raise
        sys.stderr.write(f"error: {error}\n")
        sys.exit(2)
