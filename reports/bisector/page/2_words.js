/* 2_words.js - what happened, in sentences. */
"use strict";
const count = n => n.toLocaleString("en-US");
const short = n => n < 1000 ? String(n) : n < 9950 ? (n / 1000).toFixed(1) + "k" : Math.round(n / 1000) + "k";
const mib = kib => (kib / 1024).toFixed(kib < 10240 ? 2 : 1) + " MiB";
const percent = x => (x > 0 && x < 0.001 ? "< 0.1" : (100 * x).toFixed(x < 0.0995 && x > 0 ? 1 : 0)) + " %";
const AXIS = ["x", "y", "z"];

function nameOf(n) {
  if (n.name) return n.name; /* of a recorded run */
  if (n.scene < 0) return "the batch";
  return (n.spatial ? "a piece of scene " : "scene ") + (n.scene + 1);
}

function sizeOf(n) {
  const halo = n.points - n.own;
  return `${count(n.own)} points` + (halo > 0 ? ` and ${count(halo)} of halo` : "");
}

function fateWords(n, fate) {
  const axis = n.children.length ? n.children[0].axis : -1;
  return ["waits in the queue", "committed", "split by scene", axis < 0 ? "split in space" : `split in space along ${AXIS[axis]}`,
    "dropped, at the floor", "dropped, since a cut brings nothing", "ended the batch", "never tried"][fate];
}

function afterwards(run, step) {
  const n = run.nodes[step.node], pieces = n.children.filter(k => k.fate !== FATE.AT_FLOOR || k.ended > k.born);
  const skipped = n.children.filter(k => k.fate === FATE.AT_FLOOR && k.born === k.ended + 1);
  const axis = n.children.length ? AXIS[n.children[0].axis] : "";
  switch (step.remedy) {
  case REMEDY.COMMIT: return "It fits: the gradient is committed and its points are in the ledger.";
  case REMEDY.AGAIN: return "Unused blocks go back to the driver, and the same is tried again.";
  case REMEDY.CHUNKS: return "Next: the same with a smaller gather workspace.";
  case REMEDY.SPLIT_SCENES: return `Split by scene: ${n.children.length} scenes go to the back of the queue.`;
  case REMEDY.SPLIT_SPACE:
    if (!n.children.length) return "Split in space, and all its points are on one side: the same again, for ever.";
    return `Split in space${axis ? " along " + axis : ""}: ` + (pieces.length === 1 && skipped.length
      ? "one piece goes to the back of the queue, " : `${pieces.length} pieces go to the back of the queue`
        + (skipped.length ? ", " : "."))
      + (skipped.length ? `${count(skipped.reduce((a, k) => a + k.own, 0))} points are skipped: too few.` : "");
  case REMEDY.DROP: return n.fate === FATE.NO_GAIN
    ? "With its halo no piece would be smaller: dropped, and named in the ledger."
    : "At the floor of 500 points: dropped.";
  default: return "The failure goes to the user, and the batch ends here.";
  }
}

function sentence(run, at) {
  const t = run.totals;
  if (at === 0)
    return `A batch of ${run.settings.scenes} scenes, ${count(t.points)} points, waits for its first attempt. `
      + "Press next, or the right arrow key.";
  const s = run.steps[at - 1], n = run.nodes[s.node];
  let text = `Attempt ${at}: ${nameOf(n)}, ${sizeOf(n)}${s.gather_rows ? ", smaller workspace" : ""}. `;
  const pass = s.forward ? "backward" : "forward";
  if (s.cause === 1) text += `It needs ${mib(s.need_kib)}, there are ${mib(s.room_kib)}: out of memory in the ${pass} pass. `;
  if (s.cause === 2)
    text += run.settings.everything
      ? "The bug strikes, and the handler takes it for an out-of-memory. " : "The bug strikes: not a memory failure. ";
  text += afterwards(run, s);
  if (at === run.steps.length && t.end === END.ENDLESS)
    text += " This goes on for ever; the page stops it here.";
  else if (at === run.steps.length && t.end === END.DONE)
    text += " The queue is empty: one optimiser step.";
  return text;
}

/* What a reader should take home from the run as a whole; nodes at the end only. */
function lesson(run) {
  const t = run.totals, c = run.settings, bug = c.bug > 0;
  const hit = run.steps.filter(s => s.cause === 2).length;
  if (t.end === END.ENDLESS)
    return "All points of the column share x and y, and the original never cuts z: the piece stays what it is, and "
      + `the loop does not end. oomproof’s cut proves an end: for this batch its bound is a formula, not a hope.`;
  if (t.end === END.RAISED)
    return `The bug crashed the batch loudly, at its first failure: “${run.message}”. Nothing was split to find out, `
      + "and no step was taken from half a gradient.";
  let text = "";
  if (bug && c.everything && hit)
    text = `The bug in scene ${c.bug} was taken for an out-of-memory ${count(hit)} times: it dissolved into smaller and `
      + `smaller pieces until ${count(t.dropped)} points were gone, and the run went on without an error. `;
  else if (bug && !hit)
    text = "The bug was not reached: memory ran out before it. ";
  if (c.original)
    return text + `The original zeroes the gradient in every attempt, so the optimiser sees that of the last piece only: `
      + `${percent(t.survives / t.points)} of the batch. Its after-batch hook fired ${count(run.steps.at(-1).callbacks)} `
      + "times, so the curves look as if all of it had been trained.";
  if (t.dropped)
    return text + `${count(t.dropped)} points were dropped and stand in the ledger by name. The divisor of the loss stays `
      + "that of the whole batch, so the others weigh what they always did.";
  return text + (t.splits_space && c.halo === 0
    ? "Every point was trained once, but without a halo points at a cut do not see their neighbours: the sum is not the "
      + "gradient of the whole batch."
    : "Every point was trained exactly once, and the pieces add up to the gradient of the whole batch.");
}
