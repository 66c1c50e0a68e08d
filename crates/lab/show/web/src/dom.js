// Elements of the page.

/** An element with attributes (a function is a listener) and children. */
export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(name, value);
    }
  }
  element.append(...children.flat().filter(child => child !== null && child !== undefined));
  return element;
}

/** A table with a caption, names in its first column, and rows of texts or elements. A table that
 * is too wide scrolls, also by keys. */
export function sheet(caption, heads, rows, note) {
  const head = h("tr", null, heads.map(text => h("th", { scope: "col" }, text)));
  const body = rows.map(([name, ...cells]) =>
    h("tr", null, h("th", { scope: "row" }, name), cells.map(cell => h("td", null, cell))));
  const table = h("table", null, h("caption", null, caption), h("thead", null, head),
    h("tbody", null, body));
  const settings = { class: "wide", tabindex: 0, role: "group", "aria-label": caption };
  const wide = h("div", settings, table);
  return note ? h("div", null, wide, h("p", { class: "note" }, note)) : wide;
}

/** A labelled choice among texts. `choose` gets the text. */
export function choice(label, texts, chosen, choose) {
  const options = texts.map(text => h("option", { value: text, selected: text === chosen }, text));
  const change = event => choose(event.target.value);
  return h("label", { class: "choice" }, `${label} `, h("select", { change }, options));
}

/** The same among `{ group, label }`, with a heading for each group. `choose` gets the label. */
export function groupedChoice(label, items, chosen, choose) {
  const groups = new Map();
  for (const { group, label: text } of items) {
    if (!groups.has(group)) groups.set(group, h("optgroup", { label: group }));
    groups.get(group).append(h("option", { value: text, selected: text === chosen }, text));
  }
  const select = h("select", { change: event => choose(event.target.value) }, [...groups.values()]);
  return h("label", { class: "choice" }, `${label} `, select);
}

/** Calls `work` in the next frame, once for all calls before it. */
export function nextFrame(work) {
  let isWaiting = false;
  return () => {
    if (isWaiting) return;
    isWaiting = true;
    requestAnimationFrame(() => {
      isWaiting = false;
      work();
    });
  };
}

/** Resolves when a frame was drawn, so that what is there is seen before the work goes on. */
export function frame() {
  return new Promise(resolve => { requestAnimationFrame(() => setTimeout(resolve)); });
}
