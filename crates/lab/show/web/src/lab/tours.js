// Tours: experiments of each paper with sliders. Each change makes a short run and redraws its
// figure.

import { choice, h, sheet } from "../dom.js";
import { number } from "../format.js";
import { Run } from "../run.js";
import { PAPERS } from "./papers/index.js";
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
  place.append(h("h2", null, "Five papers, to try"), h("p", null, "Each tour repeats "
    + "experiments of a paper in a quick form: one seed, and less time than the paper's. The "
    + "verdicts come from the study's full runs over the conditions that its paper leaves open, so "
    + "that a tour can differ from its paper. The buttons in the table of claims choose the "
    + "experiment of a claim. Jain's index is 1 where all flows get the same, and "
    + "one over their number where one gets all."));
  for (const paper of PAPERS) {
    const tour = new Tour(paper, engine, data, open);
    place.append(tour.element);
    watcher.observe(tour.element);
  }
}

/** One paper's experiments, of which one is chosen. */
class Tour {
  constructor(paper, engine, data, open) {
    const claims = paper.studies.flatMap(study => data.claims[study]);
    claims.sort((a, b) => a.id.localeCompare(b.id, "en", { numeric: true }));
    Object.assign(this, { paper, engine, texts: data.studies, seed: 1 });
    this.figure = h("div", { class: "figure" });
    this.said = h("p", { class: "note", role: "status" });
    this.about = h("div", { class: "wide-part" });
    this.sliders = h("div", { class: "sliders" });
    this.open = h("div", null, h("button", { type: "button", click: () => {
      open(this.request());
      document.querySelector(".bench select").focus();
    } }, "Open as a scenario"));
    this.choice = choice("Experiment", paper.experiments.map(({ name }) => name), null, name => {
      this.choose(paper.experiments.find(one => one.name === name));
      this.run();
    });
    this.element = h("article", { class: "tour", "aria-label": paper.title, id: paper.study },
      h("div", { class: "wide-part" }, h("h3", null, paper.title),
        h("p", { class: "facts" }, paper.source),
        h("p", null, h("strong", null, "Our study: "), found(claims)), this.choice),
      this.about, this.sliders, this.figure,
      h("div", { class: "wide-part" }, this.verdicts(claims)));
    this.element.tour = this;
    this.choose(paper.experiments[0]);
  }

  /** Shows the sliders of an experiment, at their first positions or at those given. */
  choose(experiment, positions = experiment.sliders.map(({ first }) => first)) {
    const { name, says, look, claims, sliders } = experiment;
    // Flows of another experiment may have the same names.
    if (this.experiment !== experiment) this.values = null;
    Object.assign(this, { experiment, chosen: [...positions] });
    this.choice.querySelector("select").value = name;
    const ids = Object.keys(claims);
    this.about.replaceChildren(h("p", null, h("strong", null, "The paper: "), says),
      h("p", { class: "facts" }, ids.length ? `Claims: ${ids.join(", ")}`
        : "Beyond the claims in the table below."));
    this.sliders.replaceChildren(...sliders.map((slider, i) => this.slider(slider, i)),
      this.seeds(), h("p", { class: "note" }, look), this.open, this.said);
  }

  /** Shows a claim: its experiment, with the sliders at the claim's values. */
  try(experiment, id) {
    this.choose(experiment, experiment.claims[id]);
    this.run();
    this.choice.scrollIntoView({ block: "start" });
    this.choice.querySelector("select").focus({ preventScroll: true });
  }

  slider({ label, steps }, i) {
    const { name } = steps[this.chosen[i]];
    const shown = h("output", null, name);
    const input = ({ target }) => {
      this.chosen[i] = Number(target.value);
      shown.textContent = steps[this.chosen[i]].name;
      target.setAttribute("aria-valuetext", shown.textContent);
      this.run();
    };
    return h("label", null, `${label}: `, shown, h("input", { type: "range", min: 0,
      max: steps.length - 1, step: 1, value: this.chosen[i], "aria-valuetext": name, input }));
  }

