"""lcov.py BISECTOR [FOLDER] - lcov's pages in a browser: on a phone nothing is wider than the screen but code, which is said, and
letters are large enough to be read; dark where that is asked for. Pictures of them go to FOLDER."""
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, sys.argv[1])
import chrome  # noqa: E402

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts/lcov.sh")
CODE = """/* as wide as lines of the house are, and one that does not run */
static int never(int x) { return x > 3 ? x * 2 : x; }
int main(int argc, char **argv)
{
    if (argc > 1 && argv[1][0] == 'x') return never(argc) + never(argc - 1) + never(argc - 2) + never(argc - 3);
    return 0;
}
"""
# the smallest letters that are seen, in pixels
SMALLEST = """Math.min(...[...document.querySelectorAll('td, a, pre')].filter(e => e.getBoundingClientRect().width && e.innerText.trim())
  .map(e => parseFloat(getComputedStyle(e).fontSize)))"""
failed = 0


def want(holds, what):
    global failed
    if not holds:
        print("not so:", what)
        failed = 1


program = chrome.find()
for name, found in (("chromium", program), ("lcov", shutil.which("genhtml")), ("gcc", shutil.which("gcc"))):
    if not found:
        print(f"skipped: {name} is not installed")
        sys.exit(77)
with tempfile.TemporaryDirectory() as d:
    os.makedirs(os.path.join(d, "trainer/recovery"))
    with open(os.path.join(d, "trainer/recovery/a.c"), "w", encoding="utf-8") as f:
        f.write(CODE)
    for words in (("gcc", "--coverage", "-o", "a", "trainer/recovery/a.c"), ("./a",), ("sh", SCRIPT, d, os.path.join(d, "out"))):
        subprocess.run(words, cwd=d, check=True, stderr=subprocess.DEVNULL)
    browser = chrome.Chrome(program)
    for name in ("index.html", "recovery/index.html", "recovery/a.c.gcov.html", "recovery/a.c.func.html"):
        for width, dark in ((390, False), (390, True), (1280, False)):
            browser.size(width, 900, width < 500)
            browser.media(prefers_color_scheme="dark" if dark else "light")
            browser.open("file://" + os.path.join(d, "out", name))
            wide, letters = browser.js("document.documentElement.scrollWidth"), browser.js(SMALLEST)
            want(wide <= width, f"{name}: {wide} pixels wide on {width}")
            want(width > 500 or letters >= 12, f"{name}: letters of {letters} pixels")
            said = browser.js("(e => e && getComputedStyle(e, '::before').content.includes('swipe'))(document.querySelector('.sourceHeading'))")
            want(bool(said) == ("gcov" in name and width < 500), f"{name}, {width} pixels: that code can be swiped: {said}")
            want((browser.js("getComputedStyle(document.documentElement).filter") != "none") == dark, f"{name}: dark: {dark}")
            if len(sys.argv) > 2:
                browser.picture(os.path.join(sys.argv[2], f"lcov-{name.replace('/', '-')}-{width}{'dark' if dark else ''}.png"))
    want(not browser.errors, f"the console says: {browser.errors}")
    browser.close()
sys.exit(failed)
