/* 3_draw.js - pictures: the tree, the queue, the memory of an attempt, a scene from above. */
"use strict";
const SVG = "http://www.w3.org/2000/svg";
const LOOK = [
  { css: "open", mark: "", words: "waits in the queue" },
  { css: "committed", mark: "✓", words: "committed" },
  { css: "scene", mark: "S", words: "split by scene" },
  { css: "space", mark: "x", words: "split in space, along x, y or z" },
  { css: "dropped", mark: "✕", words: "dropped: at the floor, or a cut brings nothing" },
  { css: "dropped", mark: "✕", words: "" },
  { css: "stopped", mark: "!", words: "ended the batch" },
  { css: "lost", mark: "–", words: "never tried" },
];

function element(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes || {})) e.setAttribute(k, v);
  e.append(...children);
  return e;
}

function svg(tag, attributes, ...children) {
  const e = document.createElementNS(SVG, tag);
  for (const [k, v] of Object.entries(attributes || {})) e.setAttribute(k, v);
  e.append(...children);
  return e;
}

/* The fate of a node as it is known after `at` attempts. */
function fateAt(run, n, at) {
  if (n.ended >= 0 ? n.ended < at : at === run.steps.length) return n.fate;
  return FATE.OPEN;
}

function markOf(n, fate) {
  if (fate === FATE.IN_SPACE) return n.children.length && n.children[0].axis >= 0 ? AXIS[n.children[0].axis] : n.logged ? "÷" : "↻";
  return LOOK[fate].mark;
}

function drawLegend(to) {
  to.replaceChildren(...LOOK.filter(l => l.words).map(l => element("li", {},
    svg("svg", { width: 20, height: 20, class: "node", "aria-hidden": "true" },
      svg("circle", { cx: 10, cy: 10, r: 8.5, style: `fill:var(--${l.css})` }),
      Object.assign(svg("text", { x: 10, y: 14, style: `fill:var(--in-${l.css})` }), { textContent: l.mark })),
    l.words)));
}

/* Places for all nodes, so that the tree does not move while it grows. */
function layout(run) {
  const place = [], step = 46, row = 72;
  let leaves = 0, deepest = 0;
  (function visit(n, depth) {
    deepest = Math.max(deepest, depth);
    n.children.forEach(k => visit(k, depth + 1));
    const first = n.children[0], last = n.children.at(-1);
    const x = first ? (place[first.id].x + place[last.id].x) / 2 : step * (0.5 + leaves++);
    place[n.id] = { x, y: 24 + row * depth };
  })(run.nodes[0], 0);
  return { place, width: Math.max(step * leaves, 60), height: 56 + row * deepest };
}

const radius = (n, biggest) => 8 + 10 * Math.sqrt(Math.min(1, n.own / Math.max(1, biggest)));

function drawTree(to, run, at, chosen, choose) {
  run.layout ||= layout(run);
  const { place, width, height } = run.layout, biggest = run.nodes[0].own;
  const seen = run.nodes.filter(n => n.born <= at);
  const now = at ? run.steps[at - 1].node : -1;
  const picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `${seen.length} fragments so far; the table of attempts says the same in words` });
  for (const n of seen) {
    if (n.parent < 0) continue;
    const a = place[n.parent], b = place[n.id], from = a.y + radius(run.nodes[n.parent], biggest) + 15;
    picture.append(svg("path", { class: "edge", d: `M${a.x} ${from}C${a.x} ${from + 16} ${b.x} ${b.y - 34} ${b.x} ${b.y}` }));
  }
  for (const n of seen) {
    const fate = fateAt(run, n, at), p = place[n.id], r = radius(n, biggest);
    const g = svg("g", { class: "node" + (n.id === now ? " now" : "") + (n.id === chosen ? " chosen" : ""),
      "data-node": n.id });
    const title = svg("title");
    title.textContent = `${nameOf(n)}: ${sizeOf(n)}, ${fateWords(n, fate)}`;
    const mark = svg("text", { x: p.x, y: p.y + 4, style: `fill:var(--in-${LOOK[fate].css})` });
    mark.textContent = markOf(n, fate);
    const size = svg("text", { x: p.x, y: p.y + r + 12, "font-size": 11 });
    size.textContent = short(n.own);
    g.append(title, svg("circle", { cx: p.x, cy: p.y, r, style: `fill:var(--${LOOK[fate].css})` }), mark, size);
    g.addEventListener("click", () => choose(n.id));
    picture.append(g);
  }
  const left = to.scrollLeft;
  to.replaceChildren(picture);
  to.scrollLeft = left;
  const x = place[Math.max(now, 0)].x;
  if (x < left + 30 || x > left + to.clientWidth - 30) to.scrollLeft = x - to.clientWidth / 2;
}

