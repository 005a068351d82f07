"""`python -m transorbit`: the command, where its program is not on the PATH."""

from transorbit.cli.main import main

main()
