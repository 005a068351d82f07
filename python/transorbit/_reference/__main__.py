"""`python -m transorbit._reference DIRECTORY`."""

import sys
from pathlib import Path

from transorbit._reference import write

write(Path(sys.argv[1]))
