"""Fairwave: transport over wireless LANs, simulated and measured.

    import fairwave as fw

    run = fw.run("scenarios/single-tcp.toml", seed=3, set={"flow.up.delayed_ack": "on"})
    run.flows.to_pandas()[["name", "goodput_bps"]]
    rates = ["24 Mbps", "54 Mbps"]
    fw.sweep("scenarios/single-tcp.toml", seeds=4, set={"node.sta.data_rate": rates})
    fw.reproduce("ack-loss").claims

Results are tables that pyarrow, polars, pandas and DuckDB take by Arrow's C stream interface. Their
columns are described in docs/run-tables.md, and by `Table.descriptions`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import cc, rate_control, scheduler
    from ._command import command
    from ._fairwave import RunError, ScenarioError, __version__
    from ._run import Run, load, run
    from ._scenario import Scenario, ScenarioWarning
    from ._study import Claim, Reproduction, reproduce
    from ._sweep import SweepWarning, sweep
    from ._table import Table
    from ._trace import Trace, trace
else:
    # Modules are imported when they are used: the script `fairwave`, which needs none of them,
    # starts in half the time.
    _MODULES = {
        "_command": ["command"],
        "_fairwave": ["RunError", "ScenarioError", "__version__"],
        "_run": ["Run", "load", "run"],
        "_scenario": ["Scenario", "ScenarioWarning"],
        "_study": ["Claim", "Reproduction", "reproduce"],
        "_sweep": ["SweepWarning", "sweep"],
        "_table": ["Table"],
        "_trace": ["Trace", "trace"],
    }
    _SUBMODULES = ["cc", "rate_control", "scheduler"]
    _HOMES = {name: module for module, names in _MODULES.items() for name in names}

    def __getattr__(name):
        """The name, from the module that defines it."""
        if name in _SUBMODULES:
            return import_module(f"{__name__}.{name}")
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)

    def __dir__():
        return __all__


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
    "cc",
    "command",
    "load",
    "rate_control",
    "reproduce",
    "run",
    "scheduler",
    "sweep",
    "trace",
]
