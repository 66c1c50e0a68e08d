// Two sets of runs: what differs by more than chance.

import { choice, h, sheet } from "./dom.js";
import { number } from "./format.js";
import { interval } from "./means.js";

/** Whether a difference is larger than chance explains, in a word. */
export function verdict({ p_holm: p }) {
  if (p === null || p === undefined) return "not tested";
  return p < 0.05 ? "differs" : "no difference shown";
}

/** The difference as a share of the first mean, in per cent; null where that is zero. */
export function relative({ first, difference }) {
  return first.mean === 0 ? null : 100 * difference.mean / Math.abs(first.mean);
}

/** Fills `place` with the differences, those that are significant first. */
export function showComparison(place, { comparisons }) {
  const points = [...new Set(comparisons.map(one => one.point))];
  const body = h("div");
  const all = "all points";
  const show = point => {
    const rows = comparisons.filter(one => point === all || one.point === point);
    const rank = one => ["differs", "no difference shown", "not tested"]
      .indexOf(verdict(one.difference));
    rows.sort((a, b) => rank(a) - rank(b));
    body.replaceChildren(table(rows));
  };
  const choices = points.length > 1
    ? [h("p", { class: "choices" }, choice("Point:", [all, ...points], all, show))] : [];
  place.replaceChildren(...choices, body);
  show(all);
}

function table(rows) {
  const widest = Math.max(...rows.map(one => reach(one)), 1e-9);
  const cells = rows.map(one => {
    const { difference } = one;
    const share = relative(one);
    const name = one.point ? `${one.point}: ${one.metric}` : one.metric;
    const word = verdict(difference);
    const mark = h("span", { class: word === "differs" ? "mark differs" : "mark" }, word);
    return [name, mean(one.first, one.runs[0]), mean(one.second, one.runs[1]), interval(difference),
      share === null ? "–" : `${share > 0 ? "+" : ""}${number(share)} %`, bracket(one, widest),
      difference.p_holm === null ? "–" : number(difference.p_holm), mark];
  });
  const heads = ["figure", "first", "second", "second less first", "relative",
    "interval around zero", "p (Holm)", "verdict"];
  return sheet("Differences of means with 95 % intervals, those beyond chance first", heads, cells);
}

/** A mean with its interval, and the number of runs that have it where these are not all. */
function mean(of, runs) {
  return of.n < runs ? `${interval(of)} (${of.n} of ${runs})` : interval(of);
}

/** The far end of an interval, as a share of the first mean. */
function reach({ first, difference }) {
  const far = Math.abs(difference.mean) + (difference.half_width ?? 0);
  return first.mean === 0 ? 0 : Math.min(far / Math.abs(first.mean), 2);
}

/** A drawing of the interval of a difference: where it leaves out the line at zero, it is
 * significant before Holm's correction. */
function bracket({ first, difference }, widest) {
  if (first.mean === 0) return "";
  const at = value => 50 + 48 * Math.max(-1, Math.min(1, value / Math.abs(first.mean) / widest));
  const half = difference.half_width ?? 0;
  const [from, to] = [at(difference.mean - half), at(difference.mean + half)];
  return h("span", { class: "bracket", "aria-hidden": "true" },
    h("span", { class: "span", style: `left:${from}%;width:${Math.max(to - from, 0.5)}%` }),
    h("span", { class: "dot", style: `left:${at(difference.mean)}%` }));
}
