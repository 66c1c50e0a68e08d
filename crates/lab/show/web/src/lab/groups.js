// The network of a run in groups of like nodes, in columns from left to right.

/**
 * Groups of nodes, edges between them, and flows with their ways.
 *
 * Nodes are alike if they have the same role, access points, wires and flows, and names that differ
 * in their number; each access point is alone. Stations are left of their access points, and hosts
 * further right the more wires are between.
 */
export function groups(network) {
  const { nodes, links, flows } = network;
  const near = nodes.map(() => []);
  const signs = nodes.map(({ name, role, access_points: aps }) =>
    [role === "access_point" ? name : name.replace(/\d+$/, ""), role, ...aps]);
  for (const { ends: [a, b], paces } of links) {
    near[a].push(b);
    near[b].push(a);
    signs[a].push(`wire ${b} ${paces}`);
    signs[b].push(`wire ${a} ${paces}`);
  }
  nodes.forEach(({ access_points: aps }, i) => aps.forEach(ap => {
    near[i].push(ap);
    near[ap].push(i);
  }));
  for (const { from, to } of flows) {
    signs[from].push(`to ${to}`);
    signs[to].push(`from ${from}`);
  }
  // A node with several neighbours or flows is one of a kind to those that name it.
  const found = new Map();
  const of = nodes.map((_, i) => {
    const sign = signs[i].join();
    if (!found.has(sign)) found.set(sign, found.size);
    return found.get(sign);
  });
  const made = [...found.values()].map(id => {
    const members = nodes.map((_, i) => i).filter(i => of[i] === id);
    const names = members.map(i => nodes[i].name);
    return { id, role: nodes[members[0]].role, count: members.length, name: named(names) };
  });
  return place(made, edges(network, of), ways(network, of, near));
}

/** One name for several: all of a few, else the first and the last. */
export function named(names) {
  return names.length > 3 ? `${names[0]} … ${names.at(-1)}` : names.join(", ");
}

/** Wires and radio links between groups, each once. */
function edges({ nodes, links }, of) {
  const found = new Map();
  const add = (a, b, kind, text) => {
    const key = [kind, of[a], of[b]].join();
    if (!found.has(key)) found.set(key, { from: of[a], to: of[b], kind, text });
  };
  nodes.forEach(({ access_points: aps }, i) =>
    aps.forEach((ap, nth) => add(i, ap, nth ? "roams" : "radio", "")));
  for (const { ends: [a, b], paces } of links) add(a, b, "wire", paces.join(" / "));
  return [...found.values()];
}

/** Flows between groups, each with its number, its name and the groups on its way. */
function ways({ flows }, of, near) {
  const found = new Map();
  for (const { name, from, to } of flows) {
    const key = `${of[from]} ${of[to]}`;
    const other = found.get(key);
    if (other) other.names.push(name);
    else found.set(key, { from: of[from], to: of[to], names: [name], way: way(near, from, to) });
  }
  return [...found.values()].map(({ names, way: nodes, ...ends }) =>
    ({ ...ends, count: names.length, name: named(names), way: nodes.map(node => of[node]) }));
}

/** The fewest hops from one node to another; their ends alone if there is no way. */
function way(near, from, to) {
  const before = new Map([[from, null]]);
  for (const node of before.keys()) {
    if (node === to) break;
    for (const next of near[node]) if (!before.has(next)) before.set(next, node);
  }
  if (!before.has(to)) return [from, to];
  const found = [];
  for (let node = to; node !== null; node = before.get(node)) found.unshift(node);
  return found;
}

/** Gives each group its column and row. */
function place(made, between, flows) {
  const column = new Map();
  for (const { id, role } of made) {
    if (role === "access_point") column.set(id, 0);
    if (role === "station") column.set(id, -1);
  }
  if (column.size === 0) column.set(flows[0]?.from ?? made[0].id, 0);
  const wires = between.filter(({ kind }) => kind === "wire");
  // A map goes on over what is added to it: each host is found from the nearest that is placed.
  for (const id of [...column.keys()].sort((a, b) => column.get(b) - column.get(a))) {
    const reached = new Set([id]);
    for (const at of reached) {
      for (const { from, to } of wires) {
        const next = from === at ? to : to === at ? from : null;
        if (next === null || column.has(next)) continue;
        column.set(next, column.get(at) + (column.get(at) < 0 ? -1 : 1));
        reached.add(next);
      }
    }
  }
  for (const { id } of made) if (!column.has(id)) column.set(id, 0);
  const used = [...new Set(column.values())].sort((a, b) => a - b);
  const heights = used.map(() => 0);
  const placed = made.map(group => {
    const at = used.indexOf(column.get(group.id));
    return { ...group, column: at, row: heights[at]++ };
  });
  return { groups: placed, edges: between, flows, columns: used.length,
    rows: Math.max(...heights, 1), heights };
}

/** The network in words. */
export function inWords({ groups: made, flows }) {
  const roles = { station: "station", access_point: "access point", host: "host" };
  const nodes = made.map(({ role, count, name }) => count > 1
    ? `${count} ${roles[role]}s (${name})` : `${roles[role]} ${name}`);
  const name = id => made.find(group => group.id === id).name;
  const carried = flows.map(({ from, to, count, name: flow }) =>
    `${count > 1 ? `${count} flows` : "flow"} ${flow} from ${name(from)} to ${name(to)}`);
  return [nodes.join(", "), carried.join(", ")].filter(Boolean).map(text => `${text}.`)
    .map(text => text[0].toUpperCase() + text.slice(1)).join(" ");
}
