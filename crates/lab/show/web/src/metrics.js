// Figures of runs to choose from: those of a whole run, one of all flows (stations, pairs, queues)
// side by side, and those of each.

import { unitOf } from "./format.js";

/** Kinds of parts of a run, as the names of figures begin with them. */
const KINDS = ["flow", "station", "pair", "queue"];
/** Names that are no words. */
const WORDS = { jain: "Jain's index" };

/** A figure's name in words, with its unit. */
export function wordsOf(name) {
  const { words, unit } = unitOf(name);
  return WORDS[name] ?? (unit ? `${words} (${unit})` : words);
}

/** The kind, part and figure of a name such as `flow.up.delay_p99_ms`; null for a whole run. */
function partOf(name) {
  const [, kind, part, figure] = /^(\w+)\.(.+)\.(\w+)$/.exec(name) ?? [];
  return KINDS.includes(kind) ? { kind, part, figure } : null;
}

/**
 * The figures that can be chosen. Each has its group, its label, and the names that it draws, with
 * that of the part where there are several.
 */
export function figuresOf(names) {
  const whole = [];
  const each = new Map();
  const single = [];
  for (const name of names) {
    const found = partOf(name);
    if (!found) {
      whole.push({ group: "All together", label: wordsOf(name), parts: [{ name, part: "" }] });
      continue;
    }
    const { kind, part, figure } = found;
    const label = `each ${kind}: ${wordsOf(figure)}`;
    if (!each.has(label)) each.set(label, { group: `Each ${kind}`, label, parts: [] });
    each.get(label).parts.push({ name, part });
    single.push({ group: `One ${kind}`, label: `${kind} ${part}: ${wordsOf(figure)}`,
      parts: [{ name, part: "" }] });
  }
  const several = [...each.values()].filter(({ parts }) => parts.length > 1);
  return [...whole, ...several, ...single];
}
