// What can be written at the caret in the text of a scenario, from the description of its keys.

import { unquoted } from "./keys.js";
import { nodes, place } from "./toml.js";

/** Tables that come several times. */
const LISTS = new Set(["node", "link", "flow", "program", "sweep.variant"]);
/** Keys whose values are names of nodes, by their tables. */
const ENDS = { flow: ["from", "to"], link: ["ends"] };
/** Candidates that are offered. */
export const MOST = 200;

/** A text in TOML without the comment behind it. */
function bare(value) {
  return unquoted(/^"[^"]*"|^'[^']*'|^[^#]*/.exec(value)[0].trim().replaceAll("'", "\""));
}

/** The keys that tell sorts of a table apart, with the words that they take: `kind` of a node. */
function tags(known, table) {
  const found = new Map();
  for (const { conditions } of known.filter(key => key.table === table)) {
    for (const condition of conditions) {
      const [, key, word] = /^(\S+) = "(.*)"$/.exec(condition) ?? [];
      if (!key || known.some(one => one.key === `${table}.${key}`)) continue;
      if (!found.has(key)) found.set(key, new Set());
      found.get(key).add(word);
    }
  }
  return [...found].map(([name, words]) => ({ name, words: [...words], conditions: [],
    about: `Its sort: ${[...words].join(", ")}.`, isRequired: true }));
}

/** The keys of a table that go with those that are written in it. */
function keysOf(known, table, written) {
  const own = known.filter(key => key.table === table)
    .map(key => ({ ...key, name: key.key.split(".").at(-1) }));
  const all = [...tags(known, table), ...own];
  const fits = condition => {
    const [, other, wanted] = /^(\S+) = (.*)$/.exec(condition);
    if (wanted === "...") return true;
    if (other in written) return bare(written[other]) === unquoted(wanted);
    const usual = own.find(({ name }) => name === other)?.default;
    return !usual || unquoted(usual) === unquoted(wanted);
  };
  const found = new Map();
  for (const key of all) {
    if (key.conditions.every(fits) && !found.has(key.name)) found.set(key.name, key);
  }
  return found;
}

/** Headers of tables: those of the top level, and those of tables in the last one. */
function headers(known) {
  const tables = [...new Set(known.map(({ table }) => table))].filter(Boolean);
  const all = [...tables, "sweep.variant"].filter(table =>
    table.split(".").length === 1 || table === "sweep.variant");
  return [...new Set(all)].map(table => {
    const insert = LISTS.has(table) ? `[[${table}]]` : `[${table}]`;
    const about = known.find(({ table: of, key }) => of === "" && key === table)?.about ?? "";
    return { label: insert, insert, about };
  });
}

/** The values of a key that are worth an offer: words, names, its default, its example. */
function valuesOf(key, table, text) {
  const quoted = value => JSON.stringify(value);
  const names = ENDS[table]?.includes(key.name) ? nodes(text) : [];
  const example = key.example?.replace(/^[\w.-]+ = /, "");
  const all = [...names.map(quoted), ...(key.words ?? []).map(quoted), key.default, example];
  const truths = ["true", "false"].includes(key.default) ? ["true", "false"] : [];
  return [...new Set([...all, ...truths].filter(Boolean))].map(insert => ({ label: insert, insert,
    about: insert === key.default ? "The default." : "" }));
}

/**
 * The candidates at the caret, and the bounds of the text that they replace; null where nothing is
 * known. Those that begin with the word there come first, then those that have it inside.
 */
export function candidates(known, text, at) {
  const found = place(text, at);
  if (!found) return null;
  const { kind, table, from, to, word } = found;
  let all = [];
  let about = "";
  if (kind === "header") all = headers(known);
  else if (kind === "key") {
    all = [...keysOf(known, table, found.keys).values()].filter(({ name }) => !(name in found.keys))
      .map(key => ({ label: key.name, about: key.about,
        insert: found.isWritten ? key.name : `${key.name} = ` }));
  } else {
    const key = keysOf(known, table, found.keys).get(found.key);
    if (!key) return null;
    about = key.about;
    all = valuesOf(key, table, text);
  }
  const plain = one => one.replace(/["'[\]]/g, "").toLowerCase();
  const wanted = plain(word);
  const starts = all.filter(({ label }) => plain(label).startsWith(wanted));
  const inside = all.filter(({ label }) =>
    !plain(label).startsWith(wanted) && plain(label).includes(wanted));
  return { from, to, about, items: [...starts, ...inside].slice(0, MOST) };
}
