"""What the tests share. `FAIRWAVE` names the command that they use."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def tiny() -> Path:
    """A scenario of a second and a half, with a sweep of two points and two seeds."""
    return ROOT / "crates/cli/tests/data/tiny.toml"


@pytest.fixture
def reno() -> dict[str, str]:
    """The setting that chooses one of its points."""
    return {"tcp.congestion_control": "reno"}
