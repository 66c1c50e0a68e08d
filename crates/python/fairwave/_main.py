"""The script `fairwave`: the command in this process."""

from __future__ import annotations

import os
import signal
import sys

from . import _fairwave


def main() -> None:
    """Runs the command, and ends the process with its exit code.

    The script itself is the program that the command starts again, as a keeper of namespaces or a
    proxy.
    """
    # Python's handler only sets a flag, which the interpreter never reads while the command runs. A
    # signal that the parent chose to ignore stays ignored.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Python ignores it, and programs that the command starts would inherit that.
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    _fairwave.command(["fairwave", *sys.argv[1:]], os.path.abspath(sys.argv[0]))
