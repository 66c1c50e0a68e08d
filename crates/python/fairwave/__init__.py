"""Fairwave: transport over wireless LANs, simulated and measured.

    import fairwave as fw

    run = fw.run("scenarios/ack-loss.toml", seed=3)
    run.flows.to_pandas()[["name", "goodput_bps"]]
    fw.sweep("scenarios/ack-loss.toml", seeds=8, set={"node.pc.count": [4, 8, 16]})
    fw.reproduce("ack-loss").claims

Results are tables that pyarrow, polars, pandas and DuckDB take by Arrow's C stream interface. Their
columns are described in docs/run-tables.md, and by `Table.descriptions`.
"""

from ._command import command
from ._fairwave import RunError, ScenarioError, __version__
from ._run import Run, load, run
from ._scenario import Scenario, ScenarioWarning
from ._study import Claim, Reproduction, reproduce
from ._sweep import SweepWarning, sweep
from ._table import Table
from ._trace import Trace, trace

__all__ = [
    "Claim",
    "Reproduction",
    "Run",
    "RunError",
    "Scenario",
    "ScenarioError",
    "ScenarioWarning",
    "SweepWarning",
    "Table",
    "Trace",
    "__version__",
    "command",
    "load",
    "reproduce",
    "run",
    "sweep",
    "trace",
]
