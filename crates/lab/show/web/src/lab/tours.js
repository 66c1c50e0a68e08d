// Tours: an experiment of each paper with sliders. Each change makes a short run and redraws its
// figure.

import { h, sheet } from "../dom.js";
import { number } from "../format.js";
import { Run } from "../run.js";
import { PAPERS } from "./papers.js";
import { tablesOf } from "./results.js";

/** Begins a tour when it comes into the window. */
const watcher = new IntersectionObserver(entries => {
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting) continue;
    watcher.unobserve(target);
    target.tour.run();
  }
}, { rootMargin: "100px" });

/** Fills `place` with the tours. `open` shows the run of a tour in the form above. */
export function showTours(place, engine, data, open) {
  place.append(h("h2", null, "Five papers, to try"), h("p", null, "Each tour repeats an "
    + "experiment of a paper in a quick form: one seed, and less time than the paper's. The "
    + "verdicts come from the study's full runs over the conditions that its paper leaves open, so "
    + "that a tour can differ from its paper. Jain's index is 1 where all flows get the same, and "
    + "one over their number where one gets all."));
  for (const paper of PAPERS) {
    const tour = new Tour(paper, engine, data, open);
    place.append(tour.element);
    watcher.observe(tour.element);
  }
}

/** One paper's experiment. */
class Tour {
  constructor(paper, engine, data, open) {
    Object.assign(this, { paper, engine, text: data.studies[paper.file] });
    this.chosen = paper.sliders.map(({ first }) => first);
    this.figure = h("div", { class: "figure" });
    this.said = h("p", { class: "note", role: "status" });
    const show = h("button", { type: "button", click: () => {
      open(this.request());
      document.querySelector(".bench select").focus();
    } }, "Open as a scenario");
    this.element = h("article", { class: "tour", "aria-label": paper.title, id: paper.study },
      h("div", { class: "wide-part" }, h("h3", null, paper.title),
        h("p", { class: "facts" }, paper.source),
        h("p", null, h("strong", null, "The paper: "), paper.says),
        h("p", null, h("strong", null, "Our study: "), found(data.claims[paper.study]))),
      h("div", { class: "sliders" }, paper.sliders.map((slider, i) => this.slider(slider, i)),
        h("p", { class: "note" }, paper.look), h("div", null, show), this.said),
      this.figure, h("div", { class: "wide-part" }, verdicts(data.claims[paper.study], paper)));
    this.element.tour = this;
  }

  slider({ label, steps, first }, i) {
    const shown = h("output", null, steps[first].name);
    const input = ({ target }) => {
      this.chosen[i] = Number(target.value);
      shown.textContent = steps[this.chosen[i]].name;
      target.setAttribute("aria-valuetext", shown.textContent);
      this.run();
    };
    return h("label", null, `${label}: `, shown, h("input", { type: "range", min: 0,
      max: steps.length - 1, step: 1, value: first, "aria-valuetext": steps[first].name, input }));
  }

  request() {
    const chosen = this.paper.sliders.flatMap(({ steps }, i) => steps[this.chosen[i]].settings);
    return { file: this.paper.file, text: this.text, settings: [...this.paper.quick, ...chosen],
      seed: 1, point: 0 };
  }

  /** Makes the run of the sliders, in place of one that is under way. */
  async run() {
    this.cancel?.abort();
    const cancel = this.cancel = new AbortController();
    this.element.setAttribute("aria-busy", true);
    const begun = performance.now();
    try {
      const { answer, files } = await this.engine.run(this.request(), () => {}, cancel.signal);
      if (cancel.signal.aborted) return;
      if (answer.refused) throw new Error(answer.refused.text);
      await this.draw(answer.run, files);
      const { seconds } = answer.run.page.content.runs[0];
      const took = (performance.now() - begun) / 1e3;
      this.said.textContent = `${seconds} s simulated and drawn in ${took.toFixed(2)} s.`;
    } catch (error) {
      if (error.name === "AbortError") return;
      this.said.textContent = `Not shown: ${error.message}`;
    }
    this.element.setAttribute("aria-busy", false);
  }

  async draw(answer, files) {
    const { page } = answer;
    const run = new Run(tablesOf(answer, files), 0, page.content.runs[0].seconds);
    const { table, column, title, unit, of } = this.paper.figure;
    const series = run.has(table, column) ? await run.series(table, column) : [];
    const chosen = this.paper.sliders.map(({ steps }, i) => steps[this.chosen[i]]);
    const shown = series.filter(({ name }) => !of || of.test(name));
    const chart = run.chart({ title, unit, series: shown, hidden: run.hiddenOf(table) });
    this.before?.close();
    this.before = run;
    const { flows } = JSON.parse(new TextDecoder().decode(
      files.find(({ name }) => name === "summary.json").bytes));
    const { isTransfer } = this.paper;
    const rows = isTransfer ? flows.map(({ name, completed_ns: at }) => [name, at ? at / 1e9 : null])
      : page.content.sheets[0].rows.map(([flow, mbps]) => [flow, Number(mbps)]);
    const words = this.paper.answer?.({ flows, series, chosen }) ?? page.answer[0];
    this.figure.replaceChildren(h("p", { class: "answer" }, words), chart,
      this.bars(rows, isTransfer ? "seconds to the end" : "Mbps"));
    this.values = new Map(rows);
  }

  /** The value of each flow, with that before the last change. */
  bars(rows, unit) {
    const before = flow => this.values?.get(flow) ?? null;
    const most = Math.max(...rows.flatMap(([flow, value]) => [value, before(flow)]), 1e-9);
    const cells = rows.map(([flow, value]) => [flow, h("span", { class: "bar",
      "aria-hidden": "true" }, h("span", { style: `width:${100 * value / most}%` })),
    number(value), number(before(flow))]);
    return sheet(`Each flow, before and after the change: ${this.paper.title}`,
      ["flow", "share of the largest", unit, "before the change"], cells);
  }
}

/** The verdicts of the study in a sentence. */
function found(claims) {
  const words = [["robust", "in nearly all set-ups"], ["conditional", "in some set-ups"],
    ["nowhere", "in none"]];
  const counts = words.map(([verdict, where]) =>
    [claims.filter(one => one.verdict === verdict).length, where]);
  const parts = counts.filter(([count]) => count > 0).map(([count, where]) =>
    `${count} ${count === 1 ? "holds" : "hold"} ${where}`);
  const left = claims.length - counts.reduce((sum, [count]) => sum + count, 0);
  if (left > 0) parts.push(`${left} cannot be judged`);
  return `of the paper's ${claims.length} claims ${parts.join(", ")}.`;
}

/** The verdicts of the study on the claims of the paper. */
function verdicts(claims, { study }) {
  const rows = claims.map(({ id, statement, verdict, setups, where }) =>
    [id, h("span", { class: "claim" }, statement), verdict, setups,
      h("span", { class: "claim" }, where)]);
  return h("details", null, h("summary", null, "The paper's claims, and where they hold"),
    sheet(`Verdicts of the study ${study}`,
      ["claim", "the paper says", "verdict", "set-ups", "where"], rows));
}
