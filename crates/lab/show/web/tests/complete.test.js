// Completion in the text of a scenario: the caret is the bar.

import assert from "node:assert/strict";
import test from "node:test";
import { candidates } from "../src/lab/complete.js";

const of = (key, more = {}) => ({ table: key.split(".").slice(0, -1).join("."), key, about: key,
  conditions: [], words: [], default: null, example: null, ...more });
const known = [
  of("duration", { default: "\"60 s\"", example: "duration = \"60 s\"" }),
  of("cell", { about: "One radio channel." }), of("node", { about: "Nodes." }), of("flow"),
  of("cell.standard", { words: ["802.11a", "802.11n"], example: "standard = \"802.11n\"" }),
  of("cell.edca", { default: "false" }),
  of("node.name"),
  of("node.queue", { conditions: ["kind = \"access-point\""], default: "\"100 packets\"" }),
  of("node.count", { conditions: ["kind = \"station\""], default: "1" }),
  of("node.queue.limit", { conditions: ["discipline = \"red\""] }),
  of("node.queue.quantum", { conditions: ["discipline = \"fq-codel\""] }),
  of("flow.from"), of("flow.transport", { default: "\"tcp\"", words: ["tcp", "udp"] }),
  of("flow.mss", { conditions: ["transport = \"tcp\""] }),
  of("flow.rate", { conditions: ["transport = \"udp\""] }),
];

/** What is offered at the bar, and the text that the first candidate leaves. */
function at(marked) {
  const caret = marked.indexOf("|");
  const text = marked.replace("|", "");
  const found = candidates(known, text, caret);
  if (!found) return { labels: null };
  const [first] = found.items;
  return { labels: found.items.map(({ label }) => label),
    text: first && text.slice(0, found.from) + first.insert + text.slice(found.to) };
}

test("headers of tables are completed, those of lists in two brackets", () => {
  assert.deepEqual(at("[|").labels, ["[cell]", "[[node]]", "[[flow]]", "[[sweep.variant]]"]);
  assert.equal(at("duration = \"9 s\"\n[[no|]]\nname = \"a\"\n").text,
    "duration = \"9 s\"\n[[node]]\nname = \"a\"\n");
  assert.deepEqual(at("[ce|").labels, ["[cell]"]);
});

test("keys are those of the table that are not written yet", () => {
  assert.deepEqual(at("|\n[cell]\n").labels, ["duration", "cell", "node", "flow"]);
  assert.deepEqual(at("[cell]\nstandard = \"802.11a\"\n|\n").labels, ["edca"]);
  assert.equal(at("[cell]\nst|\n").text, "[cell]\nstandard = \n");
  assert.equal(at("[cell]\nst| = \"802.11a\"\n").text, "[cell]\nstandard = \"802.11a\"\n");
  assert.deepEqual(at("cell.st|").labels, ["standard"]);
  assert.deepEqual(at("[nothing]\n|").labels, []);
});

test("keys go with the sort that is written, before or after the caret", () => {
  assert.deepEqual(at("[[node]]\n|\nkind = \"station\"\n").labels, ["name", "count"]);
  assert.deepEqual(at("[[node]]\nkind = \"access-point\" # here\n|").labels, ["name", "queue"]);
  assert.deepEqual(at("[[node]]\n|").labels, ["kind", "name", "queue", "count"]);
  assert.deepEqual(at("[[flow]]\n|").labels, ["from", "transport", "mss"]);
  assert.deepEqual(at("[[flow]]\ntransport = \"udp\"\n|").labels, ["from", "rate"]);
  // The block before has other keys.
  assert.deepEqual(at("[[flow]]\ntransport = \"udp\"\n[[flow]]\n|").labels,
    ["from", "transport", "mss"]);
});

test("values are words, names of nodes, defaults and examples", () => {
  assert.deepEqual(at("[cell]\nstandard = |").labels, ["\"802.11a\"", "\"802.11n\""]);
  assert.equal(at("[cell]\nstandard = \"802.11n|\"\n").text, "[cell]\nstandard = \"802.11n\"\n");
  assert.equal(at("[cell]\nstandard = \"n|").text, "[cell]\nstandard = \"802.11n\"");
  assert.deepEqual(at("[cell]\nedca = |").labels, ["false", "true"]);
  assert.deepEqual(at("[[node]]\nkind = |").labels, ["\"access-point\"", "\"station\""]);
  assert.deepEqual(at("duration = |").labels, ["\"60 s\""]);
  const nodes = "[[node]]\nname = \"ap\"\n[[node]]\nname = \"sta\"\ncount = 2\n";
  assert.deepEqual(at(`${nodes}[[flow]]\nfrom = "|"\n`).labels, ["\"ap\"", "\"sta*\""]);
  assert.deepEqual(at("nothing = |").labels, null);
});

test("an inline table has keys and values of its own", () => {
  const node = "[[node]]\nkind = \"access-point\"\n";
  assert.deepEqual(at(`${node}queue = { | }\n`).labels, ["discipline", "limit", "quantum"]);
  assert.deepEqual(at(`${node}queue = { discipline = "red", | }\n`).labels, ["limit"]);
  assert.deepEqual(at(`${node}queue = { |, discipline = "red" }\n`).labels, ["limit"]);
  assert.equal(at(`${node}queue = { discipline = "f|" }\n`).text,
    `${node}queue = { discipline = "fq-codel" }\n`);
});

test("nothing is offered in a comment", () => {
  assert.equal(at("# a |").labels, null);
  assert.equal(at("duration = \"1 s\" # |").labels, null);
  assert.deepEqual(at("# a = [\n|\n[cell]\n").labels, ["duration", "cell", "node", "flow"]);
});
