"""`python -m fairwave`: the command `fairwave`."""

import os
import sys

from ._command import command

os.execv(command(), ["fairwave", *sys.argv[1:]])
