// Scenarios that the reader changed, which stay when another one is opened.

/** What a reader writes by hand. */
const written = ({ text, settings }) => JSON.stringify([text, settings]);

/** Changed scenarios by name. */
export class Drafts {
  constructor() {
    this.kept = new Map();
  }

  /** The draft of this name, if there is one. */
  get(name) {
    return this.kept.get(name);
  }

  /** Remembers a scenario as it was opened, by the name that the list has for it. */
  enter(name, state) {
    Object.assign(this, { name, opened: written(state) });
  }

  /** Keeps the scenario if the reader changed it. A draft that was changed again replaces itself.
   * Returns the name of a new draft. */
  leave(state) {
    const isDraft = this.kept.has(this.name);
    if (isDraft) this.kept.set(this.name, state);
    if (isDraft || written(state) === this.opened) return null;
    const numbers = Array.from(this.kept.values(), ({ file }) => file === state.file);
    const number = numbers.filter(Boolean).length + 1;
    const name = `${state.file}, changed${number > 1 ? ` ${number}` : ""}`;
    this.kept.set(name, state);
    return name;
  }
}
