// Quantiles of delays, from the counts of their bins.

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

/** The sum of a series over a range: of amounts of intervals that end in it. */
export function sumOver(series, from, to) {
  let sum = 0;
  series.xs.forEach((x, i) => {
    if (x > from && x <= to && !Number.isNaN(series.ys[i])) sum += series.ys[i];
  });
  return sum;
}

/** The growth of a counter over a range, from the last value at or before its begin, 0 before the
 * first. */
export function growthOver(series, from, to) {
  const at = time => {
    let value = 0;
    for (let i = 0; i < series.xs.length && series.xs[i] <= time; i++) {
      if (!Number.isNaN(series.ys[i])) value = series.ys[i];
    }
    return value;
  };
  return at(to) - (from <= series.xs[0] ? 0 : at(from));
}
