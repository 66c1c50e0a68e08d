// How is a cell shared when stations join it? Functions for the cells of a notebook.
//
// In a notebook of Observable, or a page of Observable Framework, with `Inputs` and `Plot` of it:
//
//   import { run } from "fairwave"
//   import { drawn, rates } from "./stations.js"
//   const stations = view(Inputs.range([1, 12], { step: 1, value: 3, label: "Stations" }))
//   const rows = rates(await run(scenario, settings(stations)))
//   drawn(Plot, rows)
//
// `index.html` beside this file is the same page without Observable.

/** Uploads of some stations over one access point. */
export const scenario = `
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
count = 3
[[node]]
name = "server"
kind = "host"
[[link]]
ends = ["ap", "server"]
[[flow]]
name = "up"
from = "sta*"
to = "server"
`;

/** Options of a run with this number of stations. */
export function settings(stations) {
  return { seed: 1, settings: [`node.sta.count=${stations}`] };
}

/** Rows for a plot: time in seconds, flow, and its goodput in Mbps. */
export async function rates(result) {
  const { t_ns: times, flow, goodput_bps: bps } = await result.table("flows");
  return Array.from(times, (ns, i) => ({ seconds: ns / 1e9, flow: flow[i], mbps: bps[i] / 1e6 }))
    .filter(({ mbps }) => Number.isFinite(mbps));
}

/** A line for each flow. */
export function drawn(Plot, rows) {
  const plot = Plot.plot({
    ariaLabel: "Goodput of each flow over time", width: 640, height: 320, grid: true,
    x: { label: "Time (s)" }, y: { label: "Goodput (Mbps)", zero: true },
    marks: [Plot.lineY(rows, { x: "seconds", y: "mbps", stroke: "flow" })],
  });
  // One picture with the name above, not a group for each part of it.
  plot.setAttribute("role", "img");
  for (const part of plot.querySelectorAll("[aria-label]")) part.removeAttribute("aria-label");
  return plot;
}
