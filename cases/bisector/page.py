"""page.py - the bisector's page in a browser, as a reader uses it; what the cases of the page share."""
import atexit
import json
import os
import sys

import chrome


class Page:
    def __init__(self, path):
        if not os.path.exists(path):
            print(f"skipped: {path} was not built (clang, wasm-ld, wasi-libc, libclang-rt-dev-wasm32)")
            sys.exit(77)
        program = chrome.find()
        if not program:
            print("skipped: chromium is not installed")
            sys.exit(77)
        self.url, self.c = "file://" + os.path.abspath(path), chrome.Chrome(program)
        self.failed = 0
        atexit.register(self.c.close)

    def open(self, settings=""):
        self.c.open("about:blank")
        self.c.open(self.url + "#" + settings)
        self.until("window.bisector && !document.getElementById('app').hidden")

    def js(self, expression):
        return self.c.js(expression)

    def until(self, condition):
        """Waits for the page itself to say so; the browser's own time-out ends it."""
        self.c.js(f"""new Promise((done, no) => {{ let n = 0; const t = setInterval(() => {{
            if ({condition}) {{ clearInterval(t); done(); }}
            else if (++n > 20000) {{ clearInterval(t); no(new Error({json.dumps(condition)})); }} }}, 10); }})""")

    def text(self, selector):
        return self.js(f"document.querySelector({json.dumps(selector)}).innerText")

    def set(self, selector, value):
        """Puts a value into an input or select as typing would, and waits for the new run."""
        self.js("window.before = bisector.shown().run")
        self.js(f"""(() => {{ const e = document.querySelector({json.dumps(selector)}); e.value = {json.dumps(str(value))};
            e.dispatchEvent(new Event('input', {{bubbles: true}})); }})()""")
        self.until("bisector.shown().run !== before")

    def go(self, to):
        """The slider of attempts, moved to an expression's value."""
        self.js(f"(e => {{ e.value = {to}; e.dispatchEvent(new Event('input', {{bubbles: true}})); }})"
                "(document.getElementById('at'))")

    def press(self, selector):
        """A click that changes the settings."""
        self.js("window.before = bisector.shown().run")
        self.c.click(selector)
        self.until("bisector.shown().run !== before")

    def at(self):
        return self.js("bisector.shown().at")

    def steps(self):
        return self.js("bisector.shown().run.steps.length")

    def totals(self):
        return self.js("bisector.shown().run.totals")

    def want(self, condition, what):
        if condition:
            return
        self.failed += 1
        print("not so:", what)

    def end(self):
        for e in self.c.errors:
            self.want(False, "no errors on the console: " + e)
        sys.exit(1 if self.failed else 0)
