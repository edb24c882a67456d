/* 4_log.js - a run recorded by the trainer's --log: nothing in the file is trusted. */
"use strict";
const LOG_COLUMNS = ["batch", "points", "trained", "dropped", "attempts", "retries", "splits_scene", "splits_space",
  "wasted_forward", "wasted_backward", "bytes_peak", "loss", "seconds", "seconds_recover"];
/* as the report says it */
const LOG_TITLES = { wasted_forward: "forward passes rolled back after their end", wasted_backward: "backward passes rolled back" };
const LOG_SHOWN = 500; /* batches drawn; the sums are over all */

function readLog(text) {
  const out = { batches: [], summary: null, notes: [] };
  text.split("\n").forEach((line, i) => {
    if (!line.trim()) return;
    let row;
    try { row = JSON.parse(line); } catch (e) { row = null; }
    if (row === null || typeof row !== "object" || Array.isArray(row))
      out.notes.push(`line ${i + 1} is not a JSON object`);
    else if (row.summary && typeof row.summary === "object") out.summary = row.summary;
    else if (Number.isFinite(row.batch) && Number.isFinite(row.attempts)) out.batches.push(row);
    else out.notes.push(`line ${i + 1} is not about a batch`);
  });
  if (!out.summary) out.notes.push("there is no last line with the summary: the run was cut short, or goes on");
  return out;
}

const numberOf = (row, key) => Number.isFinite(row[key]) && row[key] >= 0 ? row[key] : 0;
const sumOf = (rows, key) => rows.reduce((a, r) => a + numberOf(r, key), 0);
const shown = v => typeof v === "number" ? (Number.isInteger(v) ? count(v) : v.toPrecision(4)) : String(v ?? "").slice(0, 200);

/* Attempts of each batch: committed below, failed above with stripes. */
function drawBars(log, chosen, choose) {
  const rows = log.batches.slice(0, LOG_SHOWN), w = Math.max(8, Math.min(34, Math.floor(640 / rows.length))), tall = 130;
  const most = Math.max(1, ...rows.map(r => numberOf(r, "attempts")));
  const picture = svg("svg", { width: w * rows.length + 40, height: tall + 30, role: "img",
    "aria-label": `attempts of ${rows.length} batches, at most ${most}` });
  picture.append(svg("defs", {}, svg("pattern", { id: "stripes", width: 5, height: 5, patternUnits: "userSpaceOnUse",
    patternTransform: "rotate(45)" }, svg("rect", { width: 5, height: 5, style: "fill:var(--dropped)" }),
  svg("rect", { width: 2, height: 5, style: "fill:var(--bg)" }))));
  const axis = svg("text", { x: 0, y: 12 });
  axis.textContent = most;
  picture.append(axis);
  rows.forEach((r, i) => {
    const all = numberOf(r, "attempts"), failed = Math.min(all, numberOf(r, "retries") + (r.error ? 1 : 0));
    const x = 34 + i * w, y = n => tall - tall * n / most;
    const g = svg("g", { class: "node" });
    const title = svg("title");
    title.textContent = `batch ${shown(r.batch)}: ${all} attempts, ${failed} failed`;
    g.append(title, svg("rect", { x, y: 0, width: w, height: tall + 26, style: "fill:transparent" }),
      svg("rect", { x: x + 1, y: y(all - failed), width: w - 2, height: tall - y(all - failed), style: "fill:var(--committed)" }),
      svg("rect", { x: x + 1, y: y(all), width: w - 2, height: y(all - failed) - y(all), style: "fill:url(#stripes)" }));
    if (i === chosen) g.append(svg("path", { d: `M${x + w / 2} ${tall + 4}l6 10h-12z`, style: "fill:var(--accent)" }));
    if (numberOf(r, "dropped") || r.error) {
      const mark = svg("text", { x: x + w / 2, y: tall + 28 });
      mark.textContent = r.error ? "!" : "✕";
      g.append(mark);
    }
    g.addEventListener("click", () => choose(i));
    picture.append(g);
  });
  return picture;
}

