"""The command `fairwave`, which the wheel brings."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from ._fairwave import RunError, ScenarioError

# The exit status of a command that was called wrongly.
_USAGE = 2


def command() -> str:
    """Path of the command `fairwave`: that of this installation, or the first in PATH.

    The variable `FAIRWAVE` names another one.
    """
    chosen = os.environ.get("FAIRWAVE")
    if chosen:
        return chosen
    own = Path(sysconfig.get_path("scripts")) / "fairwave"
    found = str(own) if own.exists() else shutil.which("fairwave")
    if found is None:
        raise FileNotFoundError(
            "the command fairwave is neither beside this Python nor in PATH; "
            "`pip install --force-reinstall fairwave` brings it"
        )
    return found


def answer(*words: str) -> Any:
    """JSON that the command prints; a failure has the command's words."""
    line = [command(), *words, "--json", "--quiet"]
    child = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        out, err = child.communicate()
    except BaseException:
        # Ctrl-C of a terminal reaches both, but the stop button of an editor this process alone.
        child.terminate()
        child.wait()
        raise
    if child.returncode not in (0, 3):
        text = err.strip().removeprefix("error: ")
        raise (ScenarioError if child.returncode == _USAGE else RunError)(text)
    return json.loads(out)
