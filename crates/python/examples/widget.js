// The front end of widget.py: a slider, and a line for each flow. anywidget loads it in Jupyter,
// VS Code and marimo alike.

const SIZE = { width: 640, height: 260, left: 44, bottom: 28 };
const SVG = "http://www.w3.org/2000/svg";
const COLOURS = ["#0b62c4", "#c2410c", "#0f7b4f", "#9333a8", "#8a6d00", "#c0266b", "#0e7490",
  "#57606a"];

function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  Object.assign(made, attributes);
  made.append(...children);
  return made;
}

function s(tag, attributes, text = "") {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.textContent = text;
  return made;
}

/** The lines of a series: a value that is missing ends one. */
function lines(values, place) {
  const found = [[]];
  values.forEach((value, i) => {
    if (value === null) found.push([]);
    else found.at(-1).push(place(i, value).join());
  });
  return found.filter(points => points.length > 0);
}

function draw(svg, seconds, series) {
  const most = Math.max(...series.flatMap(([, values]) => values), 1e-9);
  const end = Math.max(...seconds, 1e-9);
  const place = (i, value) => [
    SIZE.left + seconds[i] / end * (SIZE.width - SIZE.left - 8),
    8 + (1 - value / most) * (SIZE.height - SIZE.bottom - 8),
  ].map(part => part.toFixed(1));
  const text = (x, y, anchor, words) =>
    s("text", { x, y, "text-anchor": anchor, "font-size": 12, fill: "currentColor" }, words);
  svg.replaceChildren(
    ...series.flatMap(([, values], number) => lines(values, place).map(points =>
      s("polyline", { points: points.join(" "), fill: "none", "stroke-width": 1.5,
        stroke: COLOURS[number % COLOURS.length] }))),
    text(SIZE.left - 6, 18, "end", most.toPrecision(3)),
    text(SIZE.left - 6, SIZE.height - SIZE.bottom, "end", "0"),
    text(SIZE.width - 8, SIZE.height - 8, "end", `${end.toFixed(0)} s`),
    text(SIZE.left, SIZE.height - 8, "start", "Goodput in Mbps"),
  );
}

function render({ model, el }) {
  const output = element("output", {});
  const slider = element("input", { type: "range", min: 1, max: model.get("most"), step: 1 });
  const svg = s("svg", { viewBox: `0 0 ${SIZE.width} ${SIZE.height}`, role: "img",
    "aria-label": "Goodput of each flow over time", style: "max-width: 100%" });
  const caption = element("figcaption", {});
  const show = () => {
    slider.value = model.get("stations");
    output.value = model.get("stations");
    caption.textContent = model.get("answer");
    draw(svg, model.get("seconds"), model.get("series"));
  };
  slider.addEventListener("change", () => {
    model.set("stations", Number(slider.value));
    model.save_changes();
  });
  el.append(element("label", {}, "Stations: ", output, " ", slider),
    element("figure", {}, svg, caption));
  const names = ["change:stations", "change:series", "change:answer"];
  for (const name of names) model.on(name, show);
  show();
  return () => names.forEach(name => model.off(name, show));
}

export default { render };
