// Quantiles, sums over a range, means, and numbers as people read them.

import assert from "node:assert/strict";
import test from "node:test";
import { relative, verdict } from "../src/comparison.js";
import { number, quantity, seconds, unitIn, unitOf } from "../src/format.js";
import { interval, over, positions, ticks } from "../src/means.js";
import { figuresOf } from "../src/metrics.js";
import { cumulative, growthOver, quantile, sumOver } from "../src/quantiles.js";
import { Series } from "../src/thin.js";

test("quantiles are upper ends of bins", () => {
  const names = { names: [null, "a", "b"], codes: Uint32Array.of(1, 1, 2, 1) };
  const [a, b] = cumulative(names, [10, 20, 7, 30], [50, 49, 1, 1]);
  assert.deepEqual([0.5, 0.51, 0.99, 0.991, 1].map(q => quantile(a, q)), [10, 20, 20, 30, 30]);
  assert.deepEqual([a.total, b.total, quantile(b, 0.5)], [100, 1, 7]);
});

test("amounts of intervals are summed, counters are subtracted", () => {
  const series = new Series("a", Float64Array.of(1, 2, 3, 4), Float64Array.of(5, 7, NaN, 20));
  assert.equal(sumOver(series, 1, 4), 27, "that which ends at the begin is outside");
  assert.equal(sumOver(series, 0, 1), 5);
  assert.equal(growthOver(series, 0, 4), 20, "from the start");
  assert.equal(growthOver(series, 2, 4), 13);
  assert.equal(growthOver(series, 2, 3), 0, "an unknown value changes nothing");
});

test("columns have names and units", () => {
  assert.deepEqual(unitOf("goodput_bps"), { words: "goodput", factor: 1e-6, unit: "Mbps" });
  assert.deepEqual(unitOf("flow.up.delay_p99_ms").unit, "ms");
  assert.deepEqual(unitOf("retransmissions").unit, "");
  const numbers = [0, 1234567, 12.34567, 0.001234567, 1e-9, 1e9, NaN, null].map(number);
  assert.deepEqual(numbers,
    ["0", "1234567", "12.35", "0.001235", "1.00e-9", "1.00e+9", "–", "–"]);
  assert.deepEqual([quantity(5, "ms"), quantity(NaN, "ms")], ["5 ms", "–"]);
  assert.deepEqual([seconds(1.23456, 100), seconds(1.23456, 0.01)], ["1 s", "1.2346 s"]);
});

test("values of an axis are placed by their numbers if all have them", () => {
  assert.deepEqual(positions(["2", "8", "32"]), [2, 8, 32]);
  assert.deepEqual(positions(['"5 ms"', '"40 ms"']).length, 2);
  assert.deepEqual(positions(["reno", "cubic"]), [0, 1]);
  assert.deepEqual(positions(["5 ms", "1 s"]), [0, 1], "units differ");
});

test("a sweep over an axis has a series for each combination of the others", () => {
  const metrics = mean => ({ x: { mean, half_width: 1, n: 3 } });
  const point = (n, cc, mean) => ({ axes: { n, cc }, metrics: metrics(mean) });
  const points = [point("8", "reno", 1), point("2", "reno", 3), point("2", "bbr", 4)];
  const figure = { label: "x (ms)", parts: [{ name: "x", part: "" }] };
  const { values, series } = over(points, "n", figure);
  assert.deepEqual(values, ["8", "2"]);
  assert.deepEqual(series.map(one => one.name), ["cc = reno", "cc = bbr"]);
  assert.deepEqual(series[0].points.map(({ x, mean }) => [x, mean]), [[2, 3], [8, 1]]);
  assert.equal(interval(points[0].metrics.x), "1.0 ± 1.0");
  assert.equal(interval({ mean: 23.7581, half_width: 0.6289 }), "23.76 ± 0.63");
  assert.equal(interval({ mean: 1234.5, half_width: 88 }), "1235 ± 88");
  assert.equal(interval({ mean: 2, half_width: null }), "2");
});

test("a figure of each part has a series for each, up to those of a graph", () => {
  const parts = Array.from({ length: 20 }, (_, i) => ({ name: `flow.f${i}.x`, part: `f${i}` }));
  const metrics = Object.fromEntries(parts.map(({ name }, i) => [name, { mean: i, n: 1 }]));
  const { series, left } = over([{ axes: { n: "1" }, metrics }], "n", { label: "x", parts });
  assert.equal(series.length, 16);
  assert.equal(left, 4);
  assert.deepEqual(series[15], { name: "f15", points: [{ x: 1, mean: 15, n: 1 }] });
});

test("figures are offered for the whole run, for each part together, and one by one", () => {
  const names = ["jain", "goodput_mbps", "flow.up.1.goodput_mbps", "flow.b.goodput_mbps",
    "station.sta1.airtime_percent"];
  const found = figuresOf(names);
  assert.deepEqual(found.map(({ label }) => label), ["Jain's index", "goodput (Mbps)",
    "each flow: goodput (Mbps)", "flow up.1: goodput (Mbps)", "flow b: goodput (Mbps)",
    "station sta1: airtime (%)"]);
  assert.deepEqual(found[2].parts.map(({ part }) => part), ["up.1", "b"]);
  assert.deepEqual(found[5].parts, [{ name: "station.sta1.airtime_percent", part: "" }]);
});

test("ticks are round", () => {
  assert.deepEqual(ticks(0, 29.3), [0, 10, 20]);
  assert.deepEqual(ticks(-1, 1), [-1, -0.5, 0, 0.5, 1]);
});

test("a difference is judged by its corrected p", () => {
  assert.deepEqual([0.01, 0.2, null].map(p => verdict({ p_holm: p })),
    ["differs", "no difference shown", "not tested"]);
  assert.equal(relative({ first: { mean: -4 }, difference: { mean: 1 } }), 25);
  assert.equal(relative({ first: { mean: 0 }, difference: { mean: 1 } }), null);
});

test("an axis's name ends in its unit, in brackets of either kind", () => {
  assert.equal(unitIn("Time since the handover (s)"), "s");
  assert.equal(unitIn("time from the first packet of the capture [s]"), "s");
  assert.equal(unitIn("Uploads"), "");
  assert.equal(unitIn("Queue (short) of the access point"), "");
});
