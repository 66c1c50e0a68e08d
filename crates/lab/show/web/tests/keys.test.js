// Keys that a setting can change.

import assert from "node:assert/strict";
import test from "node:test";
import { settable } from "../src/lab/keys.js";

const known = [
  { table: "", key: "duration", conditions: [], default: null },
  { table: "tcp", key: "tcp.mss", conditions: [], default: "\"1460 B\"" },
  { table: "cell", key: "cell.standard", conditions: [], default: null },
  { table: "node", key: "node.name", conditions: [], default: null },
  { table: "node", key: "node.count", conditions: ["kind = \"station\""], default: "1" },
  { table: "node", key: "node.queue", conditions: ["kind = \"station\""], default: "\"50 packets\"" },
  { table: "flow", key: "flow.transport", conditions: [], default: "\"tcp\"", words: ["tcp", "udp"] },
  { table: "flow", key: "flow.size", conditions: ["transport = \"tcp\""], default: "\"unlimited\"" },
  { table: "flow", key: "flow.rate", conditions: ["transport = \"udp\""], default: null },
  { table: "flow", key: "flow.pace", conditions: ["rate = ..."], default: null },
];
const written = {
  duration: "10 s",
  cell: { standard: "802.11g" },
  node: [{ name: "ap", kind: "access-point" }, { name: "sta", kind: "station", count: 4 }],
  flow: [{ name: "up" }, { name: "call", transport: "udp", rate: "1 Mbps" }],
};

test("keys are named by their tables, and have the value that is written or the default", () => {
  const found = [...settable(known, written).values()].map(({ address, value }) => [address, value]);
  assert.deepEqual(found, [
    ["duration", "10 s"], ["tcp.mss", "1460 B"], ["cell.standard", "802.11g"],
    ["node.sta.count", "4"], ["node.sta.queue", "50 packets"],
    ["flow.up.transport", "tcp"], ["flow.call.transport", "udp"],
    ["flow.up.size", "unlimited"], ["flow.call.rate", "1 Mbps"], ["flow.call.pace", ""],
  ]);
});

test("a link without a name is named by its ends", () => {
  const keys = [{ table: "link", key: "link.delay", conditions: [], default: "\"1 ms\"" }];
  const link = [{ ends: ["a*", "b"] }, { ends: ["b", "c"], delay: "2 ms" },
    { name: "wan", ends: ["c", "d"] }];
  const found = Array.from(settable(keys, { link }).values());
  assert.deepEqual(found.map(({ address, value }) => [address, value]),
    [["link.a-b.delay", "1 ms"], ["link.b-c.delay", "2 ms"], ["link.wan.delay", "1 ms"]]);
});

test("a scenario without tables has the keys of the top level", () => {
  assert.deepEqual([...settable(known, {}).keys()],
    ["duration", "tcp.mss", "cell.standard", "flow.transport", "flow.size"]);
});