function batchWords(r) {
  const retries = numberOf(r, "retries"), seconds = numberOf(r, "seconds");
  let text = `Batch ${shown(r.batch)}: ${shown(r.points)} points in ${shown(r.attempts)} attempts, `;
  text += retries ? `${count(retries)} of them failed and were recovered` : "none of which failed and was recovered";
  text += ` (${shown(r.splits_scene)} ${r.splits_scene === 1 ? "split" : "splits"} by scene, ${shown(r.splits_space)} in space); `;
  text += `${shown(r.trained)} points trained, ${shown(r.dropped)} dropped.`;
  if (seconds) text += ` Recovery took ${percent(numberOf(r, "seconds_recover") / seconds)} of its ${shown(seconds)} s.`;
  if (Number.isFinite(r.bytes_peak)) text += ` Peak ${mib(r.bytes_peak / 1024)} of device memory.`;
  if (r.error) text += ` It failed: ${shown(r.error)}`;
  return text;
}

function showLog(to, log) {
  let at = 0;
  const rows = log.batches;
  const notes = log.notes.slice(0, 20).map(n => element("p", { class: "note" }, n));
  if (log.notes.length > 20) notes.push(element("p", { class: "note" }, `and ${log.notes.length - 20} more lines like these`));
  if (!rows.length) return to.replaceChildren(...notes, element("p", {}, "No batch in this file."));
  const attempts = sumOf(rows, "attempts"), retries = sumOf(rows, "retries"), seconds = sumOf(rows, "seconds");
  const sum = element("p", { id: "run_sum" }, `${count(rows.length)} batches, ${count(attempts)} attempts, ${count(retries)} `
    + `failed and recovered (${percent(attempts ? retries / attempts : 0)}), ${count(sumOf(rows, "wasted_forward"))} forward passes `
    + `rolled back after their end; ${count(sumOf(rows, "dropped"))} of ${count(sumOf(rows, "points"))} points dropped`
    + (seconds ? `; recovery took ${percent(sumOf(rows, "seconds_recover") / seconds)} of the time.` : "."));
  const attemptTree = element("div", { id: "run_attempts" });
  const words = element("p", { id: "run_words" }), bars = element("div", { class: "scroll" }), table = element("table");
  const prev = element("button", { type: "button", id: "run_prev" }, "◀ batch");
  const next = element("button", { type: "button", id: "run_next" }, "batch ▶");
  table.append(element("tr", {}, ...LOG_COLUMNS.map(c => element("th", {}, LOG_TITLES[c] || c.replace(/_/g, " ")))),
    ...rows.slice(0, LOG_SHOWN).map(r => element("tr", {}, ...LOG_COLUMNS.map(c => element("td", {}, shown(r[c]))))));
  function show(i) {
    at = Math.max(0, Math.min(Math.min(rows.length, LOG_SHOWN) - 1, i));
    words.textContent = batchWords(rows[at]);
    bars.replaceChildren(drawBars(log, at, show));
    prev.disabled = at === 0;
    next.disabled = at === Math.min(rows.length, LOG_SHOWN) - 1;
    [...table.rows].forEach((row, k) => row.classList.toggle("now", k === at + 1));
    showAttempts(attemptTree, rows[at]);
  }
  prev.addEventListener("click", () => show(at - 1));
  next.addEventListener("click", () => show(at + 1));
  to.replaceChildren(...notes, sum, element("p", { class: "hint" },
    "Attempts of each batch: filled, committed; striped, failed. ✕: points dropped, !: the batch failed."
    + (rows.length > LOG_SHOWN ? ` The first ${LOG_SHOWN} are drawn.` : "")), bars,
  element("div", { class: "buttons" }, prev, next), words, attemptTree,
  element("details", {}, element("summary", {}, "All numbers"),
    element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "table of batches, scrollable" }, table)));
  const worst = rows.slice(0, LOG_SHOWN).reduce((a, r, i, all) => numberOf(r, "retries") > numberOf(all[a], "retries") ? i : a, 0);
  show(worst);
}
