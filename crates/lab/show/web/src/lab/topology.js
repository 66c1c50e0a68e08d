// The network of a run as a drawing: nodes, radio links, wires, and the ways of flows.

import { h } from "../dom.js";
import { look, onTheme } from "../theme.js";
import { groups, inWords } from "./groups.js";

/** Sizes in pixels of the drawing. */
const COLUMN = 256;
const ROW = 84;
const BOX = { width: 132, height: 44 };
/** Letters of a name that a box has room for. */
const LETTERS = 17;
/** Distance between flows on the same way. */
const BESIDE = 6;
/** Flows that are drawn; others are named alone. */
const DRAWN = 8;
const SVG = "http://www.w3.org/2000/svg";

function s(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** A drawing of the network, which follows the reader's colours. */
export class Topology {
  constructor() {
    this.drawing = h("div", { class: "wide", tabindex: 0, role: "group",
      "aria-label": "Drawing of the network" });
    this.words = h("p", { class: "note" });
    this.element = h("details", { class: "topology", open: true },
      h("summary", null, "The network"), this.drawing, this.words);
    onTheme(() => this.show(this.network));
  }

  /** Shows a network; nothing if there is none. */
  show(network) {
    this.network = network;
    this.element.hidden = !network;
    if (!network) return;
    const found = groups(network);
    const words = inWords(found);
    this.words.textContent = words;
    this.drawing.replaceChildren(draw(found, words));
  }
}

function draw(found, words) {
  const size = [found.columns * COLUMN, found.rows * ROW];
  const at = new Map(found.groups.map(group => [group.id, centre(group, found)]));
  const svg = s("svg", { viewBox: `0 0 ${size.join(" ")}`, width: size[0], height: size[1],
    role: "img", "aria-label": words });
  svg.append(...found.edges.map(edge => link(edge, at)));
  found.flows.slice(0, DRAWN).forEach((flow, i, all) =>
    svg.append(...path(flow, at, look(i).colour, (i - (all.length - 1) / 2) * BESIDE)));
  svg.append(...found.edges.flatMap(edge => pace(edge, at)),
    ...found.groups.map(group => box(group, at.get(group.id))));
  return svg;
}

/** The centre of a group: its column is centred. */
function centre({ column, row }, { rows, heights }) {
  return [(column + .5) * COLUMN, (row + .5 + (rows - heights[column]) / 2) * ROW];
}

function link({ from, to, kind }, at) {
  const [[x1, y1], [x2, y2]] = [at.get(from), at.get(to)];
  return s("line", { x1, y1, x2, y2, class: `link ${kind}` });
}

/** Rate and delay of a wire: one way above it, the other below. */
function pace({ from, to, text }, at) {
  const [[x1, y1], [x2, y2]] = [at.get(from), at.get(to)];
  return text.split(" / ").map((part, i) => s("text", { x: (x1 + x2) / 2,
    y: (y1 + y2) / 2 + (i ? 22 : -12), class: "pace" }, part));
}

/** The way of a flow, with an arrow at the middle of each hop. */
function path({ way }, at, colour, beside) {
  const points = way.map(id => at.get(id)).map(([x, y]) => [x, y + beside]);
  const line = s("polyline", { points: points.join(" "), fill: "none", stroke: colour,
    "stroke-width": 2 });
  const arrows = points.slice(1).map(([x2, y2], i) => {
    const [x1, y1] = points[i];
    const turn = Math.atan2(y2 - y1, x2 - x1) * 180 / Math.PI;
    const middle = `translate(${(x1 + x2) / 2} ${(y1 + y2) / 2}) rotate(${turn})`;
    return s("path", { d: "M-5-4 5 0-5 4Z", transform: middle, fill: colour });
  });
  return [line, ...arrows];
}

function box({ role, count, name }, [x, y]) {
  const corner = [x - BOX.width / 2, y - BOX.height / 2];
  const attributes = { x: corner[0], y: corner[1], width: BOX.width, height: BOX.height,
    rx: role === "host" ? 2 : 12, class: role };
  const below = { station: "station", access_point: "access point", host: "host" }[role];
  const kind = count > 1 ? `${count} ${below}s` : below;
  const ends = name.length > LETTERS && count > 2 ? name.replace(/, .*, /, " … ") : name;
  const short = ends.length > LETTERS ? `${ends.slice(0, LETTERS - 1)}…` : ends;
  return s("g", {}, s("rect", attributes), s("text", { x, y: y - 3, class: "name" }, short),
    s("text", { x, y: y + 14 }, kind));
}