  /** The seed, since a result of one seed may be chance. */
  seeds() {
    const input = ({ target }) => {
      if (!target.validity.valid || !target.value) return;
      this.seed = Number(target.value);
      this.run();
    };
    return h("label", null, "Seed of the run ", h("input", { type: "number", min: 1, max: 1e6,
      step: 1, value: this.seed, input }));
  }

  steps() {
    return this.experiment.sliders.map(({ steps }, i) => steps[this.chosen[i]]);
  }

  request() {
    const steps = this.steps();
    const file = steps.find(step => step.file)?.file ?? this.experiment.file;
    const settings = [...this.experiment.quick, ...steps.flatMap(step => step.settings)];
    return { file, text: this.texts[file], settings, seed: this.seed, point: 0 };
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
      await this.draw(answer.run, files, cancel.signal);
      if (cancel.signal.aborted) return;
      const { seconds } = answer.run.page.content.runs[0];
      const took = (performance.now() - begun) / 1e3;
      this.said.textContent = `${seconds} s simulated and drawn in ${took.toFixed(2)} s.`;
    } catch (error) {
      if (error.name === "AbortError") return;
      this.said.textContent = `Not shown: ${error.message}`;
    }
    this.element.setAttribute("aria-busy", false);
  }

  async draw(answer, files, signal) {
    const { page } = answer;
    const { experiment } = this;
    const { flows } = JSON.parse(new TextDecoder().decode(
      files.find(({ name }) => name === "summary.json").bytes));
    const { seconds } = page.content.runs[0];
    // The graph of transfers ends when all of them are complete.
    const ends = flows.map(({ completed_ns: at }) => (at ? at / 1e9 : seconds));
    const run = new Run(tablesOf(answer, files), 0, Math.max(...ends));
    const { table, column, title, unit, of } = experiment.figure;
    const series = run.has(table, column) ? await run.series(table, column) : [];
    const shown = series.filter(({ name }) => !of || of.test(name));
    const outcome = { flows, series, chosen: this.steps(), read: (...key) => run.series(...key) };
    const rows = await experiment.table?.rows(outcome)
      ?? page.content.sheets[0].rows.map(([flow, mbps]) => [flow, Number(mbps)]);
    const words = await experiment.answer?.(outcome) ?? page.answer[0];
    // A later change has begun a run of its own, maybe of another experiment.
    if (signal.aborted) return;
    const chart = run.chart({ title, unit, series: shown, hidden: run.hiddenOf(table) });
    this.before?.close();
    this.before = run;
    this.figure.replaceChildren(h("p", { class: "answer" }, words), chart,
      this.bars(rows, experiment.table));
    this.values = new Map(rows);
  }

  /** The rows of a run, with their values before the last change. */
  bars(rows, { unit = "Mbps", what = "flow" } = {}) {
    const before = name => this.values?.get(name) ?? null;
    const most = Math.max(...rows.flatMap(([name, value]) => [value, before(name)]), 1e-9);
    const cells = rows.map(([name, value]) => [name, h("span", { class: "bar",
      "aria-hidden": "true" }, h("span", { style: `width:${100 * value / most}%` })),
    number(value), number(before(name))]);
    return sheet(`Before and after the change: ${this.paper.title}`,
      [what, "share of the largest", unit, "before the change"], cells);
  }

  /** The verdicts of the study on the claims of the paper, each with its experiments. */
  verdicts(claims) {
    const { experiments, studies, untried } = this.paper;
    const trials = id => {
      const those = experiments.filter(one => id in one.claims);
      if (!those.length) return h("span", { class: "claim" }, untried[id]);
      return h("span", { class: "trials" }, those.map(one => h("button", { type: "button",
        "aria-label": `Try ${id}: ${one.name}`, title: one.name,
        click: () => this.try(one, id) }, those.length > 1 ? one.name : "try")));
    };
    const rows = claims.map(({ id, statement, verdict, setups, where }) =>
      [id, trials(id), h("span", { class: "claim" }, statement), verdict, setups,
        h("span", { class: "claim" }, where)]);
    return h("details", null, h("summary", null, "The paper's claims, and where they hold"),
      sheet(`Verdicts of ${studies.length > 1 ? "the studies" : "the study"} ${studies.join(", ")}`,
        ["claim", "experiment", "the paper says", "verdict", "set-ups", "where"], rows));
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
