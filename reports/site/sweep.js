/* sweep.js - the fault point that a reader chose: its stack, how it ended, the command that repeats it. Everything from
 * the files becomes text, never markup. */
'use strict';
(() => {
  document.documentElement.classList.add('scripts');
  const panel = document.getElementById('point'), known = new Map();
  let at = null;
  const make = (tag, ...inside) => {
    const e = document.createElement(tag);
    e.append(...inside);
    return e;
  };
  const many = (n, what) => `${n.toLocaleString('en-US')} ${what}${n === 1 ? '' : 's'}`;

  function read(id) {  // once, when it is first asked for
    if (!known.has(id)) {
      const d = JSON.parse(document.getElementById(id).textContent), points = new Map();
      for (const r of d.rows) points.has(r[0]) ? points.get(r[0]).push(r) : points.set(r[0], [r]);
      known.set(id, {...d, points});
    }
    return known.get(id);
  }

  function run(d, r) {
    const name = i => d.names[i], verdict = name(r[8]), box = make('div');
    const ends = make('strong', `${d.letters[verdict] || 'X'} ${verdict}`);
    ends.className = {E: 'good', D: 'loss', R: 'refused'}[d.letters[verdict]] || 'bad';
    const after = [many(r[9], 'retry').replace('retrys', 'retries'), many(r[10], 'split')];
    if (r[11]) after.push(`${many(r[11], 'point')} left out`);
    box.append(make('p', `${name(r[6]) === 'oom' ? 'Out of memory' : name(r[6])}, `
      + `${name(r[7]) === 'once' ? 'once' : 'this and all later ones'}: `, ends, ` \u2014 ${after.join(', ')}`
      + (name(r[14]) ? `; then a second fault at ${name(r[14])}` : '')
      + (r[12] >= 0 ? '; its first retry was in the very state of an earlier run, whose verdict it takes over' : '') + '.'));
    if (name(r[15])) box.append(make('p', name(r[15])));
    box.append(make('pre', `${d.options || 'oomproof sweep'} --point ${r[0]} --${name(r[7])} -- ${d.command}`));
    return box;
  }

  function show(b) {
    if (at) at.classList.remove('at');
    at = b;
    b.classList.add('at');
    const d = read(b.closest('.grid').dataset.of), of = d.points.get(+b.dataset.p), r = of[0], name = i => d.names[i];
    const close = make('button', '\u2715');
    close.type = 'button';
    close.setAttribute('aria-label', 'close');
    close.onclick = hide;
    panel.replaceChildren(close, make('h3', `Point ${r[0]}: ${name(r[1])} of ${r[5].toLocaleString('en-US')} bytes`),
      make('p', `Call ${r[4]} at `, make('code', name(r[2])), ` in the phase \u201c${name(r[3])}\u201d.`));
    const frames = name(r[13]) ? name(r[13]).split(' < ') : [];
    if (frames.length) {
      const way = make('p', 'The way there: ');
      way.className = 'way';
      frames.reverse().forEach((f, i) => way.append(i ? ' \u2192 ' : '', make('code', f)));
      panel.append(way);
    }
    panel.append(...of.slice(0, 20).map(x => run(d, x)));
    if (of.length > 20) panel.append(make('p', `${of.length - 20} more runs are in the JSON.`));
    panel.hidden = false;
  }

  function hide() {
    panel.hidden = true;
    if (at) at.classList.remove('at');
    at = null;
  }

  for (const grid of document.querySelectorAll('.grid')) {
    grid.tabIndex = 0;
    grid.setAttribute('role', 'group');
    grid.setAttribute('aria-label', 'fault points; arrow keys choose one');
    grid.addEventListener('click', e => {
      const b = e.target.closest('b[data-p]');
      if (b) show(b);
    });
    grid.addEventListener('keydown', e => {
      const by = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[e.key];
      if (e.key === 'Escape') hide();
      if (!by || e.ctrlKey || e.altKey || e.metaKey) return;
      e.preventDefault();
      const all = grid.querySelectorAll('b[data-p]');
      let i = at && grid.contains(at) ? [...all].indexOf(at) + by : 0;
      i = Math.min(all.length - 1, Math.max(0, i));
      show(all[i]);
      all[i].scrollIntoView({block: 'nearest'});
    });
  }
})();
