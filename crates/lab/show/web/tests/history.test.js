// Figures of live tools over time.

import assert from "node:assert/strict";
import test from "node:test";
import { History, lists, MOST_SAMPLES, MOST_SERIES, scalars, timeOf } from "../src/live/history.js";

const received = { list: "paths", key: "bytes", factor: 8e-6, isCounter: true };
const ys = (history, name) => Array.from(history.series.get(name).ys);

test("a counter is shown by its growth in a second, anew where it began anew", () => {
  const history = new History(received);
  const add = (at, bytes) => history.add({ paths: [{ via: "w0", bytes }] }, at);
  add(0, 0);
  add(2, 1e6);
  add(2, 9e6);
  add(3, 1.5e6);
  add(4, 5);
  add(5, 125_005);
  assert.deepEqual(Array.from(history.series.get("w0").xs), [0, 2, 3, 4, 5]);
  assert.deepEqual(ys(history, "w0"), [NaN, 4, 4, NaN, 1]);
});

test("a value that is unknown is a gap", () => {
  const history = new History({ keys: ["rtt_ms", "no_such"] });
  history.add({ rtt_ms: null }, 0);
  assert.equal(history.hasValues, false);
  history.add({ rtt_ms: 7 }, 1);
  assert.deepEqual(ys(history, "rtt"), [NaN, 7]);
  assert.equal(history.hasValues, true);
});

test("a figure inside an element of a list has both names", () => {
  const history = new History({ list: "paths", key: "radio_signal_dbm" });
  const paths = [{ via: "wlan0", radio: { signal_dbm: -60 } }, { via: "usb0", radio: null }];
  history.add({ paths }, 0);
  assert.deepEqual([ys(history, "wlan0"), ys(history, "usb0")], [[-60], [NaN]]);
});

test("samples and series are bounded", () => {
  const history = new History(received);
  const paths = Array.from({ length: MOST_SERIES + 3 }, (_, i) => ({ via: `w${i}`, bytes: i }));
  for (let at = 0; at < MOST_SAMPLES + 50; at++) history.add({ paths }, at);
  assert.equal(history.series.size, MOST_SERIES);
  assert.equal(history.left, 3);
  const { xs } = history.series.get("w0");
  assert.deepEqual([xs.length, xs[0], xs.at(-1)], [MOST_SAMPLES, 50, MOST_SAMPLES + 49]);
  assert.deepEqual(Array.from(history.series.get("w0").within(0, 51)), [0, 2]);
});

/** Adds a sample of these paths each second. */
function live(history, from, to, ...names) {
  for (let at = from; at < to; at++) {
    history.add({ paths: names.map(via => ({ via, bytes: at })) }, at);
  }
}

test("a series that ended is kept as long as its samples are in the window", () => {
  const history = new History(received);
  live(history, 0, 100, "old", "stays");
  live(history, 100, MOST_SAMPLES + 50, "stays");
  assert.deepEqual(Array.from(history.series.keys()), ["old", "stays"]);
  const firsts = Array.from(history.series.values(), ({ xs }) => xs[0]);
  assert.deepEqual(firsts, [50, 50]);
  live(history, MOST_SAMPLES + 50, MOST_SAMPLES + 100, "stays");
  assert.deepEqual(Array.from(history.series.keys()), ["stays"]);
});

test("a new series takes the place of the one that ended first", () => {
  const history = new History(received);
  const names = Array.from({ length: MOST_SERIES }, (_, i) => `w${i}`);
  live(history, 0, 2, ...names);
  live(history, 2, 3, ...names.slice(0, 5), ...names.slice(6));
  live(history, 3, 4, ...names.slice(0, 3), ...names.slice(6), "new", "newer", "newest", "fourth");
  const found = new Set(history.series.keys());
  assert.deepEqual([found.size, history.left], [MOST_SERIES, 1]);
  assert.ok(["new", "newer", "newest"].every(name => found.has(name)));
  assert.ok(["w3", "w4", "w5"].every(name => !found.has(name)));
});

test("figures are told apart: single ones, lists, and the tool's clock", () => {
  const figures = { at_ns: 2e9, lateness: { p99_ns: 5 }, note: null, paths: [{ via: "w0" }],
    traffic: ["rest"], empty: [] };
  assert.deepEqual(scalars(figures), [["at_ns", 2e9], ["lateness_p99_ns", 5], ["note", null]]);
  assert.deepEqual(lists(figures).map(([name]) => name), ["paths"]);
  assert.equal(timeOf(figures), 2);
  assert.equal(timeOf({ seconds: 3 }), 3);
  assert.equal(timeOf({}), null);
  assert.deepEqual([scalars(null), lists(null)], [[], []]);
});
