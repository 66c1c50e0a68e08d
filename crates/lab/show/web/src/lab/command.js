// Commands that make what the page makes.

/** The name of a saved scenario: that of its file, without directories. */
export function saveName(file) {
  return file.split("/").pop();
}

/** Scenarios that commands find as files: those of the catalogue and of the tours. */
export class Files {
  constructor({ catalogue, studies }) {
    const texts = catalogue.map(({ name, text }) => [name, text]);
    this.texts = new Map([...texts, ...Object.entries(studies)]);
  }

  /** The name under which the reader has to save a scenario before a command can read it; null for
   * the text of a file. */
  unsaved({ file, text }) {
    return this.texts.get(file) === text ? null : saveName(file);
  }
}

/** What the reader does before a command of this plan, in words. */
export function firstOf({ savedAs }) {
  return savedAs ? ` (save the scenario first, as ${savedAs})` : "";
}
