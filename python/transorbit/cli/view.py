"""The command `transorbit view`."""

from __future__ import annotations

import webbrowser
from pathlib import Path  # noqa: TC003 - the parser of the command line reads the types

from transorbit.cli.common import examples

HELP = examples(
    "transorbit view",
    "transorbit view lab-fixed",
    'transorbit run leo-tcp --set duration="20 s"',
    "transorbit view results/leo-tcp",
)


def view(target: Path | None = None, /, *, port: int = 0, browser: bool = True) -> None:
    """Show a result, a scenario (which is run) or a sweep in the browser; without one, the page alone. Until Ctrl-C.

    Args:
        target: A result folder, the folder of a sweep, or a scenario file.
        port: Of the page on this computer; by default one that is free.
        browser: Open a browser.
    """
    from transorbit.view import Server

    with Server(target, port=port) as server:
        print(f"The page: {server.address} (Ctrl-C ends it)", flush=True)
        if browser:
            webbrowser.open(server.address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()
