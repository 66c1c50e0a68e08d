// The form: scenario, settings, point and seed; its errors, and the run.

import { h } from "../dom.js";
import { Files, firstOf, saveName } from "./command.js";
import { Drafts } from "./drafts.js";
import { Editor } from "./editor.js";
import { KeyForm } from "./keys.js";
import { fragmentOf, MAX_LENGTH, stateOf } from "./link.js";
import { jobsOf, MOST_RUNS, Sweep } from "./points.js";
import { save } from "./save.js";
import { SweepCard } from "./sweep.js";
import { Topology } from "./topology.js";

/** Milliseconds without a key before a scenario is read. */
const PAUSE = 250;

/** The form of a run. */
export class Bench {
  constructor(engine, data, results) {
    Object.assign(this, { engine, data, results, drafts: new Drafts(), files: new Files(data) });
    const lines = { spellcheck: "false", autocapitalize: "off", autocomplete: "off" };
    const input = () => this.change();
    const names = data.catalogue.map(({ name, question }) =>
      h("option", { value: name }, question ? `${name}: ${question}` : name));
    this.list = h("select", { change: () => this.choose(this.list.value) }, names);
    this.editor = new Editor(data.keys, { ...lines, id: "text", rows: 16, input });
    this.text = this.editor.area;
    this.settings = h("textarea", { ...lines, rows: 2, input,
      placeholder: "node.sta.count = 8" });
    const settings = data.keys.filter(({ isSetting }) => isSetting);
    this.keyForm = new KeyForm(settings, (key, value) => this.set(key, value));
    this.topology = new Topology();
    this.seed = h("input", { type: "number", min: 0, step: 1, input });
    this.seeds = h("input", { type: "number", min: 1, step: 1, input: () => this.count() });
    this.point = h("select", { change: () => this.check() });
    this.keep = h("input", { type: "checkbox" });
    this.start = button("Run", () => this.run(), "primary");
    this.every = button("Run all points", () => this.runAll());
    this.tooMany = h("p", { class: "note" });
    this.pace = h("span", { class: "note" });
    this.stop = button("Cancel", () => this.cancel?.abort());
    this.stop.disabled = true;
    this.progress = h("progress", { max: 1, value: 0, hidden: true,
      "aria-label": "Progress of the run" });
    this.command = h("code", { tabindex: 0, "aria-label": "The same run by the command" });
    this.first = h("span");
    this.errors = h("div", { class: "errors", role: "alert" });
    this.said = h("p", { class: "note", role: "status" });
    this.element = this.form();
  }

  form() {
    const labelled = (text, field, name) => h("label", { class: name ?? "" }, `${text} `, field);
    const share = button("Copy link", () => this.share());
    const download = button("Save scenario", () =>
      save(saveName(this.file), this.text.value));
    const scenario = h("div", { class: "column" },
      labelled("Scenario", this.list, "wide-field"),
      h("div", { class: "wide-field" }, h("label", { for: "text" },
        "Text of the scenario, in TOML. Ctrl and Space complete keys and values."),
      this.editor.element),
      h("div", { class: "choices" }, button("Complete", () => this.editor.ask()), download),
      this.errors);
    const runs = h("div", { class: "column" },
      labelled("Settings instead of those in the text, one on a line", this.settings,
        "wide-field"), this.keyForm.element, this.topology.element,
      h("div", { class: "choices" }, this.pointLabel = labelled("Point of the sweep", this.point),
        labelled("Seed", this.seed), labelled("Seeds of each point", this.seeds),
        labelled("Keep earlier runs beside it", this.keep)),
      h("div", { class: "choices" }, this.start, this.every, this.stop, share, this.progress,
        this.pace), this.tooMany, this.said,
      h("p", null, "The same run by the command", this.first, ": ", this.command));
    return h("section", { class: "bench", "aria-label": "Scenario and settings" }, scenario, runs);
  }

  /** Shows a scenario of the catalogue, or a draft. */
  choose(name) {
    const draft = this.drafts.get(name);
    if (draft) return this.open(draft, name);
    const { text } = this.data.catalogue.find(one => one.name === name);
    return this.open({ file: name, text });
  }

  /** Shows a scenario with settings. What the reader wrote before stays in the list as a draft. */
  async open({ file, text, settings = [], seed = null, point = 0, seeds = null }, name = file) {
    const kept = this.file && this.drafts.leave(this.state());
    if (kept) this.list.append(h("option", { value: kept }, kept));
    this.file = file;
    this.list.value = name;
    this.text.value = text;
    this.settings.value = settings.join("\n");
    this.seed.value = seed ?? "";
    this.seeds.value = seeds ?? "";
    this.wanted = point;
    this.drafts.enter(name, this.state());
    await this.check();
  }

