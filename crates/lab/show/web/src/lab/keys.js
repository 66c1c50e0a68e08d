// Keys that a setting can change in the scenario of the form, and the form for one.

import { h } from "../dom.js";

/**
 * The keys of a scenario: address, value and description of each.
 *
 * `known` has the keys of the format, `written` those in the text.
 */
export function settable(known, written) {
  const defaults = new Map(known.map(({ key, default: value }) => [key, unquoted(value)]));
  const found = known.flatMap(({ table, key, conditions, about, words, default: value }) => {
    const name = key.split(".").at(-1);
    if (name === "name") return [];
    const valueOf = (keys, other) => keys[other] ?? defaults.get(joined(table, other));
    const holds = keys => condition => {
      const [, other, wanted] = /^(\S+) = (.*)$/.exec(condition);
      return wanted === "..." ? other in keys : valueOf(keys, other) === unquoted(wanted);
    };
    return tables(written, table).filter(({ keys }) => conditions.every(holds(keys)))
      .map(({ path, keys }) => ({ address: joined(path, name), about, words,
        value: name in keys ? text(keys[name]) : unquoted(value) ?? "" }));
  });
  return new Map(found.map(one => [one.address, one]));
}

const joined = (...parts) => parts.filter(Boolean).join(".");

/** A default as a setting has it: a text without its quotes. */
export function unquoted(value) {
  return value?.replace(/^"(.*)"$/, "$1");
}

function text(value) {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The tables of a kind in a scenario, each with the path that settings name it by. */
function tables(written, kind) {
  if (kind === "") return [{ path: "", keys: written }];
  const found = written[kind] ?? {};
  const all = Array.isArray(found) ? found : [found];
  return all.map(keys => ({ path: joined(kind, nameOf(keys)), keys }));
}

/** The name of a table. That of a link is made of its ends if it has none of its own. */
function nameOf({ name, ends }) {
  return name ?? ends?.map(end => end.replace(/\*$/, "")).join("-");
}

/** A form for one setting. `set` gets the key and the value. */
export class KeyForm {
  constructor(known, set) {
    Object.assign(this, { known, set, keys: new Map() });
    this.names = h("datalist", { id: "settable-keys" });
    this.words = h("datalist", { id: "settable-words" });
    const enter = event => event.key === "Enter" && this.apply();
    this.key = h("input", { list: "settable-keys", placeholder: "node.ap.queue", autocomplete: "off",
      spellcheck: "false", input: () => this.describe() });
    this.value = h("input", { list: "settable-words", autocomplete: "off", spellcheck: "false",
      keydown: enter });
    this.button = h("button", { type: "button", disabled: true, click: () => this.apply() },
      "Set");
    this.about = h("p", { class: "note", role: "status" });
    this.element = h("div", { class: "key-form" },
      h("div", { class: "choices" }, h("label", null, "Key ", this.key),
        h("label", null, "Value ", this.value), this.button), this.about,
      this.names, this.words);
  }

  /** Offers the keys of a scenario. */
  offer(written) {
    this.keys = settable(this.known, written);
    const options = [...this.keys.keys()].map(value => h("option", { value }));
    this.names.replaceChildren(...options);
    this.button.disabled = !this.keys.has(this.key.value);
  }

  /** Describes the chosen key, and shows its value. */
  describe() {
    const found = this.keys.get(this.key.value.trim());
    this.button.disabled = !found;
    this.about.textContent = found?.about ?? "";
    this.value.value = found?.value ?? "";
    this.words.replaceChildren(...(found?.words ?? []).map(value => h("option", { value })));
  }

  apply() {
    const key = this.key.value.trim();
    if (this.keys.has(key)) this.set(key, this.value.value.trim());
  }
}
