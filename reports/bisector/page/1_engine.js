/* 1_engine.js - the C code: what goes in, what comes out, in the order of bisect.h. */
"use strict";
const CONFIG = ["budget_kib", "scenes", "heavy", "seed", "kept_percent", "alternate", "halo", "original", "everything",
  "bug", "column", "chunk"];
const NODE = ["parent", "scene", "own", "points", "voxels", "spatial", "axis", "born", "ended", "fate",
  "x0", "y0", "z0", "x1", "y1", "z1"];
const STEP = ["node", "gather_rows", "need_kib", "room_kib", "forward", "backward", "cause", "remedy", "queue_at",
  "queue_n", "retries", "wasted_forward", "trained", "dropped", "survives", "work", "wasted", "callbacks"];
const TOTALS = ["end", "points", "voxels", "trained", "dropped", "survives", "attempts", "retries", "splits_scene",
  "splits_space", "wasted_forward", "wasted_backward", "work", "wasted", "bound", "plan_passes", "plan_work",
  "plan_dropped", "chunk_passes", "chunk_work", "chunk_failed", "chunk_lost"];
const FATE = { OPEN: 0, COMMITTED: 1, BY_SCENE: 2, IN_SPACE: 3, AT_FLOOR: 4, NO_GAIN: 5, STOPPED: 6, LOST: 7 };
const REMEDY = { COMMIT: 0, AGAIN: 1, CHUNKS: 2, SPLIT_SCENES: 3, SPLIT_SPACE: 4, DROP: 5, STOP: 6 };
const END = { DONE: 0, RAISED: 1, ENDLESS: 2 };
const AT = { CONFIG: 0, NODES: 1, STEPS: 2, QUEUE: 3, TOTALS: 4, MESSAGE: 5, PRINTED: 6 };

async function loadEngine(base64) {
  const bytes = Uint8Array.from(atob(base64), c => c.charCodeAt(0));
  const { instance } = await WebAssembly.instantiate(bytes, {});
  const c = instance.exports;
  c._initialize();

  const ints = what => Array.from(new Int32Array(c.memory.buffer, c.bi_at(what), c.bi_count(what)));
  const text = what => new TextDecoder().decode(new Uint8Array(c.memory.buffer, c.bi_at(what), c.bi_count(what)));
  const records = (flat, names) => {
    const out = [];
    for (let i = 0; i < flat.length; i += names.length) {
      const record = {};
      names.forEach((name, k) => { record[name] = flat[i + k]; });
      out.push(record);
    }
    return out;
  };

  /* Every number of a run as the native driver prints it. */
  function dump(config) {
    new Int32Array(c.memory.buffer, c.bi_at(AT.CONFIG), CONFIG.length).set(config);
    const status = c.bi_go();
    if (status !== 0) throw new Error("the module ran out of memory");
    return { nodes: ints(AT.NODES), steps: ints(AT.STEPS), queue: ints(AT.QUEUE), totals: ints(AT.TOTALS),
      message: text(AT.MESSAGE) };
  }

  function run(settings) {
    const raw = dump(CONFIG.map(name => settings[name]));
    const nodes = records(raw.nodes, NODE), steps = records(raw.steps, STEP);
    nodes.forEach((n, id) => { n.id = id; n.children = []; });
    nodes.forEach(n => { if (n.parent >= 0) nodes[n.parent].children.push(n); });
    for (const s of steps) s.queue = raw.queue.slice(s.queue_at, s.queue_at + s.queue_n);
    const totals = records(raw.totals.slice(0, TOTALS.length), TOTALS)[0];
    totals.scene_points = raw.totals.slice(TOTALS.length, TOTALS.length + settings.scenes);
    return { settings, nodes, steps, totals, message: raw.message, printed: text(AT.PRINTED) };
  }
  return { dump, run };
}
