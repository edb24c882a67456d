/* 5_main.js - controls, steps, and the address that repeats what is shown. */
"use strict";
const $ = id => document.getElementById(id);
const PACE = 700; /* ms an attempt, when it plays */
let engine, run, at = 0, chosen = -1, timer = 0;

const whole = (text, least, most, otherwise) => {
  const n = Math.round(Number(text));
  return text !== "" && Number.isFinite(n) ? Math.min(most, Math.max(least, n)) : otherwise;
};
const radio = name => Number(document.querySelector(`input[name=${name}]:checked`).value);

/* Beside a control, what was not taken as it was given; nothing where all was. */
function say(control, text) {
  const place = control.closest(".choice, label");
  let said = place.querySelector(".said");
  if (!said && text) place.append(said = element("span", { class: "said", role: "status" }));
  if (said) said.textContent = text;
}

function asked(id, least, most, otherwise) {
  const input = $(id), n = whole(input.value, least, most, otherwise);
  const right = !input.validity.badInput && input.value !== "" && Number(input.value) === n;
  say(input, right ? "" : `not a whole number from ${least} to ${most}: ${n} is taken`);
  return n;
}

function settings() {
  const scenes = asked("scenes", 1, 12, 6);
  return { budget_kib: 512 * Number($("budget").value), scenes, heavy: radio("heavy"),
    seed: asked("seed", 0, 999999, 0), kept_percent: Number($("kept").value),
    alternate: Number($("alternate").value), halo: Number($("halo").value), original: radio("original"),
    everything: radio("everything"), bug: Math.min(scenes, Number($("bug").value)), column: Number($("column").checked),
    chunk: asked("chunk", 1, 12, 1) };
}

/* The address after '#' holds the settings, so that a link repeats what is shown. */
function fromAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  for (const [name, text] of given) {
    const input = $(name), n = Number(text);
    const choices = [...document.querySelectorAll("#controls input[type=radio]")].filter(r => r.name === name);
    const choice = choices.find(r => r.value === text), control = choices[0] || input;
    if (!control || !control.closest("#controls")) continue;
    if (choice) choice.checked = true;
    else if (choices.length || !Number.isInteger(n) || text === "" || name === "column" && n !== 0 && n !== 1)
      say(control, `the address says \u201c${text.slice(0, 40)}\u201d, which cannot be: ignored`);
    else if (name === "column") input.checked = n === 1;
    else if (["scenes", "seed", "budget", "kept", "alternate", "halo", "bug", "chunk"].includes(name)) {
      if (name === "bug") fillBugs(12);
      const before = input.value;
      input.value = text;
      const none = input.tagName === "SELECT" && input.selectedIndex < 0;
      if (none) input.value = before;
      if (none || input.type === "range" && Number(input.value) !== n)
        say(input, `the address says ${n}, which cannot be: ${none ? "ignored" : `${input.value} is nearest`}`);
    }
  }
}

function toAddress() {
  const parts = ["scenes", "seed", "budget", "kept", "alternate", "halo", "bug", "chunk"].map(n => `${n}=${$(n).value}`);
  for (const name of ["heavy", "original", "everything"]) parts.push(`${name}=${radio(name)}`);
  parts.push(`column=${Number($("column").checked)}`);
  try { history.replaceState(null, "", "#" + parts.join("&")); } catch (e) { /* a page without an address of its own */ }
}

function fillBugs(scenes) {
  const before = Number($("bug").value) || 0;
  $("bug").replaceChildren(new Option("none", 0));
  for (let s = 1; s <= scenes; s++) $("bug").append(new Option(`scene ${s}`, s));
  $("bug").value = Math.min(before, scenes);
}

function changed() {
  stop();
  const scenes = whole($("scenes").value, 1, 12, 6);
  if ($("bug").options.length !== scenes + 1) fillBugs(scenes);
  const c = settings();
  $("budget_text").textContent = mib(c.budget_kib);
  $("budget").setAttribute("aria-valuetext", mib(c.budget_kib));
  $("kept_text").textContent = `${c.kept_percent} %`;
  $("kept").setAttribute("aria-valuetext", `${c.kept_percent} %`);
  for (const id of ["alternate", "halo"]) {
    $(id).disabled = c.original === 1;
    $(id).parentElement.classList.toggle("off", c.original === 1);
  }
  run = engine.run(c);
  chosen = -1;
  $("at").max = run.steps.length;
  $("printed").querySelector("pre").textContent = run.printed || "nothing";
  fillTable();
  toAddress();
  show(0);
}