  /** The form's content as links carry it. */
  state() {
    const seeds = Number(this.seeds.value) || null;
    return { ...this.request(), point: this.chosen(), seeds };
  }

  /** The settings as the command takes them. */
  lines() {
    return this.settings.value.split("\n").map(line => line.trim()).filter(Boolean)
      .map(line => line.replace(/^([^=]*?)\s*=\s*/, "$1="));
  }

  /** Adds a setting, instead of an earlier one of the same key. */
  set(key, value) {
    const others = this.lines().filter(line => !line.startsWith(`${key}=`));
    this.settings.value = [...others, `${key}=${value}`].join("\n");
    return this.check();
  }

  request() {
    const settings = this.lines();
    const seed = this.seed.value === "" ? null : Number(this.seed.value);
    return { file: this.file, text: this.text.value, settings, seed,
      point: Number(this.point.value) || 0 };
  }

  change() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.check(), PAUSE);
  }

  /** Reads the scenario, and shows its points or its errors. */
  async check() {
    clearTimeout(this.timer);
    this.asked?.abort();
    const asked = this.asked = new AbortController();
    try {
      const savedAs = this.files.unsaved(this.request());
      const request = { ...this.request(), point: this.chosen(), saved_as: savedAs };
      const { answer } = await this.engine.plan(request, asked.signal);
      if (asked.signal.aborted) return;
      if (answer.refused) this.refuse(answer.refused);
      else this.accept({ ...answer.plan, savedAs });
    } catch (error) {
      if (error.name !== "AbortError") this.complain(error.message);
    }
  }

  /** Index of the point that is chosen, or that a link wants. */
  chosen() {
    return this.wanted ?? (Number(this.point.value) || 0);
  }

  accept(plan) {
    this.plan = plan;
    this.errors.replaceChildren();
    const chosen = this.chosen();
    this.wanted = null;
    this.point.replaceChildren(...plan.points.map(({ label }, i) =>
      h("option", { value: i, selected: i === chosen }, label || "the only one")));
    const { length } = plan.points;
    this.pointLabel.hidden = length < 2;
    this.seeds.placeholder = plan.seeds;
    this.start.disabled = Boolean(this.cancel);
    this.count();
    this.said.textContent = plan.warnings.map(text => `Caution: ${text}.`).join(" ");
    this.keyForm.offer(plan.written);
    this.topology.show(plan.network);
    this.showCommand();
    // A sweep that became shorter has no point of this number: its first one is shown.
    if (!plan.network) this.check();
  }

  /** Number of runs of each point. */
  seedsOfPoint() {
    return Math.max(Math.floor(Number(this.seeds.value)) || this.plan.seeds, 1);
  }

  /** Offers the sweep, unless it has a single run or too many. */
  count() {
    if (!this.plan) return;
    const { length } = this.plan.points;
    const seeds = this.seedsOfPoint();
    this.every.textContent = length > 1 ? "Run all points" : "Run all seeds";
    this.every.hidden = length * seeds < 2;
    const isMany = length * seeds > MOST_RUNS;
    this.every.disabled = Boolean(this.cancel) || this.start.disabled || isMany;
    this.tooMany.textContent = isMany ? `All ${length} points with ${seeds} seeds each are `
      + `${length * seeds} runs: a page makes at most ${MOST_RUNS}. The command has no such bound`
      + `${firstOf(this.plan)}: ${this.plan.sweep}` : "";
  }

  showCommand() {
    const point = this.plan?.points[Number(this.point.value) || 0];
    this.command.textContent = point?.command ?? "";
    this.first.textContent = this.plan ? firstOf(this.plan) : "";
    this.seed.placeholder = point?.seed ?? "";
  }

  /** Shows errors, each with a button that leads to its place. */
  refuse({ text, diagnostics }) {
    this.start.disabled = diagnostics.length > 0;
    this.count();
    const parts = text.split("\n\n");
    const fits = parts.length === diagnostics.length;
    const found = diagnostics.map(({ file, line, column, width }, i) => h("li", null,
      file === this.file
        ? button(`Go to line ${line}`, () => this.goTo(line, column, width)) : null,
      fits ? h("pre", { tabindex: 0 }, parts[i]) : null));
    const rest = fits ? [] : [h("pre", { tabindex: 0 }, text)];
    this.errors.replaceChildren(...rest, ...found.length ? [h("ol", null, found)] : []);
  }

  complain(text) {
    this.refuse({ text, diagnostics: [] });
  }

  goTo(line, column, width) {
    const before = this.text.value.split("\n").slice(0, line - 1);
    const at = before.reduce((sum, one) => sum + one.length + 1, 0) + column - 1;
    this.text.focus();
    this.text.setSelectionRange(at, at + width);
  }

  /** Makes the run, and shows it. */
  run() {
    return this.work("The run", async (request, progress, signal) => {
      const begun = performance.now();
      const { answer, files } = await this.engine.run(request, progress, signal);
      if (answer.refused) this.refuse(answer.refused);
      else await this.finish(request, answer.run, files, (performance.now() - begun) / 1e3);
    });
  }

  /** Makes the runs of all points with all seeds, and shows means. Runs that were made before the
   * reader cancelled stay. */
  runAll() {
    return this.work("The sweep", async (request, progress, signal) => {
      const { plan } = this;
      const seeds = this.seedsOfPoint();
      const jobs = jobsOf(plan.points, seeds);
      let card = null;
      const show = (means, isLast) => {
        if (!card) {
          card = new SweepCard(request, plan, seeds, () => this.results.removeSweep());
          this.results.showSweep(card);
        }
        card.show(means, isLast);
      };
      const sweep = new Sweep(this.engine, request, jobs, show);
      const begun = performance.now();
      const report = (fraction, made) => {
        progress(fraction);
        const left = (performance.now() - begun) / 1e3 * (1 - fraction) / fraction;
        this.pace.textContent = `${made} of ${jobs.length} runs, about ${Math.ceil(left)} s left`;
      };
      try {
        await sweep.run(report, signal);
      } finally {
        if (sweep.found.length > 0) await sweep.showNow();
        if (signal.aborted) this.made = `${sweep.found.length} of ${jobs.length} runs`;
      }
      const took = ((performance.now() - begun) / 1e3).toFixed(1);
      this.said.textContent = `${jobs.length} runs of ${plan.points.length} points in ${took} s.`;
    });
  }

  /** Does what takes a while, which the reader can cancel. */
  async work(name, act) {
    await this.check();
    if (this.start.disabled || this.cancel) return;
    const cancel = this.cancel = new AbortController();
    const turn = isBusy => {
      this.start.disabled = isBusy;
      this.stop.disabled = !isBusy;
      this.progress.hidden = !isBusy;
      this.count();
    };
    this.made = "";
    turn(true);
    this.said.textContent = `${name} has begun.`;
    try {
      await act(this.request(), fraction => { this.progress.value = fraction; }, cancel.signal);
    } catch (error) {
      const after = this.made && ` after ${this.made}`;
      if (error.name === "AbortError") this.said.textContent = `${name} was cancelled${after}.`;
      else this.complain(error.message);
    } finally {
      this.cancel = null;
      turn(false);
      this.progress.value = 0;
      this.pace.textContent = "";
    }
  }

  async finish(request, run, files, took) {
    const simulated = run.page.content.runs[0].seconds;
    this.said.textContent = `${simulated} s simulated in ${took.toFixed(2)} s.`;
    if (!this.keep.checked) this.results.clear();
    await this.results.add(run, files, request);
  }

  /** Opens the scenario of a fragment. The one that was opened or shared last stays as it is now:
   * the reader comes back to it from elsewhere in the page. */
  async follow(fragment) {
    if (fragment === this.fragment) return;
    try {
      const state = await stateOf(fragment);
      if (!state) return;
      this.fragment = fragment;
      await this.open(state);
    } catch (error) {
      this.complain(error.message);
    }
  }

  /** Copies a link that carries the scenario, and makes it the address of the page. */
  async share() {
    const fragment = await fragmentOf(this.state());
    history.replaceState(null, "", fragment);
    this.fragment = fragment;
    const long = fragment.length > MAX_LENGTH ? " It is long: some programs cut such links." : "";
    let place = "the address of this page";
    try {
      await navigator.clipboard.writeText(location.href);
      place = "copied, and the address of this page";
    } catch {
      // Without leave for the clipboard the address has it.
    }
    this.said.textContent = `The link is ${place}.${long}`;
  }
}

function button(text, click, name = "") {
  return h("button", { type: "button", class: name, click }, text);
}
