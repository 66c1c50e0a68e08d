// Colours of drawings, light and dark. Each differs from its ground by a contrast of 3 at least.

const LIGHT = {
  ink: "#1d1f21", soft: "#5a6068", line: "#e3e6ea",
  series: ["#0b62c4", "#c2410c", "#0f7b4f", "#9333a8", "#8a6d00", "#c0266b", "#0e7490", "#57606a"],
};
const DARK = {
  ink: "#e6e8ea", soft: "#a5abb3", line: "#2c3036",
  series: ["#6cb6ff", "#ff9a6b", "#5fd39b", "#d29bf0", "#e5c04b", "#ff8fb8", "#5ad1e6", "#b4bcc6"],
};
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3]];
const query = globalThis.matchMedia?.("(prefers-color-scheme: dark)");
// `matches` has the browser lay out the page, and drawings ask often.
let present = query?.matches ? DARK : LIGHT;
query?.addEventListener("change", () => { present = query.matches ? DARK : LIGHT; });

/** The colours by the reader's setting. */
export function theme() {
  return present;
}

/** Calls `listener` when the reader's setting changes, until the returned function is called. */
export function onTheme(listener) {
  query?.addEventListener("change", listener);
  return () => query?.removeEventListener("change", listener);
}

/** The colour and the dashes of the series with this number. */
export function look(index) {
  const { series } = theme();
  const round = Math.floor(index / series.length) % DASHES.length;
  return { colour: series[index % series.length], dash: DASHES[round] };
}

/** Shows the look of a series in its entry of a legend. */
export function swatch(element, index, isShown = true) {
  const { colour, dash } = look(index);
  element.classList.toggle("dashed", dash.length > 0);
  element.classList.toggle("faint", !isShown);
  element.style.borderColor = colour;
  if (dash.length > 0) element.style.background = stripes(colour, dash);
  else element.style.background = isShown ? colour : "transparent";
}

/** A background with these dashes. */
function stripes(colour, dash) {
  let from = 0;
  const stops = dash.map((length, i) => {
    const start = from;
    from += length;
    return `${i % 2 ? "transparent" : colour} ${start}px ${from}px`;
  });
  return `repeating-linear-gradient(90deg, ${stops.join(", ")})`;
}