function drawQueue(to, run, at) {
  const ended = at === run.steps.length;
  const ids = ended ? [] : run.steps[at].queue, before = at ? new Set(run.steps[at - 1].queue) : new Set(ids);
  to.replaceChildren(...ids.map((id, i) => {
    const n = run.nodes[id];
    return element("li", { class: (i ? "" : "front ") + (before.has(id) ? "" : "new") },
      `${i ? "" : "next: "}${nameOf(n)}`, element("br"), `${short(n.own)} points`);
  }));
  if (!ids.length) {
    const lost = run.nodes.filter(n => n.fate === FATE.LOST).length;
    to.append(element("li", { class: "none" }, lost ? `the batch has ended; ${lost} fragments were never tried`
      : "the queue is empty: the batch is done"));
  }
}

/* Two bars over one scale: what the attempt needs, what there is. */
function drawMemory(to, run, at) {
  const budget = run.settings.budget_kib;
  const s = at ? run.steps[at - 1] : null, need = s ? s.need_kib : 0;
  const free = s ? s.room_kib : budget * (100 - run.settings.kept_percent) / 100;
  const scale = Math.max(need, budget);
  const picture = svg("svg", { viewBox: "0 0 600 52", width: "100%", height: 52, preserveAspectRatio: "none", role: "img",
    "aria-label": `the attempt needs ${mib(need)}, free are ${mib(free)} of ${mib(budget)}` });
  const w = kib => 600 * kib / scale;
  picture.append(
    svg("rect", { x: 0, y: 2, width: w(need), height: 20, style: `fill:var(--${s && s.cause === 1 ? "dropped" : "committed"})` }),
    svg("rect", { x: 0, y: 28, width: w(free), height: 20, style: "fill:var(--lost)" }),
    svg("rect", { x: w(free), y: 28, width: w(budget - free), height: 20, style: "fill:var(--space)" }),
    svg("path", { d: `M${w(free)} 0V52`, style: "stroke:var(--fg);stroke-width:2;vector-effect:non-scaling-stroke;stroke-dasharray:4 3" }));
  const kept = budget - free;
  to.replaceChildren(picture, element("p", { class: "hint" },
    (s ? `above: the attempt needs ${mib(need)}; ` : "") + `below: the budget of ${mib(budget)}`
    + (kept >= 1 ? `, of which ${mib(kept)} lie in kept blocks` : ", all of it free")));
}

/* The pieces of a scene, from above; of a column, from the side. */
function drawPlan(to, run, at, id) {
  const n = run.nodes[id];
  if (!n || n.scene < 0) return to.replaceChildren();
  const mine = run.nodes.filter(k => k.scene === n.scene && k.born <= at);
  const leaves = mine.filter(k => !k.children.some(c => c.born <= at)), top = mine[0];
  const flat = top.x1 - top.x0 < 50;
  const box = k => flat ? [0, k.z0, 1000, k.z1 - k.z0] : [k.x0, k.y0, k.x1 - k.x0, k.y1 - k.y0];
  const [x0, y0, w, h] = box(top), scale = 200 / Math.max(w, h);
  const wide = flat ? 60 : w * scale, tall = h * scale;
  const picture = svg("svg", { width: wide + 4, height: tall + 4, role: "img",
    "aria-label": `scene ${n.scene + 1} ${flat ? "from the side" : "from above"}, ${leaves.length} pieces` });
  for (const k of leaves) {
    const [x, y, dx, dy] = box(k), fate = fateAt(run, k, at);
    picture.append(svg("rect", { x: 2 + (x - x0) * (flat ? 0 : scale), y: 2 + (y - y0) * scale,
      width: Math.max(2, flat ? 56 : dx * scale), height: Math.max(2, dy * scale),
      style: `fill:var(--${LOOK[fate].css});stroke:var(--fg);stroke-width:${k.id === id ? 3 : 1};fill-opacity:.75` }));
    const text = svg("text", { x: 2 + (flat ? 28 : (x - x0 + dx / 2) * scale), y: 6 + (y - y0 + dy / 2) * scale,
      style: `fill:var(--in-${LOOK[fate].css});text-anchor:middle` });
    text.textContent = LOOK[fate].mark;
    picture.append(text);
  }
  to.replaceChildren(element("p", { class: "hint" },
    `Scene ${n.scene + 1} ${flat ? "from the side" : "from above"}: ${leaves.length === 1 ? "whole" : leaves.length + " pieces"}`), picture);
}
