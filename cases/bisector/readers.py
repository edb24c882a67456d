"""readers.py PAGE FOLDER - the bisector's page for all its readers: a phone, a desk, dark mode, no scripts, only a
keyboard; pictures of it go to FOLDER. It asks the network for nothing."""
import os
import re
import sys

from page import Page

# text against its background, as WCAG 2 counts it (4.5 for text of this size, 3 for marks and shapes)
CONTRAST = """(() => {
  const light = c => { const v = c.map(x => (x /= 255) <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]; };
  const style = getComputedStyle(document.documentElement), probe = document.body.appendChild(document.createElement('i'));
  const colour = name => { probe.style.color = style.getPropertyValue('--' + name);
    return light(getComputedStyle(probe).color.match(/[0-9.]+/g).slice(0, 3).map(Number)); };
  const ratio = (a, b) => { const x = colour(a), y = colour(b); return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05); };
  const out = [['fg', 'bg', 4.5], ['dim', 'bg', 4.5], ['dim', 'panel', 4.5], ['accent', 'bg', 4.5], ['on-accent', 'accent', 4.5],
    ['line', 'bg', 3], ...['open', 'committed', 'scene', 'space', 'dropped', 'stopped', 'lost'].map(n => ['in-' + n, n, 4.5])]
    .filter(([a, b, least]) => ratio(a, b) < least).map(([a, b]) => `${a} on ${b}: ${ratio(a, b).toFixed(2)}`);
  probe.remove();
  return out; })()"""

NAMELESS = """[...document.querySelectorAll('button, input, select, a, summary, svg[role=img], [tabindex]')].filter(e =>
  !e.closest('[hidden]') && !e.getAttribute('aria-label') && !(e.labels && e.labels.length) && !e.textContent.trim())
  .map(e => e.outerHTML.slice(0, 80))"""

SMALL = """[...document.querySelectorAll('.buttons button')].filter(e => e.getBoundingClientRect().height < 36).length"""


def widths(p, folder):
    for width, height, dark in ((360, 640, False), (360, 640, True), (768, 1024, False), (1280, 900, True), (1280, 900, False)):
        p.c.size(width, height, width < 500)
        p.c.media(prefers_color_scheme="dark" if dark else "light")
        p.open("budget=8&seed=7")
        for at in range(0, p.steps() + 1, 9):
            p.go(at)
            wide = p.js("document.documentElement.scrollWidth")
            p.want(wide <= width, f"attempt {at}: a page of {wide} pixels on a screen of {width}")
        name = f"{width}{'dark' if dark else ''}"
        bad = p.js(CONTRAST)
        p.want(not bad, f"{name}: contrast of {bad}")
        p.want(not p.js(NAMELESS), f"{name}: every control has a name: {p.js(NAMELESS)}")
        p.want(p.js(SMALL) == 0, f"{name}: buttons are large enough for a thumb")
        p.c.picture(os.path.join(folder, f"bisector-{name}.png"))


def recorded(p):
    """The player stays with its batch: it lies over nothing of the recorded run, wherever the page is scrolled to."""
    for width in (1280, 390):
        p.c.size(width, 700, width < 500)
        p.open("budget=8&seed=7")
        for block in ("start", "center", "end"):
            over = p.js("""(block => { const log = document.querySelector('[aria-labelledby=h_log]');
                log.scrollIntoView({block, behavior: 'instant'}); const a = log.getBoundingClientRect();
                return [...document.querySelectorAll('#player, #player .buttons')].some(e => { const b = e.getBoundingClientRect();
                  return b.height && b.bottom > a.top + 1 && b.top < a.bottom - 1; }); })(%r)""" % block)
            p.want(not over, f"{width} pixels, {block}: the player lies over the recorded run")
        p.js("scrollTo(0, document.getElementById('tree').getBoundingClientRect().top + scrollY)")
        seen = p.js("(b => b.top >= 0 && b.bottom <= innerHeight)(document.getElementById('next').getBoundingClientRect())")
        p.want(seen, f"{width} pixels: at the tree its buttons are in reach")


