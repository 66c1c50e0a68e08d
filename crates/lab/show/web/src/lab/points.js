// Runs of all points of a sweep, one after the other, and their results in a table.

import { h, sheet } from "../dom.js";
import { number } from "../format.js";

/** The most points that a page runs at once. */
export const MOST_POINTS = 32;

/** Results of a run, by its summary. */
export function resultOf({ flows }) {
  const mbps = flows.map(({ goodput_bps: bps }) => bps / 1e6);
  const sum = mbps.reduce((all, one) => all + one, 0);
  const squares = mbps.reduce((all, one) => all + one * one, 0);
  const least = mbps.indexOf(Math.min(...mbps));
  return { sum, least: mbps[least] ?? null, name: flows[least]?.name ?? "",
    jain: squares > 0 ? sum * sum / (mbps.length * squares) : null };
}

/** Makes the run of each point; its files are not kept. `progress` gets the finished fraction. */
export async function all(engine, request, points, progress, signal) {
  const rows = [];
  for (const [point, { label }] of points.entries()) {
    const part = fraction => progress((point + fraction) / points.length);
    const { answer, files } = await engine.run({ ...request, point }, part, signal);
    if (answer.refused) throw new Error(`${label}: ${answer.refused.text}`);
    const summary = files.find(({ name }) => name === "summary.json");
    rows.push({ label, ...resultOf(JSON.parse(new TextDecoder().decode(summary.bytes))) });
  }
  return rows;
}

/** The table of a sweep, with a bar for the goodput of all flows together. */
export function table(rows, { file, settings }) {
  const most = Math.max(...rows.map(({ sum }) => sum), 1e-9);
  const cells = rows.map(({ label, sum, least, name, jain }) => [label,
    h("span", { class: "bar", "aria-hidden": "true" },
      h("span", { style: `width:${100 * sum / most}%` })),
    number(sum), `${number(least)} (${name})`, jain === null ? "–" : jain.toFixed(3)]);
  const heads = ["point", "share of the largest", "all flows, Mbps", "the least, Mbps",
    "Jain's index"];
  return h("article", { class: "card sweep", "aria-label": "Sweep" },
    h("h2", null, "All points"), h("p", { class: "facts" }, [file, ...settings].join(" · ")),
    sheet("Goodput at each point, first seed", heads, cells));
}
