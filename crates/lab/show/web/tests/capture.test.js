// The page of a capture that the test of the crate wrote: its content, and its table of intervals.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { Table } from "../src/parquet.js";

const { CAPTURE } = process.env;
const skip = CAPTURE ? false : "it needs the capture that `cargo test -p fairwave-show` writes";
// The modules watch which graphs are on the screen, and here is none.
globalThis.IntersectionObserver = class {};
globalThis.addEventListener = () => {};

test("times of a capture begin with its first packet", { skip }, async () => {
  const { runOf } = await import("../src/capture.js");
  const content = JSON.parse(readFileSync(`${CAPTURE}/content.json`)).runs[0];
  const intervals = new Table(new Uint8Array(readFileSync(`${CAPTURE}/intervals.parquet`)));
  const groups = await runOf(content, { intervals }).groups("intervals");
  const firsts = groups.map(({ name, times }) => [name, Math.min(...times)]);
  assert.deepEqual(Object.fromEntries(firsts), { "udp 0 a": 0, "tcp 0 a": 10 });
  assert.ok(content.seconds >= 20, `${content.seconds}`);
});
