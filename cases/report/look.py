"""look.py BUILD BISECTOR [FOLDER] - the page in a browser: no message in the console, nothing wider than the screen, on a phone, at a
desk and in the dark; colours that can be read, controls that have names. Pictures of it go to FOLDER."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, sys.argv[2])
import chrome  # noqa: E402
from samples import lines_by_fault, log, result, sweep  # noqa: E402

# text against its background, as WCAG 2 counts it (4.5 for text of this size, 3 for shapes)
CONTRAST = """(() => {
  const light = c => { const v = c.map(x => (x /= 255) <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]; };
  const style = getComputedStyle(document.documentElement), probe = document.body.appendChild(document.createElement('i'));
  const colour = name => { probe.style.color = style.getPropertyValue('--' + name);
    return light(getComputedStyle(probe).color.match(/[0-9.]+/g).slice(0, 3).map(Number)); };
  const ratio = (a, b) => { const x = colour(a), y = colour(b); return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05); };
  const text = ['fg', 'dim', 'link', 'good', 'loss', 'bad', 'refused'];
  const out = [...text.flatMap(n => [[n, 'bg', 4.5], [n, 'panel', 4.5]]), ...['good', 'loss', 'bad', 'refused'].map(n => ['on', n, 4.5]),
    ...['t1', 't6'].map(n => [n, 'bg', 3])].filter(([a, b, least]) => ratio(a, b) < least).map(([a, b]) => `${a} on ${b}: ${ratio(a, b).toFixed(2)}`);
  probe.remove();
  return out; })()"""

# colours that lie beside each other in a picture: how far apart in Lab, as they are and to those who lack a kind of cone (Machado et
# al., severity 1)
ALIKE = """(() => {
  const f = t => t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116, dot = (m, v) => m.map(r => r.reduce((a, x, i) => a + x * v[i], 0));
  const lab = v => { const [x, y, z] = dot([[0.4339, 0.3762, 0.1899], [0.2126, 0.7152, 0.0722], [0.0177, 0.1095, 0.8729]], v).map(f);
    return [116 * y - 16, 500 * (x - y), 200 * (y - z)]; };
  const style = getComputedStyle(document.documentElement), probe = document.body.appendChild(document.createElement('i')), out = [];
  const colour = k => { probe.style.color = style.getPropertyValue('--t' + k);
    return getComputedStyle(probe).color.match(/[0-9.]+/g).slice(0, 3).map(x => (x /= 255) <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4); };
  for (const [eyes, m, least] of [['all', [[1, 0, 0], [0, 1, 0], [0, 0, 1]], 20],
      ['no red', [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]], 15],
      ['no green', [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]], 15]])
    for (let a = 0; a < 7; a++) for (let b = 0; b < a; b++) {
      const [p, q] = [a, b].map(k => lab(dot(m, colour(k)).map(x => Math.max(0, Math.min(1, x)))));
      const apart = Math.hypot(...p.map((x, i) => x - q[i]));
      if (apart < least) out.push(`t${b} and t${a}, ${eyes}: ${apart.toFixed(1)}`);
    }
  probe.remove();
  return out; })()"""

NAMELESS = """[...document.querySelectorAll('button, input, a, summary, svg[role=img], [tabindex]')].filter(e =>
  !e.getAttribute('aria-label') && !e.textContent.trim()).map(e => e.outerHTML.slice(0, 80))"""

program = chrome.find()
if not program:
    print("skipped: chromium is not installed")
    sys.exit(77)
failed = 0
with tempfile.TemporaryDirectory() as d:
    results = [result(k, m, "leak" if k == 7 else "recovered exactly", f"net/a_long_name_of_a_call_site_{k % 9}/gather")
               for k in range(1, 60) for m in ("once", "persistent")]
    results += [result(-1, "budget", budget=1000 + 50 * k) for k in range(8)]
    for name, text in (("s.json", sweep(results)), ("l.jsonl", log(5)), ("f.json", lines_by_fault())):
        with open(os.path.join(d, name), "w", encoding="utf-8") as f:
            f.write(text)
    subprocess.run([os.path.join(sys.argv[1], "bin/oomproof"), "report", "-o", d, os.path.join(d, "s.json"),
                    os.path.join(d, "l.jsonl"), os.path.join(d, "f.json")], capture_output=True, check=False)
    browser = chrome.Chrome(program)
    for width, dark in ((360, False), (390, True), (768, False), (1280, False), (1280, True)):
        browser.size(width, 900, width < 500)
        browser.media(prefers_color_scheme="dark" if dark else "light")
        browser.open("file://" + os.path.join(d, "index.html"))
        browser.js("document.querySelectorAll('details').forEach(e => e.open = true)")
        wide = browser.js("document.documentElement.scrollWidth")
        findings = browser.js("document.querySelectorAll('details[id^=point]').length")
        targets = browser.js("[...document.querySelectorAll('a[href^=\"#\"]')].filter(a => !document.getElementById(a.hash.slice(1))).length")
        if wide > width or findings != 2 or targets:
            print(f"{width} pixels{' in the dark' if dark else ''}: {wide} wide, {findings} findings, {targets} links to nowhere")
            failed = 1
        for what, found in (("contrast", browser.js(CONTRAST)), ("colours that are alike", browser.js(ALIKE)), ("controls without a name", browser.js(NAMELESS))):
            if found:
                print(f"{width} pixels{' in the dark' if dark else ''}: {what}: {found}")
                failed = 1
        if len(sys.argv) > 3:
            os.makedirs(sys.argv[3], exist_ok=True)
            browser.picture(os.path.join(sys.argv[3], f"report-{width}{'dark' if dark else ''}.png"))
    if browser.errors:
        print("the console says:", browser.errors)
        failed = 1
    browser.close()
sys.exit(failed)