function counter(name, value, more) {
  return element("div", {}, element("dt", {}, name), element("dd", {}, value, element("small", {}, more)));
}

const against = (mine, theirs) => (mine >= theirs ? "+" : "−") + percent(Math.abs(mine / theirs - 1));

function showCounters() {
  const t = run.totals, s = at ? run.steps[at - 1] : { retries: 0, wasted_forward: 0, trained: 0, dropped: 0, work: 0, wasted: 0 };
  const done = s.work + s.wasted, ended = at === run.steps.length, whole_ = ended && t.end === END.DONE;
  const failed = run.steps.slice(0, at).filter(k => k.cause).length;
  const planner = !t.plan_work ? "—" : whole_ ? against(done, t.plan_work) : `${percent(done / t.plan_work)}`;
  const chunk = t.chunk_failed ? "fails" : whole_ ? against(done, t.chunk_work) : `${percent(done / t.chunk_work)}`;
  $("counters").replaceChildren(
    counter("attempts", count(at), `of ${count(run.steps.length)}` + (run.settings.original ? "" : `; proven bound ${count(t.bound)}`)),
    counter("retries", count(s.retries), "failures after which it went on"),
    counter("forward passes rolled back", count(failed), `begun in vain; ${count(s.wasted_forward)} of them had ended`),
    counter("work rolled back", percent(done ? s.wasted / done : 0), "of all work so far"),
    counter(whole_ ? "overhead over a planner that knows all bytes" : "of the work of a planner that knows all bytes", planner,
      `${t.plan_passes} passes, no failure` + (t.plan_dropped ? `, ${count(t.plan_dropped)} points dropped` : "")),
    counter(`${whole_ || t.chunk_failed ? "overhead over" : "of the work of"} accumulation at ${run.settings.chunk} scene${run.settings.chunk > 1 ? "s" : ""} a pass`, chunk,
      t.chunk_failed ? `${t.chunk_failed} of its ${t.chunk_passes} passes do not fit` : `${t.chunk_passes} passes, all fit`),
    counter("points trained", count(s.trained), `of ${count(t.points)}`),
    counter("points dropped", count(s.dropped), s.dropped ? percent(s.dropped / t.points) + " of the batch" : "none"));
}

function showGradient() {
  const survives = at ? run.steps[at - 1].survives : 0, share = survives / run.totals.points;
  const ended = at === run.steps.length;
  $("gradient").replaceChildren(
    element("p", {}, `Gradient that survives${ended ? "" : " so far"}: `, element("strong", { id: "share" }, percent(share)),
      ` of the batch’s points (${count(survives)} of ${count(run.totals.points)}).`),
    svg("svg", { viewBox: "0 0 600 16", width: "100%", height: 16, preserveAspectRatio: "none", role: "img",
      "aria-label": `${percent(share)} of the gradient survives` },
    svg("rect", { x: 0, y: 0, width: 600, height: 16, style: "fill:var(--lost)" }),
    svg("rect", { x: 0, y: 0, width: 600 * share, height: 16, style: "fill:var(--committed)" })));
}

const CAUSE = ["fits", "out of memory", "the bug"];
const DID = ["committed", "the same again", "smaller chunks", "split by scene", "split in space", "dropped", "ended the batch"];

function fillTable() {
  const table = element("table", {}, element("tr", {}, ...["attempt", "fragment", "own", "halo", "voxels", "needs", "free",
    "ends", "then", "queue"].map((h, i) => element("th", i === 1 || i > 6 && i < 9 ? { class: "l" } : {}, h))));
  run.steps.forEach((s, i) => {
    const n = run.nodes[s.node], go = element("button", { type: "button", "aria-label": `go to attempt ${i + 1}` }, String(i + 1));
    go.addEventListener("click", () => { stop(); show(i + 1); });
    table.append(element("tr", {}, element("td", {}, go), element("td", { class: "l" }, nameOf(n)),
      ...[count(n.own), count(n.points - n.own), count(n.voxels), s.cause === 2 ? "" : mib(s.need_kib), mib(s.room_kib)].map(v => element("td", {}, v)),
      element("td", { class: "l" }, CAUSE[s.cause]), element("td", { class: "l" }, DID[s.remedy]), element("td", {}, String(s.queue_n))));
  });
  $("table").querySelector(".scroll").replaceChildren(table);
}

