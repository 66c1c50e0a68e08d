// Runs of all points of a sweep, and the request for their means.

import assert from "node:assert/strict";
import test from "node:test";
import { jobsOf, packed, Sweep } from "../src/lab/points.js";

const points = [{ label: "a", seed: 1 }, { label: "b", seed: 5 }];

test("the first seed of each point is run before the second", () => {
  const order = jobsOf(points, 2).map(({ point, seed }) => [point, seed]);
  assert.deepEqual(order, [[0, 1], [1, 5], [0, 2], [1, 6]]);
});

test("figures are packed by point and seed, each name once", () => {
  const figures = (seed, metrics) => ({ axes: [["n", "1"]], seed, metrics });
  const { names, runs } = packed([
    { job: { point: 1, seed: 1 }, figures: figures(1, [["y", 4]]) },
    { job: { point: 0, seed: 2 }, figures: figures(2, [["y", 3], ["x", 2]]) },
    { job: { point: 0, seed: 1 }, figures: figures(1, [["x", 1]]) },
  ]);
  assert.deepEqual(names, ["x", "y"]);
  assert.deepEqual(runs.map(({ seed, metrics }) => [seed, metrics]),
    [[1, [[0, 1]]], [2, [[1, 3], [0, 2]]], [1, [[1, 4]]]]);
});

/** An engine whose runs end in the next turn, and that counts those under way. */
class Engine {
  constructor(atOnce) {
    Object.assign(this, { atOnce, underWay: 0, most: 0, requests: [] });
  }

  async run(request, progress, signal) {
    this.requests.push(request);
    this.most = Math.max(this.most, ++this.underWay);
    progress(0.5);
    await new Promise(resolve => { setTimeout(resolve); });
    this.underWay--;
    signal.throwIfAborted();
    const { point, seed } = request;
    if (point === this.refused) return { answer: { refused: { text: "no" } } };
    return { answer: { figures: { axes: [], seed, metrics: [["x", point]] } } };
  }

  async means({ runs }) {
    return { answer: { means: runs.length } };
  }
}

test("as many runs as the engine makes at once are under way, and progress is that of all",
  async () => {
    const [engine, seen] = [new Engine(2), []];
    const sweep = new Sweep(engine, { file: "x.toml" }, jobsOf(points, 2), () => {});
    await sweep.run((part, made) => seen.push([part, made]), new AbortController().signal);
    assert.equal(engine.most, 2);
    assert.ok(engine.requests.every(one => one.only_figures && one.file === "x.toml"));
    assert.deepEqual(seen.at(-1), [1, 4]);
    assert.deepEqual(seen[0], [0.125, 0]);
    const shown = [];
    const last = new Sweep(engine, {}, [], (...means) => shown.push(means));
    await last.showNow();
    assert.deepEqual(shown, [[0, true]]);
  });

test("a refused run ends the others, a cancelled sweep keeps the finished ones", async () => {
  const engine = Object.assign(new Engine(1), { refused: 1 });
  const sweep = new Sweep(engine, {}, jobsOf(points, 5), () => {});
  await assert.rejects(sweep.run(() => {}, new AbortController().signal), /^Error: no$/);
  assert.equal(engine.requests.length, 2, "no further run begins");
  const cancel = new AbortController();
  const ended = new Sweep(new Engine(1), {}, jobsOf(points, 5), () => {});
  const stop = (part, made) => made === 3 && cancel.abort();
  await assert.rejects(ended.run(stop, cancel.signal), { name: "AbortError" });
  assert.equal(ended.found.length, 3);
});
