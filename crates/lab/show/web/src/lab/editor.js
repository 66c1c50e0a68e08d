// The text of a scenario with completion: Ctrl and Space offer what can stand at the caret.

import { h } from "../dom.js";
import { candidates } from "./complete.js";

/** Styles by which a copy of the text has its letters at the same places. */
const STYLES = ["fontFamily", "fontSize", "fontWeight", "lineHeight", "letterSpacing", "tabSize",
  "paddingTop", "paddingRight", "paddingBottom", "paddingLeft"];

/** The place of a letter in a text area, from the upper left corner of the latter. */
function placeOf(area, index) {
  const style = getComputedStyle(area);
  const copy = h("div", { "aria-hidden": "true", class: "copy" }, area.value.slice(0, index));
  for (const name of STYLES) copy.style[name] = style[name];
  copy.style.width = `${area.clientWidth}px`;
  const mark = h("span", null, "\u200b");
  copy.append(mark);
  area.parentElement.append(copy);
  const place = { left: mark.offsetLeft - area.scrollLeft, top: mark.offsetTop - area.scrollTop,
    height: mark.offsetHeight };
  copy.remove();
  return place;
}

/** A text area with a list of candidates below the caret. */
export class Editor {
  constructor(known, attributes) {
    this.known = known;
    this.items = [];
    this.area = h("textarea", { ...attributes, "aria-autocomplete": "list",
      "aria-controls": "candidates", "aria-haspopup": "listbox",
      keydown: event => this.key(event), click: () => this.close(), blur: () => this.close(),
      input: event => {
        attributes.input(event);
        if (this.isOpen) this.offer();
      } });
    this.list = h("ul", { id: "candidates", role: "listbox", "aria-label": "Completions" });
    this.about = h("p", { class: "note" });
    this.popup = h("div", { class: "popup", hidden: true }, this.list, this.about);
    // A press of the pointer would take the focus from the text.
    this.popup.addEventListener("pointerdown", event => event.preventDefault());
    this.element = h("div", { class: "editor" }, this.area, this.popup);
  }

  get isOpen() {
    return !this.popup.hidden;
  }

  key(event) {
    if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      this.offer();
      return;
    }
    if (!this.isOpen || event.ctrlKey || event.altKey || event.metaKey) return;
    const actions = {
      ArrowDown: () => this.choose(this.chosen + 1), ArrowUp: () => this.choose(this.chosen - 1),
      PageDown: () => this.choose(Math.min(this.chosen + 8, this.items.length - 1)),
      PageUp: () => this.choose(Math.max(this.chosen - 8, 0)),
      Enter: () => this.accept(this.chosen), Escape: () => this.close(),
    };
    if (!actions[event.key]) {
      // Elsewhere in the text something else can stand.
      if (["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) this.close();
      return;
    }
    event.preventDefault();
    actions[event.key]();
  }

  /** Shows the list for a reader without the keys Ctrl and Space, as on a phone. */
  ask() {
    this.area.focus();
    this.offer();
  }

  /** Shows what can stand at the caret. */
  offer() {
    const { value, selectionStart: at, selectionEnd: end } = this.area;
    const found = at === end ? candidates(this.known, value, at) : null;
    if (!found || found.items.length === 0) return this.close();
    const { items, from, to, about: general } = found;
    Object.assign(this, { items, from, to, general });
    this.list.replaceChildren(...items.map(({ label }, i) =>
      h("li", { role: "option", id: `candidate-${i}`, click: () => this.accept(i) }, label)));
    this.popup.hidden = false;
    const { left, top, height } = placeOf(this.area, from);
    this.choose(0);
    const room = Math.max(this.element.clientWidth - this.popup.offsetWidth, 0);
    this.popup.style.left = `${Math.min(left, room)}px`;
    this.popup.style.top = `${Math.min(top + height, this.area.offsetHeight) + 2}px`;
  }

  /** Marks a candidate, and describes it. */
  choose(number) {
    const count = this.items.length;
    this.list.children[this.chosen]?.removeAttribute("aria-selected");
    this.chosen = (number + count) % count;
    const option = this.list.children[this.chosen];
    option.setAttribute("aria-selected", "true");
    option.scrollIntoView({ block: "nearest" });
    this.area.setAttribute("aria-activedescendant", option.id);
    this.about.textContent = this.items[this.chosen].about || this.general;
  }

  close() {
    this.popup.hidden = true;
    this.area.removeAttribute("aria-activedescendant");
  }

  /** Writes a candidate in place of the word at the caret. */
  accept(number) {
    const { insert } = this.items[number];
    const { from, to } = this;
    this.close();
    this.area.focus();
    this.area.setSelectionRange(from, to);
    // This way the reader can undo it; a browser that has forgotten the command gets the text.
    if (!document.execCommand("insertText", false, insert)) {
      this.area.setRangeText(insert, from, to, "end");
      this.area.dispatchEvent(new Event("input"));
    }
    // A key is followed by its value.
    if (insert.endsWith(" = ")) this.offer();
  }
}
