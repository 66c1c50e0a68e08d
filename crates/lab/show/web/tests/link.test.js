// Links that carry a scenario in their fragment.

import assert from "node:assert/strict";
import test from "node:test";
import { fragmentOf, pageOf, stateOf } from "../src/lab/link.js";

const state = { file: "a.toml", text: "x = 1", settings: ["node.sta.count=2"], seed: 7, point: 1,
  seeds: 3 };

test("a link has the state that was shared", async () => {
  assert.deepEqual(await stateOf(await fragmentOf(state)), state);
  const none = { ...state, seed: null, point: 0, seeds: null };
  assert.deepEqual(await stateOf(await fragmentOf(none)), none);
});

test("a link has seed 0", async () => {
  const zero = { ...state, seed: 0 };
  assert.deepEqual(await stateOf(await fragmentOf(zero)), zero);
});

test("a run in a directory with any name has an address", () => {
  const base = "http://127.0.0.1:1/token/";
  for (const name of ["web-1/run-0", "is it?/run #1", "100 %/a%20b&c=d", "größer/x"]) {
    const { pathname, search, hash } = new URL(pageOf(name), base);
    assert.deepEqual([search, hash], ["", ""], name);
    assert.equal(decodeURIComponent(pathname), `/token/show/${name}`);
  }
});
