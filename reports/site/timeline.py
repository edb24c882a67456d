"""timeline.py - device memory over time, from a trace: a picture for everybody, which a script makes one to zoom and to move."""
from page import esc

WIDE, HIGH = 902, 204
COLUMNS = 7200  # 8 for each of the picture's own: what is there to be seen when it is zoomed

STYLE = """<style>.timeline{margin:1em 0}.timeline svg{width:100%;aspect-ratio:902/204;display:block}
.timeline polyline{vector-effect:non-scaling-stroke}.timeline.moves svg{touch-action:pan-y;cursor:grab}
.timeline button{font:inherit;min-width:2.6em;min-height:2.6em;margin:.3em .3em 0 0}</style>"""

SCRIPT = """<script>
for (const box of document.querySelectorAll('.timeline')) {
  const svg = box.querySelector('svg'), end = +box.dataset.end, all = 902, most = 64;
  let from = 0, wide = all, held = null;
  const bar = document.createElement('div'), says = document.createElement('output'), buttons = {};
  const clamp = (x, low, high) => Math.min(high, Math.max(low, x));
  const time = x => (clamp((x - 1) / 900, 0, 1) * end).toFixed(3);
  function show() {
    from = clamp(from, 0, all - wide);
    svg.setAttribute('viewBox', `${from} 0 ${wide} 204`);
    for (const g of svg.querySelectorAll('g'))
      g.setAttribute('transform', `translate(${g.dataset.x} 0) scale(${wide / all} 1)`);
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
  const at = e => from + (e.clientX - svg.getBoundingClientRect().left) / svg.clientWidth * wide;
  const does = {in: ['+', 'closer', () => zoom(1 / 2)], out: ['\\u2212', 'farther', () => zoom(2)],
    left: ['\\u25c0', 'earlier', () => move(-1 / 2)], right: ['\\u25b6', 'later', () => move(1 / 2)],
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
  svg.onpointerdown = e => { held = at(e); svg.setPointerCapture(e.pointerId); };
  svg.onpointermove = e => { if (held !== null) { from -= at(e) - held; show(); } };
  svg.onpointerup = svg.onpointercancel = () => { held = null; };
  svg.ondblclick = e => zoom(1 / 2, at(e));
  svg.setAttribute('preserveAspectRatio', 'none');
  svg.setAttribute('role', 'group');
  svg.setAttribute('tabindex', '0');
  box.classList.add('moves');
  bar.append(says, ' \\u00b7 drag to move, Ctrl and the wheel to zoom');
  box.append(bar);
  show();
}
</script>"""


def levels(events):
    """(second, live bytes after the call) of each, and the calls that failed."""
    held, live, points, fails = {}, 0, [], []
    for e in events:
        if "call" not in e:
            continue
        pointer, size = e.get("pointer", 0), -(-e.get("bytes", 0) // 512) * 512
        if e.get("result"):
            fails.append((e.get("seconds", 0), e))
        elif pointer and "Free" not in str(e["call"]):
            held[pointer] = size
            live += size
        elif pointer:
            live -= held.pop(pointer, 0)
        points.append((e.get("seconds", 0), live))
    return points, fails


def place(second, end):
    return 1 + 900 * second / end


def picture(trace):
    points, fails = levels(trace["events"])
    if not points:
        return ""
    end, top = max(points[-1][0], 1e-9), max(max(p[1] for p in points), 1)
    columns = {}
    for t, n in points:  # the most in each column
        x = min(int(COLUMNS * t / end), COLUMNS - 1)
        columns[x] = max(columns.get(x, 0), n)
    path = " ".join(f"{place(x, COLUMNS):g},{HIGH - 4 - 180 * n / top:.1f}" for x, n in sorted(columns.items()))
    marks = "".join(
        f'<g class=bad data-x="{place(t, end):.2f}" transform="translate({place(t, end):.2f} 0)"><title>{esc(e.get("call"))} of '
        f'{esc(e.get("bytes"))} bytes failed with {esc(e.get("result"))} in {esc(e.get("phase"))} at {esc(e.get("site"))}</title>'
        '<path d="M-5 4l5 10l5 -10z" fill="currentColor"/></g>' for t, e in fails[:400])
    return (f"<h3>Device memory over time</h3><p class=m>{esc(trace['path'])}: {top / 1048576:.1f} MiB at most, {len(fails)} failures, "
            f"{end:.2f} s</p><div class=timeline data-end=\"{end:.6f}\"><svg viewBox='0 0 {WIDE} {HIGH}' role=img "
            f"aria-label='live device bytes over time'><polyline points='{path}' fill=none stroke=currentColor stroke-width=1.5 />"
            f"{marks}</svg></div>")


def section(traces):
    pictures = "".join(map(picture, traces))
    return STYLE + pictures + SCRIPT if pictures else ""
