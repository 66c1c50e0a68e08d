// Requests of the page to its server.

import assert from "node:assert/strict";
import test from "node:test";
import { ServerEngine } from "../src/lab/engine.js";

/** Answers the requests of `act` by these statuses, one after another. Returns their number. */
async function answered(statuses, act) {
  const { fetch } = globalThis;
  let asked = 0;
  globalThis.fetch = async (_, { signal }) => {
    signal?.throwIfAborted();
    const status = statuses[asked++];
    const body = status === 200 ? "{\"answer\":{\"figures\":{}}}\n" : "no";
    return new Response(body, { status });
  };
  try {
    await act(new ServerEngine(2));
  } finally {
    globalThis.fetch = fetch;
  }
  return asked;
}

test("a run is asked for until the server has a place", async () => {
  const { signal } = new AbortController();
  const asked = await answered([503, 503, 200], async engine => {
    const { answer } = await engine.run({}, () => {}, signal);
    assert.ok(answer.figures);
  });
  assert.equal(asked, 3);
});

test("a run that was cancelled is not asked for again", async () => {
  const cancel = new AbortController();
  const statuses = { get 0() { cancel.abort(); return 503; } };
  const asked = await answered(statuses, engine =>
    assert.rejects(engine.run({}, () => {}, cancel.signal), { name: "AbortError" }));
  assert.equal(asked, 1);
});

test("another refusal ends a run", async () => {
  const asked = await answered([413], engine =>
    assert.rejects(engine.run({}, () => {}), /^Error: no$/));
  assert.equal(asked, 1);
});
