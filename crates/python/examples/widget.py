"""A cell of Wi-Fi to try in a notebook: a slider of the number of stations, and their rates.

pip install fairwave anywidget, then in a notebook, in the directory of this file:

    from widget import Stations
    Stations()

The runs are made by the kernel, so that they have native speed. The script of the widget is
`widget.js`.
"""

from pathlib import Path
from typing import Any

import anywidget
import traitlets

import fairwave as fw

#: Uploads of some stations over one access point.
SCENARIO = """
duration = "10 s"
record.sample_every = "500 ms"
[cell]
standard = "802.11n"
[[node]]
name = "ap"
kind = "access-point"
[[node]]
name = "sta"
kind = "station"
count = 2
[[node]]
name = "server"
kind = "host"
[[link]]
ends = ["ap", "server"]
[[flow]]
name = "up"
from = "sta*"
to = "server"
"""


class Stations(anywidget.AnyWidget):
    """A slider of the number of stations, and the goodput of each over time."""

    _esm = Path(__file__).with_name("widget.js")

    stations = traitlets.Int(2, min=1, max=12).tag(sync=True)
    most = traitlets.Int(12).tag(sync=True)
    answer = traitlets.Unicode().tag(sync=True)
    seconds = traitlets.List(traitlets.Float()).tag(sync=True)
    #: For each flow its name and its goodput in Mbps at each time.
    series = traitlets.List().tag(sync=True)

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self.simulate()
        self.observe(lambda _: self.simulate(), "stations")

    def simulate(self) -> None:
        """Makes the run of the slider, and shows it."""
        run = fw.run(fw.Scenario(text=SCENARIO), seed=1, set={"node.sta.count": self.stations})
        flows = run.series("flows").to_arrow()
        rates: dict[str, list[float | None]] = {}
        names, values = (flows[column].to_pylist() for column in ["flow", "goodput_bps"])
        for flow, bps in zip(names, values, strict=True):
            rates.setdefault(flow, []).append(None if bps is None else bps / 1e6)
        times = dict.fromkeys(flows["t_ns"].to_pylist())
        means = [flow["goodput_bps"] / 1e6 for flow in run.summary["flows"]]
        # One message for all: the script draws once.
        with self.hold_sync():
            self.seconds = [ns / 1e9 for ns in times]
            self.series = list(rates.items())
            self.answer = (
                f"{len(means)} flows with {sum(means):.1f} Mbps together, each from "
                f"{min(means):.1f} to {max(means):.1f}"
            )
