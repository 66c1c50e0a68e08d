// The page of live tools: the server's list each second, a card for each tool.

import { KEYS } from "../chart.js";
import { h } from "../dom.js";
import { Card } from "./card.js";
import { EXAMPLES } from "./tools.js";

/** Milliseconds between two requests. */
const EVERY = 1000;
/** Ended tools whose last figures stay. */
const MOST_ENDED = 4;

class Page {
  constructor(place) {
    this.cards = new Map();
    this.said = h("p", { role: "status" });
    this.pause = h("button", { type: "button", "aria-pressed": false, click: () => this.turn() },
      "Pause");
    this.none = h("div", { hidden: true }, h("p", null, "Tools of this user and of root appear "
      + "here by themselves when they start, for example:"),
    EXAMPLES.map(line => h("pre", { tabindex: 0 }, line)));
    this.list = h("section", { "aria-label": "Tools" });
    this.contents = h("nav", { class: "choices", "aria-label": "Contents" });
    place.append(h("div", { class: "choices" }, this.pause), this.said, this.contents, this.none,
      this.list,
      h("p", { id: "keys", class: "note" }, KEYS));
  }

  /** Stops and resumes, so that a reader can look at one state. */
  turn() {
    this.isPaused = !this.isPaused;
    this.pause.setAttribute("aria-pressed", this.isPaused);
    this.say();
  }

  /** Asks for the figures, and asks again later. */
  async poll() {
    try {
      if (!this.isPaused && document.visibilityState === "visible") {
        const response = await fetch("live/figures");
        if (!response.ok) throw new Error(await response.text());
        this.show(await response.json());
      }
    } catch (error) {
      this.problem = `The server does not answer: ${error.message}. It is asked again.`;
      this.say();
    }
    setTimeout(() => this.poll(), EVERY);
  }

  show(tools) {
    this.problem = "";
    const keyOf = ({ command, name }) => `${command} ${name}`;
    const running = new Set(tools.map(keyOf));
    for (const tool of tools) {
      const key = keyOf(tool);
      if (!this.cards.has(key)) {
        this.cards.set(key, new Card(tool, () => this.remove(key)));
        this.list.append(this.cards.get(key).element);
        this.index();
      }
      this.cards.get(key).show(tool);
    }
    for (const [key, card] of this.cards) if (!running.has(key) && !card.hasEnded) card.end();
    const ended = [...this.cards.keys()].filter(key => this.cards.get(key).hasEnded);
    ended.slice(0, -MOST_ENDED).forEach(key => this.remove(key));
    this.count = tools.length;
    this.say();
  }

  remove(key) {
    this.cards.get(key).close();
    this.cards.delete(key);
    this.index();
    this.none.hidden = this.cards.size > 0;
    this.pause.focus();
  }

  /** Links to the tools, if there are several. */
  index() {
    const cards = [...this.cards.values()];
    const links = cards.map(({ id, title }) => h("a", { href: `#${id}` }, title));
    this.contents.replaceChildren(...links.length > 1 ? links : []);
  }

  /** The state in words, which changes seldom, as it is read out. */
  say() {
    const count = { 0: "No tool runs here now.", 1: "One tool runs here." }[this.count]
      ?? `${this.count} tools run here.`;
    const state = this.isPaused ? "Paused: the figures stay as they are."
      : `${count} Figures are new each second.`;
    const text = this.problem || state;
    this.none.hidden = this.cards.size > 0;
    if (this.said.textContent !== text) this.said.textContent = text;
  }
}

const page = new Page(document.getElementById("body"));
page.poll().then(() => document.documentElement.setAttribute("data-ready", ""));
