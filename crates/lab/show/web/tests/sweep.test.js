// The page of a sweep: one run after another in the same place, some of which are closed while
// their tables are decoded.

import assert from "node:assert/strict";
import test from "node:test";

/** As much of an element as pages are made of. */
class Element {
  constructor(tag) {
    Object.assign(this, { tag, children: [], style: {}, attributes: {}, listeners: {} });
    this.classList = { toggle() {} };
  }

  append(...children) { this.children.push(...children); }
  prepend(...children) { this.children.unshift(...children); }
  replaceChildren(...children) { this.children = children; }
  setAttribute(name, value) { this.attributes[name] = value; }
  addEventListener(name, listener) { this.listeners[name] = listener; }
  get lastElementChild() { return this.children.at(-1); }

  /** All elements in it, itself first. */
  all() {
    const inner = this.children.filter(child => child instanceof Element);
    return [this, ...inner.flatMap(child => child.all())];
  }
}

/** Elements that observers of the window hold. */
const watched = new Set();

class Observer {
  observe(element) {
    this.element = element;
    watched.add(element);
  }

  unobserve(element) { watched.delete(element); }
  disconnect() { watched.delete(this.element); }
}

Object.assign(globalThis, {
  document: { createElement: tag => new Element(tag) },
  IntersectionObserver: Observer, ResizeObserver: Observer, addEventListener() {},
  requestAnimationFrame: work => setTimeout(work),
});
const { Run, showRun } = await import("../src/run.js");
const { showSweep } = await import("../src/sweep.js");

/** Something that others wait for, and that knows when one does. */
class Gate {
  constructor() {
    this.isReached = new Promise(resolve => { this.reach = resolve; });
    this.isOpen = new Promise(resolve => { this.open = resolve; });
  }
}

/** A table of one row. The gate of a column keeps its numbers back. */
class Table {
  constructor(columns, gates = {}) {
    const column = name => ({ name, isText: ["flow", "pair", "queue"].includes(name) });
    Object.assign(this, { columns: columns.map(column), gates, kept: {}, rows: 1 });
  }

  has(name) { return this.columns.some(column => column.name === name); }
  about() { return ""; }
  once(name, make) { return (this.kept[name] ??= make()); }
  async names() { return { names: [null, "up"], codes: Uint32Array.of(1) }; }

  async numbers(name) {
    const gate = this.gates[name];
    gate?.reach();
    await gate?.isOpen;
    return Float64Array.of(1e9);
  }
}

/** Tables with graphs, shares of the airtime, drops, and delays. */
const tablesOf = ({ gates = {} } = {}) => ({
  flows: new Table(["flow", "t_ns", "goodput_bps", "cwnd_bytes"], gates),
  pairs: new Table(["pair", "t_ns", "airtime_ns", "control_airtime_ns"], gates),
  queues: new Table(["queue", "t_ns", "enqueued", "drops_queue_full"], gates),
  delay_bins: new Table(["flow", "to_ns", "delivered"], gates),
});

for (const column of ["goodput_bps", "cwnd_bytes", "airtime_ns", "enqueued", "delivered"]) {
  test(`a run that is closed while ${column} is decoded leaves the place to the next`, async () => {
    const place = new Element("div");
    const gate = new Gate();
    const first = new Run(tablesOf({ gates: { [column]: gate } }), 0, 2);
    const isShown = showRun(place, first);
    await gate.isReached;
    first.close();
    const second = new Run(tablesOf(), 0, 2);
    await showRun(place, second);
    const [children, count] = [[...place.children], watched.size];
    assert.ok(children.length > 4 && count > 4, `${children.length} parts, ${count} watched`);
    gate.open();
    await isShown;
    assert.deepEqual(place.children, children);
    assert.equal(watched.size, count, "the first run's graphs have ended");
    second.close();
    assert.equal(watched.size, 0);
  });
}

test("the choice of another sweep closes the run of the one before", async () => {
  const point = n => ({ axes: { n }, metrics: { jain: { mean: 1, half_width: 0, n: 1 } } });
  const run = (group, n, gates) => ({ group, axes: { n }, seed: "1", seconds: 2, gates });
  const gate = new Gate();
  const groups = ["a", "b"].map(name => ({ name, points: [point("1"), point("2")] }));
  const slow = { goodput_bps: gate };
  const runs = [run(0, "1"), run(0, "2", slow), run(1, "1"), run(1, "2")];
  const place = new Element("div");
  await showSweep(place, { groups, runs }, tablesOf);
  const count = watched.size;
  const choose = (label, value) => {
    const found = place.all().find(({ tag, children }) => tag === "label" && children[0] === label);
    return found.lastElementChild.listeners.change({ target: { value } });
  };
  await choose("Sweep: ", "b");
  assert.equal(watched.size, count);
  await choose("Sweep: ", "a");
  assert.equal(watched.size, count);
  const isShown = choose("n: ", "2");
  await gate.isReached;
  await choose("Sweep: ", "b");
  gate.open();
  await isShown;
  assert.equal(watched.size, count);
});
