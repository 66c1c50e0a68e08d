// Results of the points of a sweep.

import assert from "node:assert/strict";
import test from "node:test";
import { all, resultOf } from "../src/lab/points.js";

const summary = rates => ({ flows: rates.map((mbps, i) =>
  ({ name: `f${i}`, goodput_bps: mbps * 1e6 })) });

test("a run is judged by its sum, its least flow and Jain's index", () => {
  // (1 + 3)^2 / (2 * (1 + 9)) = 0.8.
  assert.deepEqual(resultOf(summary([3, 1])), { sum: 4, least: 1, name: "f1", jain: 0.8 });
  assert.deepEqual(resultOf(summary([0, 0])), { sum: 0, least: 0, name: "f0", jain: null });
  assert.deepEqual(resultOf(summary([])), { sum: 0, least: null, name: "", jain: null });
});

test("points are run in their order, and the progress is that of all", async () => {
  const seen = [];
  const engine = { run: async ({ point, file }, progress) => {
    assert.equal(file, "x.toml");
    progress(0.5);
    const bytes = new TextEncoder().encode(JSON.stringify(summary([point + 1])));
    return { answer: { run: {} }, files: [{ name: "summary.json", bytes }] };
  } };
  const points = [{ label: "a" }, { label: "b" }];
  const rows = await all(engine, { file: "x.toml" }, points, part => seen.push(part));
  assert.deepEqual(rows.map(({ label, sum }) => [label, sum]), [["a", 1], ["b", 2]]);
  assert.deepEqual(seen, [0.25, 0.75]);
  const refusing = { run: async () => ({ answer: { refused: { text: "no" } }, files: [] }) };
  await assert.rejects(all(refusing, {}, points, () => {}), /^Error: a: no$/);
});
