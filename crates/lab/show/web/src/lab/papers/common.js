// Helpers of the tours' descriptions: sliders, figures and means.
//
// A paper has experiments. An experiment has a name, the text of the paper (`says`), a hint
// (`look`), a study's scenario (`file`), settings that make its run short (`quick`), sliders and a
// figure. `claims` has the positions of the sliders that show a claim, by the claim's id. A step of
// a slider may replace the file. `answer` makes a sentence from a run, `table` the rows below the
// figure with their head and unit. Both get `flows` of the summary, the series of the figure, the
// chosen steps, and `read` for the series of other columns.

import { number } from "../../format.js";

/** A slider over values of one key. */
export function values(label, key, steps, first) {
  return { label, first, steps: steps.map(value =>
    ({ name: String(value), settings: [`${key}=${JSON.stringify(value)}`] })) };
}

/** A slider over names, each with its settings. */
export function named(label, steps, first) {
  return { label, first, steps: steps.map(([name, ...settings]) => ({ name, settings })) };
}

export const packets = counts => counts.map(count => `${count} packets`);
export const rates = { table: "flows", column: "goodput_bps", title: "Goodput", unit: "Mbps" };
export const windows = { table: "flows", column: "cwnd_bytes", title: "Congestion window",
  unit: "kB" };

export const sum = numbers => numbers.reduce((all, one) => all + one, 0);
export const mean = numbers => sum(numbers) / numbers.length;

/** The standard deviation as a share of the mean. */
export function variation(numbers) {
  const middle = mean(numbers);
  return Math.sqrt(mean(numbers.map(one => (one - middle) ** 2))) / middle;
}

/** Jain's index. */
export const jain = numbers =>
  sum(numbers) ** 2 / (numbers.length * sum(numbers.map(one => one ** 2)));

/** The values of a series within a span of time. */
export function within({ xs, ys }, from, to) {
  return Array.from(ys).filter((y, i) => xs[i] > from && xs[i] <= to && !Number.isNaN(y));
}

/** Their mean. */
export const over = (series, from, to) => mean(within(series, from, to));

/** A number with three digits, as a sentence has it. */
export const short = value =>
  (Number.isFinite(value) ? number(Number(value.toPrecision(3))) : "no value");

export const percent = part => `${short(100 * part)} %`;

/** Goodput of a flow in Mbps. */
export const mbps = ({ goodput_bps: bps }) => bps / 1e6;

/** A transfer's end in a sentence. */
export function arrival({ completed_ns: at }, size, limit) {
  return at ? `The ${size} arrive after ${short(at / 1e9)} s`
    : `The ${size} do not arrive within ${limit} s`;
}

/** Rows of transfers: the second in which each is complete. */
export const arrivals = { unit: "seconds to the end", rows: ({ flows }) =>
  flows.map(({ name, completed_ns: at }) => [name, at ? at / 1e9 : null]) };
