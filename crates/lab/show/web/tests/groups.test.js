// The network in groups.

import assert from "node:assert/strict";
import test from "node:test";
import { groups, inWords, named } from "../src/lab/groups.js";

const node = (name, role, ...access_points) => ({ name, role, access_points });
const wire = (a, b, ...paces) => ({ ends: [a, b], paces: paces.length ? paces : ["1 Gbps, 0 s"] });
const flow = (name, from, to) => ({ name, from, to });

test("like stations are one group, left of their access point", () => {
  const found = groups({
    nodes: [node("ap", "access_point"), node("a1", "station", 0), node("a2", "station", 0),
      node("b", "station", 0), node("server", "host")],
    links: [wire(0, 4, "100 Mbps, 1 ms", "20 Mbps, 1 ms")],
    flows: [flow("up-a1", 1, 4), flow("up-a2", 2, 4), flow("down", 4, 3)],
  });
  const place = Object.fromEntries(found.groups.map(one => [one.name, [one.column, one.row]]));
  assert.deepEqual(place, { ap: [1, 0], "a1, a2": [0, 0], b: [0, 1], server: [2, 0] });
  assert.deepEqual(found.edges.map(({ kind, text }) => [kind, text]), [["radio", ""],
    ["radio", ""], ["wire", "100 Mbps, 1 ms / 20 Mbps, 1 ms"]]);
  const ids = Object.fromEntries(found.groups.map(one => [one.name, one.id]));
  assert.deepEqual(found.flows.map(({ count, way }) => [count, way]), [
    [2, [ids["a1, a2"], ids.ap, ids.server]], [1, [ids.server, ids.ap, ids.b]]]);
  assert.equal(inWords(found), "Access point ap, 2 stations (a1, a2), station b, host server. "
    + "2 flows up-a1, up-a2 from a1, a2 to server, flow down from server to b.");
});

test("hosts behind a station are left of it, and switches lie between", () => {
  const found = groups({
    nodes: [node("pc", "host"), node("bridge", "station", 2), node("ap", "access_point"),
      node("switch", "host"), node("server", "host")],
    links: [wire(0, 1), wire(2, 3), wire(3, 4)],
    flows: [flow("up", 0, 4)],
  });
  assert.deepEqual(found.groups.map(({ column }) => column), [0, 1, 2, 3, 4]);
  assert.equal(found.flows[0].way.length, 5);
});

test("stations of other names and access points are no group", () => {
  const found = groups({
    nodes: [node("ap1", "access_point"), node("ap2", "access_point"), node("slow", "station", 0, 1),
      node("fast", "station", 0, 1), node("server", "host")],
    links: [wire(0, 4), wire(1, 4)], flows: [],
  });
  assert.deepEqual(found.groups.map(({ count }) => count), [1, 1, 1, 1, 1]);
});

test("a station that roams has a link to each access point", () => {
  const found = groups({ nodes: [node("ap1", "access_point"), node("ap2", "access_point"),
    node("sta", "station", 0, 1)], links: [], flows: [flow("f", 2, 1)] });
  assert.deepEqual(found.edges.map(({ kind }) => kind), ["radio", "roams"]);
});

test("a network without a radio, without wires, or without flows is drawn", () => {
  const hosts = groups({ nodes: [node("a", "host"), node("b", "host")], links: [wire(0, 1)],
    flows: [flow("f", 1, 0)] });
  assert.deepEqual(hosts.groups.map(({ column }) => column), [1, 0]);
  const alone = groups({ nodes: [node("a", "host"), node("b", "host")], links: [],
    flows: [flow("f", 0, 1)] });
  assert.equal(alone.flows[0].way.length, 2);
  assert.equal(groups({ nodes: [node("a", "host")], links: [], flows: [] }).columns, 1);
});

test("many names become the first and the last", () => {
  assert.equal(named(["a", "b", "c"]), "a, b, c");
  assert.equal(named(["a", "b", "c", "d"]), "a … d");
});