def invalid(p):
    """What is given and cannot be is said beside its control."""
    p.c.size(1280, 900)
    said = "(id => { const s = document.getElementById(id).closest('label').querySelector('.said'); return s ? s.textContent : ''; })"
    p.open()
    for control, text, n in (("scenes", "99", 12), ("scenes", "", 6), ("seed", "-3", 0), ("chunk", "2.5", 3)):
        p.set("#" + control, text)
        got = p.js(f"{said}('{control}')")
        p.want(f": {n} is taken" in got, f"{control} of \"{text}\": {got}")
    p.set("#scenes", "5")
    p.want(p.js(f"{said}('scenes')") == "", "nothing is said where it can be")
    p.open("scenes=x&budget=500&halo=7&heavy=3&column=9&bug=2&seed=<b>")
    for control, text in (("scenes", ""), ("budget", "96 is nearest"), ("halo", "ignored"), ("column", "ignored"), ("bug", "")):
        got = p.js(f"{said}('{control}')")
        p.want(text in got and (text or not got or control == "scenes"), f"{control} of the address: {got}")
    p.want("ignored" in p.js("document.querySelector('[aria-label=\"scene sizes\"] .said').textContent"), "a choice that there is not")
    p.want(p.js("document.querySelectorAll('.said b').length") == 0, "and no markup")


def back(p):
    """Alone, it leads to no report."""
    p.open()
    p.want(p.js("document.getElementById('back').hidden"), "alone there is no way back")
    url, p.url = p.url, p.url + "?report"
    p.open()
    p.want(not p.js("document.getElementById('back').hidden"), "opened from the report there is")
    p.url = url


def keyboard(p):
    """Tab reaches everything that can be used, and what has the focus shows it."""
    p.c.size(1280, 900)
    p.open()
    wanted = p.js("""[...document.querySelectorAll('#app button, #app input, #app select, #app summary')].filter(e =>
        !e.disabled && e.checkVisibility() && (e.type !== 'radio' || e.checked)).length""")
    p.js("window.reached = new Set(); document.addEventListener('focusin', e => reached.add(e.target))")
    for _ in range(wanted + 15):
        p.c.key("Tab")
    reached = p.js("[...reached].filter(e => e.closest('#app') && !e.classList.contains('scroll')).length")
    p.want(reached == wanted, f"Tab reaches {reached} of {wanted} controls")


def without_scripts(p, folder):
    p.c.call("Emulation.setScriptExecutionDisabled", value=True)
    p.c.size(360, 640, True)
    p.c.open("about:blank")
    p.c.open(p.url)
    p.c.picture(os.path.join(folder, "bisector-noscript.png"))
    p.c.call("Emulation.setScriptExecutionDisabled", value=False)
    # the page is not loaded again: what is there was there without scripts
    text = p.text("body")
    for words in ("Stepping needs JavaScript", "A worked example", "go to the back of the queue", "It fits, and is committed",
                  "Split in space, along", "What is made up, and what is not"):
        p.want(words in text, "without scripts it says: " + words)
    p.want(p.js("document.getElementById('app').hidden"), "without scripts there are no dead controls")
    p.want(p.js("document.querySelector('#example svg').getBoundingClientRect().height > 100"), "and the tree is drawn")
    p.want(p.js("document.documentElement.scrollWidth <= 360"), "and fits a phone")


def alone(p, path):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    loads = re.findall(r'(?:src|href)\s*=\s*["\']?(?!data:|#|index\.html)[\w./:]+', text.split("<script>")[0])
    p.want(not loads, f"nothing is loaded from elsewhere: {loads}")
    p.want(re.search(r"default-src 'none'", text), "the page forbids itself the network")


def main(path, folder):
    p = Page(path)
    os.makedirs(folder, exist_ok=True)
    widths(p, folder)
    keyboard(p)
    recorded(p)
    invalid(p)
    back(p)
    without_scripts(p, folder)
    alone(p, path)
    p.end()


if len(sys.argv) != 3:
    sys.exit("usage: readers.py PAGE FOLDER")
main(*sys.argv[1:])
