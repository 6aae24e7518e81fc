"""``python -m tacita`` is the `tacita` command."""

import os
import sys

from ._run import command

program = command()
if program is None:
    sys.exit("tacita: the command is missing: install the package again")
os.execv(program, [str(program), *sys.argv[1:]])