function choose(id) {
  chosen = id;
  show(at);
}

function show(where) {
  at = Math.max(0, Math.min(run.steps.length, where));
  const ended = at === run.steps.length;
  $("at").value = at;
  $("at").setAttribute("aria-valuetext", `${at} of ${run.steps.length}`);
  $("where").textContent = at ? `attempt ${at} of ${run.steps.length}` : `before the first of ${run.steps.length} attempts`;
  $("words").textContent = sentence(run, at);
  $("lesson").textContent = ended ? lesson(run) : "";
  for (const id of ["first", "prev"]) $(id).disabled = at === 0;
  for (const id of ["next", "last", "play"]) $(id).disabled = ended && !timer;
  drawMemory($("memory"), run, at);
  drawQueue($("queue"), run, at);
  if (chosen >= 0 && run.nodes[chosen].born > at) chosen = -1;
  drawTree($("tree"), run, at, chosen, choose);
  const shownNode = chosen >= 0 ? chosen : at ? run.steps[at - 1].node : -1;
  if (shownNode >= 0) {
    const n = run.nodes[shownNode], tried = run.steps.slice(0, at).filter(s => s.node === shownNode).length;
    $("piece").textContent = `${nameOf(n)[0].toUpperCase()}${nameOf(n).slice(1)}: ${sizeOf(n)}, ${count(n.voxels)} voxels, `
      + `tried ${tried} time${tried === 1 ? "" : "s"}: ${fateWords(n, fateAt(run, n, at))}.`;
  } else {
    $("piece").textContent = "Choose a fragment in the tree, or an attempt in the table below, to see what it is.";
  }
  drawPlan($("plan"), run, at, shownNode);
  showCounters();
  showGradient();
  [...$("table").querySelectorAll("tr")].forEach((row, i) => row.classList.toggle("now", i === at && i > 0));
}

function stop() {
  clearTimeout(timer);
  timer = 0;
  $("play").textContent = "play";
  $("play").setAttribute("aria-pressed", "false");
}

function tick() {
  if (at >= run.steps.length) {
    stop();
    return show(at);
  }
  timer = setTimeout(tick, PACE);
  show(at + 1);
}

function togglePlay() {
  if (timer) {
    stop();
    return show(at);
  }
  $("play").textContent = "pause";
  $("play").setAttribute("aria-pressed", "true");
  tick();
}

function keys(e) {
  if (e.ctrlKey || e.altKey || e.metaKey || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName) || e.target.classList.contains("scroll")) return;
  const go = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: run.steps.length }[e.key];
  if (go === undefined) return;
  e.preventDefault();
  stop();
  show(go);
}

async function start() {
  try {
    engine = await loadEngine(WASM);
  } catch (e) {
    $("fault").textContent = `This browser cannot run the WebAssembly of this page (${e.message}). The worked example below needs none.`;
    $("fault").hidden = false;
    return;
  }
  $("app").hidden = false;
  $("example").querySelector("details").open = false;
  $("back").hidden = location.search !== "?report"; /* opened from there: else there may be none beside it */
  fillBugs(6);
  fromAddress();
  drawLegend($("legend"));
  let waiting = 0;
  const later = () => { /* not at every place that a slider passes */
    clearTimeout(waiting);
    waiting = setTimeout(changed, 60);
  };
  $("controls").addEventListener("input", e => { say(e.target, ""); later(); });
  $("controls").addEventListener("submit", e => { e.preventDefault(); later(); });
  $("reseed").addEventListener("click", () => { $("seed").value = (whole($("seed").value, 0, 999999, 0) + 1) % 1000000; later(); });
  for (const [id, by] of [["first", () => 0], ["prev", () => at - 1], ["next", () => at + 1], ["last", () => run.steps.length]])
    $(id).addEventListener("click", () => { stop(); show(by()); });
  $("play").addEventListener("click", togglePlay);
  $("at").addEventListener("input", () => { stop(); show(Number($("at").value)); });
  $("log").addEventListener("click", () => { $("log").value = ""; }); /* the same file again, when it has grown */
  $("log").addEventListener("change", async () => {
    const file = $("log").files[0];
    if (file) showLog($("run"), readLog(await file.text()));
  });
  document.addEventListener("keydown", keys);
  changed();
  window.bisector = { dump: engine.dump, shown: () => ({ run, at }) }; /* for the cases that hold the page against it */
}
start();
