/* 4_log_attempts.js - the attempts of one batch of a recorded run, stepped through as those of the page's own are. Nothing in
 * the file is trusted: what cannot be placed hangs from the first fragment. */
"use strict";

/* The record in the form of 1_engine.js, as far as drawing needs it. */
function runOf(batch) {
  const tried = (Array.isArray(batch.attempt_list) ? batch.attempt_list : []).filter(a => a && typeof a === "object").slice(0, 2000);
  const nodes = [], of = new Map();
  tried.forEach((a, i) => {
    const key = String(a.fragment);
    if (of.has(key)) return;
    const scenes = numberOf(a, "scenes"), up = of.get(String(a.parent)), own = numberOf(a, "own");
    const n = { id: nodes.length, parent: up ? up.id : nodes.length ? 0 : -1, own, points: Math.max(own, numberOf(a, "points")), axis: -1,
      spatial: a.spatial === true ? 1 : 0, scene: -1, logged: true, children: [], born: i, ended: -1, fate: FATE.OPEN,
      name: a.spatial === true ? "a piece of a scene" : !nodes.length ? "the batch" : scenes === 1 ? "one scene" : `${count(scenes)} scenes` };
    of.set(key, n);
    nodes.push(n);
    if (n.parent >= 0) nodes[n.parent].children.push(n);
  });
  const steps = tried.map(a => ({ node: of.get(String(a.fragment)).id, bytes: numberOf(a, "bytes"), ok: a.outcome === "ok",
    outcome: shown(a.outcome), phase: shown(a.phase), site: shown(a.site), small: numberOf(a, "gather_rows") > 0 }));
  steps.forEach((s, i) => { nodes[s.node].ended = i; });
  for (const n of nodes) {
    const last = steps[n.ended];
    n.fate = last.ok ? FATE.COMMITTED : n.children.length ? (n.children[0].spatial ? FATE.IN_SPACE : FATE.BY_SCENE)
      : batch.error ? FATE.STOPPED : FATE.AT_FLOOR;
    n.children.forEach(k => { k.born = n.ended + 1; }); /* all of them are there once it is split */
  }
  return { nodes, steps };
}

function attemptWords(log, batch, at) {
  if (!at) return `Batch ${shown(batch.batch)}, ${shown(batch.points)} points, before its first attempt.`;
  const s = log.steps[at - 1], n = log.nodes[s.node], again = log.steps.slice(at).some(k => k.node === s.node);
  let text = `Attempt ${at}: ${nameOf(n)}, ${sizeOf(n)}${s.small ? ", smaller workspace" : ""}: `;
  text += s.ok ? `it fits into ${mib(s.bytes / 1024)}, and is committed.`
    : `${s.outcome} at ${mib(s.bytes / 1024)}` + (s.phase ? ` in ${s.phase}` : "") + (s.site ? `, at ${s.site}. ` : ". ");
  if (s.ok) return text;
  return text + (again ? "The same is tried again, by a milder way." : n.fate === FATE.BY_SCENE ? `Split by scene, into ${n.children.length}.`
    : n.fate === FATE.IN_SPACE ? `Split in space, into ${n.children.length}.` : n.fate === FATE.STOPPED ? "The batch ends here."
      : "It was not tried again: dropped, or the log ends here.");
}

/* Replaces what is in `to`: a slider, two buttons, words, memory, the tree. */
function showAttempts(to, batch) {
  const log = runOf(batch), most = Math.max(1, numberOf(batch, "bytes_peak"), ...log.steps.map(s => s.bytes));
  if (!log.steps.length) {
    return to.replaceChildren(element("p", { class: "hint" }, numberOf(batch, "attempts") > 1
      ? "This log does not list the attempts of the batch." : "One attempt, which fitted: there is nothing to step through."));
  }
  const words = element("p", { class: "attempt_words", "aria-live": "polite" }), tree = element("div", { class: "scroll", tabindex: 0,
    role: "region", "aria-label": "tree of the recorded attempts, scrollable" }), memory = element("div");
  const slider = element("input", { type: "range", min: 0, max: log.steps.length, value: 0, "aria-label": "recorded attempt" });
  const prev = element("button", { type: "button", class: "attempt_prev" }, "◀ attempt");
  const next = element("button", { type: "button", class: "attempt_next" }, "attempt ▶");
  let at = 0, chosen = -1;
  function show(i) {
    at = Math.max(0, Math.min(log.steps.length, i));
    slider.value = at;
    prev.disabled = at === 0;
    next.disabled = at === log.steps.length;
    words.textContent = chosen >= 0 && log.nodes[chosen].born <= at
      ? `${nameOf(log.nodes[chosen])}: ${sizeOf(log.nodes[chosen])}, ${fateWords(log.nodes[chosen], fateAt(log, log.nodes[chosen], at))}.`
      : attemptWords(log, batch, at);
    const s = at ? log.steps[at - 1] : null, w = s ? 600 * s.bytes / most : 0;
    memory.replaceChildren(svg("svg", { viewBox: "0 0 600 20", width: "100%", height: 20, preserveAspectRatio: "none", role: "img",
      "aria-label": `device memory of this attempt: ${mib((s ? s.bytes : 0) / 1024)}` },
    svg("rect", { x: 0, y: 0, width: 600, height: 20, style: "fill:var(--panel)" }),
    svg("rect", { x: 0, y: 0, width: w, height: 20, style: `fill:var(--${s && !s.ok ? "dropped" : "committed"})` })),
    element("p", { class: "hint" }, s ? `${mib(s.bytes / 1024)} of device memory at its fullest; the bar is ${mib(most / 1024)} long` : "no attempt yet"));
    drawTree(tree, log, at, chosen, id => { chosen = id === chosen ? -1 : id; show(at); });
  }
  const go = by => { chosen = -1; show(by); };
  prev.addEventListener("click", () => go(at - 1));
  next.addEventListener("click", () => go(at + 1));
  slider.addEventListener("input", () => go(Number(slider.value)));
  const left = numberOf(batch, "attempts_not_listed");
  to.replaceChildren(element("h3", {}, `The attempts of batch ${shown(batch.batch)}`), element("div", { class: "buttons" }, prev, next),
    element("label", { class: "wide" }, slider), words, memory, tree,
    ...(left ? [element("p", { class: "note" }, `${count(left)} more attempts are not in the log.`)] : []));
  show(0);
}
