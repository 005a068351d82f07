"""The `transorbit` command: what it prints and how it ends.

Exit codes: 0 done; 2 something in the input is wrong, said in one line; 130 stopped with Ctrl-C; 1 a defect of ours.
"""

from __future__ import annotations

import gc
import os
import sys

# As in the package's first file, what is imported here is imported before Ctrl-C is caught.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from cyclopts import CycloptsError

# Objects made since the interpreter last looked for garbage.
_ALLOCATIONS = 50_000
# Characters of a message, and of its end, where a longer one is cut.
_LONGEST, _END = 1000, 200
# The core's error on a name in a scenario that nobody has registered, and what helps.
_UNREGISTERED, _PLUGIN = "no script has registered", "; --plugin FILE runs the Python file that registers it"

# The form of an option's value that has two parts.
_PAIRS = {"--set": "KEY=VALUE", "--only": "AXIS=VALUE", "--dscp": "CODEPOINT=CLASS"}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and leave the process with its exit code."""
    # Objects of a short command live to its end: looking for garbage among it took 6 % of a run with its picture.
    gc.set_threshold(_ALLOCATIONS, 10, 10)
    _open_streams()
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def _open_streams() -> None:
    """Opens outputs that the caller has closed, as daemons do: what is printed is then lost."""
    sys.stdout = sys.stdout or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    sys.stderr = sys.stderr or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")


def run(arguments: Sequence[str]) -> int:
    """Run the command; every failure that a user can cause becomes one line on standard error."""
    try:
        if list(arguments) == ["--version"]:
            # Scripts call this often, and importing the command line parser takes longer than the answer.
            from transorbit._core import version

            print(version())
            return 0
        # Imported here so that Ctrl-C during start-up is caught as well.
        from cyclopts import CycloptsError

        from transorbit._core import ScenarioError, SimulationError
        from transorbit.cli.app import app
        from transorbit.cli.errors import UsageError
        from transorbit.cli.parse import joined

        try:
            code = app(joined(app, arguments), exit_on_error=False, print_error=False, result_action="return_value")
            sys.stdout.flush()
            return code if isinstance(code, int) else 0
        except CycloptsError as error:
            return _refuse(_unread(error))
        except (ScenarioError, UsageError) as error:
            return _refuse(f"{error}{_PLUGIN if _UNREGISTERED in str(error) else ''}")
        except SimulationError as error:
            _refuse(f"a defect of the simulator, please report it with the scenario: {error}")
            return 1
        except BrokenPipeError:
            return _stop_writing()
        except OSError as error:
            return _refuse(f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error))
        except (Exception, SystemExit) as error:
            if not _is_users(error):
                raise
            return _blame(error)
    except KeyboardInterrupt as stop:
        print(f"transorbit: {' '.join(str(stop).split()) or 'stopped; nothing is kept'}", file=sys.stderr)
        return 130


def _refuse(message: str) -> int:
    told = " ".join(message.split())
    if len(told) > _LONGEST:
        # It repeats what was given, which can be a whole file: the place is at its beginning.
        told = f"{told[: _LONGEST - _END]} … {told[-_END:]}"
    print(f"transorbit: {told}", file=sys.stderr)
    return 2


def _unread(error: CycloptsError) -> str:
    """The complaint about arguments that the parser cannot read."""
    from cyclopts import MissingArgumentError, UnknownCommandError

    unused = getattr(error, "unused_tokens", None) or []
    if isinstance(error, UnknownCommandError) and unused and not unused[0].startswith("-"):
        return _unknown(error.command_chain or (), unused[0])
    if isinstance(error, MissingArgumentError) and error.argument and error.argument.name.startswith("-"):
        option = error.argument.name
        # The parser names the option as it was given, where it was.
        if error.keyword is None:
            return f"{option}: is missing, the command needs it"
        return f"{option}: needs {_PAIRS.get(option, 'a value')}"
    if unused:
        return f"{' '.join(unused)}: is more than the command takes; --help tells what it does"
    return str(error)


def _unknown(parents: Sequence[str], given: str) -> str:
    """The complaint about a word that is none of the commands below `parents`."""
    from transorbit._names import hint_or_all
    from transorbit.cli.app import app

    commands = app
    for name in parents:
        commands = commands[name]
    command_names = [name for name in commands if not name.startswith("-")]
    return f"{' '.join([*parents, given])}: no such command{hint_or_all(given, command_names)}"


def _is_users(error: BaseException) -> bool:
    from transorbit.plugins import NOTE

    return NOTE in getattr(error, "__notes__", ())


def _blame(error: BaseException) -> int:
    """A user's own code failed: its part of the traceback, and one line."""
    import traceback
    from pathlib import Path

    import cyclopts

    # What runs the user's code, which may call the package in its turn.
    others = (str(Path(__file__).parents[1]), str(Path(cyclopts.__file__).parent), "<frozen runpy>")
    frames = traceback.extract_tb(error.__traceback__)
    while frames and frames[-1].filename.startswith(others):
        frames.pop()
    begin = max((index + 1 for index, frame in enumerate(frames) if frame.filename.startswith(others)), default=0)
    print("".join(traceback.format_list(frames[begin:])), end="", file=sys.stderr)
    return _refuse(f"{type(error).__name__}: {error}".removesuffix(": "))


def _stop_writing() -> int:
    """The reader of our output has gone, as `head` does: not an error, but nothing more can be written."""
    sys.stdout = None
    return 0
