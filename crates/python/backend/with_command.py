"""The build of the wheel: maturin's, with the command `fairwave` beside the module (PEP 517)."""

import os
import shutil
import subprocess
from pathlib import Path

import maturin
from maturin import (  # noqa: F401
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_wheel,
)

PLACE = Path(__file__).resolve().parents[3]
SCRIPTS = PLACE / "crates/python/data/scripts"
# maturin asks for the folder before it compiles anything.
SCRIPTS.mkdir(parents=True, exist_ok=True)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Compiles the command into the wheel's scripts, then the wheel."""
    _compile()
    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """Does the same for an editable installation."""
    _compile()
    return maturin.build_editable(wheel_directory, config_settings, metadata_directory)


def _compile():
    build = ["cargo", "build", "--release", "--locked", "--package", "fairwave-cli"]
    subprocess.run(build, cwd=PLACE, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", PLACE / "target"))
    command = SCRIPTS / "fairwave"
    shutil.copy2(target / "release/fairwave", command)
    subprocess.run(["strip", command], check=True)
