// A sweep or a study: means over its axes, and one of its runs closely.

import { choice, groupedChoice, h, sheet } from "./dom.js";
import { interval, meansChart, meansTable, over } from "./means.js";
import { figuresOf, wordsOf } from "./metrics.js";
import { Run, showRun } from "./run.js";

/** Figures that a page begins with, the first that there is. */
const USUAL = ["goodput_mbps", "jain", "drops"].map(wordsOf);
/** The figures of a point that stand beside its run. */
const BESIDE = 12;

/** Fills `place` with the sweeps of a directory, one at a time. */
export async function showSweep(place, { groups, runs }, tablesOf) {
  const body = h("div");
  let means = null;
  let closely = null;
  const show = index => {
    means?.chart?.close();
    closely?.close();
    means = new Means();
    means.show(groups[index].points);
    const section = h("section", null);
    body.replaceChildren(h("h2", null, "Means over seeds"), means.element, section);
    const own = runs.filter(run => run.group === index);
    closely = own.length ? showRuns(section, groups[index].points, own, tablesOf) : null;
    return closely?.isShown;
  };
  place.replaceChildren(body);
  if (groups.length > 1) {
    const names = groups.map((group, i) => group.name || `sweep ${i + 1}`);
    const choose = name => show(names.indexOf(name));
    place.prepend(h("p", { class: "choices" }, choice("Sweep:", names, names[0], choose)));
  }
  await show(0);
}

/** A figure of all points, which the reader chooses, as a graph and as a table. */
export class Means {
  /** `usual` has the labels of figures to begin with, the first that there is. */
  constructor(usual = USUAL) {
    this.usual = usual;
    this.choices = h("p", { class: "choices" });
    this.body = h("div", { class: "beside" });
    this.element = h("section", null, this.choices, this.body);
  }

  /** Shows points, also in place of earlier ones of the same sweep: choices stay. */
  show(points) {
    this.points = points;
    const names = [...new Set(points.flatMap(point => Object.keys(point.metrics)))];
    const axes = Object.keys(points[0].axes);
    const form = JSON.stringify([names, axes]);
    if (form !== this.form) this.offer(figuresOf(names), axes);
    this.form = form;
    this.draw();
  }

  offer(figures, axes) {
    const has = label => figures.some(figure => figure.label === label);
    const first = [this.figure?.label, ...this.usual].find(has) ?? figures[0].label;
    const byLabel = label => { this.figure = figures.find(one => one.label === label); };
    byLabel(first);
    if (!axes.includes(this.axis)) [this.axis] = axes;
    const choices = [groupedChoice("Figure:", figures, first, label => {
      byLabel(label);
      this.draw();
    })];
    if (axes.length > 1) {
      choices.push(choice("Over:", axes, this.axis, name => { this.axis = name; this.draw(); }));
    }
    this.choices.replaceChildren(...choices);
  }

  draw() {
    this.chart?.close();
    const { points, axis, figure } = this;
    this.chart = axis ? meansChart(over(points, axis, figure), axis, figure.label) : null;
    const isWide = figure.parts.length > 2;
    this.body.className = isWide ? "below" : "beside";
    this.body.replaceChildren(...this.chart ? [this.chart] : [], meansTable(points, figure));
  }
}

/** Choices of a run by its axes and seed, and that run. Returns `close`, which ends the shown run,
 * and the promise `isShown` of the first one. */
function showRuns(place, points, runs, tablesOf) {
  const keys = [...new Set(runs.flatMap(run => Object.keys(run.axes))), "seed"];
  const value = (run, key) => (key === "seed" ? run.seed : run.axes[key] ?? "–");
  let chosen = runs[0];
  let shown = null;
  const beside = h("div");
  const body = h("div");
  const show = () => {
    shown?.close();
    shown = new Run(tablesOf(chosen), 0, chosen.seconds);
    beside.replaceChildren(pointOf(points, chosen));
    return showRun(body, shown);
  };
  // The run with this value that agrees with the shown one in most of the others.
  const pick = (key, text) => {
    const fitting = runs.filter(run => value(run, key) === text);
    const agree = run => keys.filter(one => value(run, one) === value(chosen, one)).length;
    chosen = fitting.reduce((best, run) => (agree(run) > agree(best) ? run : best));
    labels.forEach((label, i) => { label.lastElementChild.value = value(chosen, keys[i]); });
    return show();
  };
  const labels = keys.map(key => choice(`${key}:`, [...new Set(runs.map(run => value(run, key)))],
    value(chosen, key), text => pick(key, text)));
  place.append(h("h2", null, "One run in detail"), h("p", { class: "choices" }, labels), beside,
    body);
  return { isShown: show(), close: () => shown.close() };
}

/** The means of the point of a run, as a table. */
function pointOf(points, run) {
  const text = axes => JSON.stringify(Object.entries(axes).sort());
  const point = points.find(one => text(one.axes) === text(run.axes));
  if (!point) return "";
  const all = Object.entries(point.metrics);
  const row = ([name, metric]) => [name, interval(metric), String(metric.n)];
  const rows = all.slice(0, BESIDE).map(row);
  const left = all.length - rows.length;
  const caption = "Means over the seeds of this point, with 95 % intervals";
  const note = left > 0 ? `${left} more figures: choose them above.` : "";
  return sheet(caption, ["figure", "mean", "runs"], rows, note);
}
