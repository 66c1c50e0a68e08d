// Links that carry a scenario in their fragment.

import assert from "node:assert/strict";
import test from "node:test";
import { fragmentOf, stateOf } from "../src/lab/link.js";

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
