/* timeline.js - a picture of memory over time, to zoom and to move. */
'use strict';
for (const box of document.querySelectorAll('.timeline')) {
  const svg = box.querySelector('svg'), begin = +box.dataset.begin, end = +box.dataset.end, all = 902, most = 64;
  const held = new Map();  // where each finger, or the mouse, is down
  let from = 0, wide = all;
  const bar = document.createElement('div'), says = document.createElement('output'), buttons = {};
  const clamp = (x, low, high) => Math.min(high, Math.max(low, x));
  const time = x => (begin + clamp((x - 1) / 900, 0, 1) * (end - begin)).toFixed(3);
  const high = +svg.getAttribute('viewBox').split(' ')[3];
  function show() {
    from = clamp(from, 0, all - wide);
    svg.setAttribute('viewBox', `${from} 0 ${wide} ${high}`);
    const box = svg.getBoundingClientRect();  // without a size while its details are closed
    const px = wide / (box.width || all), py = high / (box.height || high);
    for (const g of svg.querySelectorAll('g[data-x]')) {
      g.setAttribute('transform', `translate(${g.dataset.x} ${g.dataset.y}) scale(${px} ${py})`);
      if (g.dataset.room) g.style.display = g.dataset.room / px > 7 * g.textContent.length + 4 ? 'inline' : 'none';
    }
    says.textContent = `${time(from)} s to ${time(from + wide)} s`;
    buttons.out.disabled = buttons.whole.disabled = wide >= all;
    buttons.in.disabled = wide <= all / most;
    buttons.left.disabled = from <= 0;
    buttons.right.disabled = from >= all - wide;
  }
  function zoom(by, at = from + wide / 2) {  // what is at that place stays there
    const next = clamp(wide * by, all / most, all);
    from = at - (at - from) / wide * next;
    wide = next;
    show();
  }
  function move(by) { from += by * wide; show(); }
  const share = x => (x - svg.getBoundingClientRect().left) / svg.getBoundingClientRect().width;
  const at = e => from + share(e.clientX) * wide;
  const middle = () => [...held.values()].reduce((a, x) => a + x, 0) / held.size;
  const spread = () => Math.max(24, Math.max(...held.values()) - Math.min(...held.values()));
  const does = {in: ['+', 'closer', () => zoom(1 / 2)], out: ['\u2212', 'farther', () => zoom(2)],
    left: ['\u25c0', 'earlier', () => move(-1 / 2)], right: ['\u25b6', 'later', () => move(1 / 2)],
    whole: ['whole', 'the whole run', () => zoom(all)]};
  for (const [name, [text, label, act]] of Object.entries(does)) {
    const b = buttons[name] = document.createElement('button');
    b.type = 'button';
    b.textContent = text;
    b.setAttribute('aria-label', label);
    b.dataset.does = name;
    b.onclick = act;
    bar.append(b);
  }
  const keys = {'+': 'in', '=': 'in', '-': 'out', ArrowLeft: 'left', ArrowRight: 'right', 0: 'whole'};
  svg.onkeydown = e => {
    if (e.ctrlKey || e.metaKey || e.altKey || !(e.key in keys)) return;
    e.preventDefault();
    does[keys[e.key]][2]();
  };
  svg.onwheel = e => {  // without the key, the page scrolls
    if (!e.ctrlKey) return;
    e.preventDefault();
    zoom(e.deltaY < 0 ? 0.8 : 1.25, at(e));
  };
  svg.onpointerdown = e => { held.set(e.pointerId, e.clientX); svg.setPointerCapture(e.pointerId); };
  svg.onpointermove = e => {  // one moves the picture, two also stretch it: what is between them stays there
    if (!held.has(e.pointerId)) return;
    const place = from + share(middle()) * wide, before = spread();
    held.set(e.pointerId, e.clientX);
    wide = clamp(wide * before / spread(), all / most, all);
    from = place - share(middle()) * wide;
    show();
  };
  svg.onpointerup = svg.onpointercancel = e => { held.delete(e.pointerId); };
  svg.ondblclick = e => zoom(1 / 2, at(e));
  svg.setAttribute('preserveAspectRatio', 'none');
  svg.setAttribute('role', 'group');
  svg.setAttribute('tabindex', '0');
  box.classList.add('moves');
  const touch = matchMedia('(pointer: coarse)').matches;
  bar.append(says, ` \u00b7 drag to move, ${touch ? 'two fingers or +' : 'Ctrl and the wheel'} to zoom`);
  box.append(bar);
  new ResizeObserver(show).observe(svg);
  show();
}
