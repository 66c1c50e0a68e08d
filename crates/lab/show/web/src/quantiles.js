// Quantiles of delays, from the counts of their bins; sums and growth over a range of time.

import { lowerBound } from "./thin.js";

/** The bins of each name, sorted: the upper ends, and how many values lie at or below each. */
export function cumulative({ names, codes }, upper, counts) {
  const all = names.map(() => []);
  codes.forEach((code, row) => all[code].push([upper[row], counts[row]]));
  const found = [];
  names.forEach((name, code) => {
    if (name === null || all[code].length === 0) return;
    const bins = all[code].sort((a, b) => a[0] - b[0]);
    let total = 0;
    const sums = bins.map(([, count]) => (total += count));
    found.push({ name, upper: bins.map(bin => bin[0]), sums, total });
  });
  return found;
}

/** The upper end of the bin that holds the quantile `q`. */
export function quantile({ upper, sums, total }, q) {
  const rank = Math.max(1, Math.ceil(q * total));
  return upper[sums.findIndex(sum => sum >= rank)];
}

/** The sum of a series over a range: of amounts of intervals that end in it. Sums up to each point
 * are kept with the series, as a range changes with each frame. */
export function sumOver(series, from, to) {
  series.sums ??= sumsOf(series.ys);
  const { xs, sums } = series;
  return sums[behind(xs, to)] - sums[behind(xs, from)];
}

function sumsOf(values) {
  const sums = new Float64Array(values.length + 1);
  values.forEach((value, i) => { sums[i + 1] = sums[i] + (Number.isNaN(value) ? 0 : value); });
  return sums;
}

/** The growth of a counter over a range, from the last value at or before its begin, 0 before the
 * first. */
export function growthOver({ xs, ys }, from, to) {
  const at = time => {
    let i = behind(xs, time) - 1;
    while (i >= 0 && Number.isNaN(ys[i])) i--;
    return i < 0 ? 0 : ys[i];
  };
  return at(to) - (from <= xs[0] ? 0 : at(from));
}

/** The number of times at or before `x`. */
function behind(xs, x) {
  let at = lowerBound(xs, x);
  while (at < xs.length && xs[at] === x) at++;
  return at;
}
