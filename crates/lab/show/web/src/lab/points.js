// Runs of all points of a sweep with several seeds each, and means over the seeds.

/** The most runs that a page makes at once. */
export const MOST_RUNS = 500;
/** Milliseconds between two means of the runs so far. */
const PAUSE = 2000;

/** The runs of a sweep: the first seed of each point, then the second, so that all points are
 * known early. */
export function jobsOf(points, seeds) {
  return Array.from({ length: seeds }, (_, k) =>
    points.map(({ seed, label }, point) => ({ point, seed: seed + k, label }))).flat();
}

/** Figures of runs as a request for means: by point and seed, with each name once. */
export function packed(found) {
  const indices = new Map();
  const indexOf = name => {
    if (!indices.has(name)) indices.set(name, indices.size);
    return indices.get(name);
  };
  const sorted = [...found].sort((a, b) => a.job.point - b.job.point || a.job.seed - b.job.seed);
  const runs = sorted.map(({ figures: { axes, seed, metrics } }) =>
    ({ axes, seed, metrics: metrics.map(([name, value]) => [indexOf(name), value]) }));
  return { names: [...indices.keys()], runs };
}

/** The runs of a sweep, some at the same time. */
export class Sweep {
  /** `request` is that of any of its runs; `show` gets the means of the runs so far. */
  constructor(engine, request, jobs, show) {
    Object.assign(this, { engine, request, jobs, show, found: [], shownAt: performance.now() });
    this.parts = jobs.map(() => 0);
  }

  /** Makes all runs. `progress` gets the finished fraction, and the number of finished runs. */
  async run(progress, signal) {
    const failed = new AbortController();
    const ended = AbortSignal.any([signal, failed.signal]);
    const left = [...this.jobs.entries()];
    const sum = () => this.parts.reduce((all, part) => all + part, 0) / this.jobs.length;
    const makeNext = async () => {
      for (let next = left.shift(); next; next = left.shift()) {
        const [place, job] = next;
        const report = part => {
          this.parts[place] = part;
          progress(sum(), this.found.length);
        };
        await this.make(job, report, ended);
        report(1);
        await this.showNow(false);
      }
    };
    const workers = Array.from({ length: Math.min(this.engine.atOnce, left.length) }, makeNext);
    try {
      await Promise.all(workers);
    } finally {
      // The others end if one failed.
      failed.abort();
      await Promise.allSettled(workers);
    }
  }

  async make(job, report, signal) {
    const { point, seed } = job;
    const request = { ...this.request, point, seed, only_figures: true };
    const { answer } = await this.engine.run(request, report, signal);
    if (answer.refused) throw new Error(answer.refused.text);
    this.found.push({ job, figures: answer.figures });
  }

  /** Shows the means of the runs so far, unless that was done a moment ago. */
  async showNow(isLast = true) {
    if (!isLast && (this.isShowing || performance.now() - this.shownAt < PAUSE)) return;
    this.isShowing = true;
    try {
      const { answer } = await this.engine.means(packed(this.found));
      if (answer.refused) throw new Error(answer.refused.text);
      this.show(answer.means, isLast);
    } finally {
      this.isShowing = false;
      this.shownAt = performance.now();
    }
  }
}
