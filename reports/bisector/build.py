"""build.py PAGE_FOLDER WASM DRIVER OUT - puts the bisector's page together: one file, nothing loaded from elsewhere.

Text of the page's parts is taken as it is; the module becomes base64, the worked example what DRIVER says."""
import base64
import glob
import os
import sys

import example


def sections(module):
    """Numbers of a WebAssembly module's sections; 2 is that of the imports."""
    at, found = 8, []
    while at < len(module):
        found.append(module[at])
        size = shift = 0
        while True:
            at += 1
            size |= (module[at] & 0x7F) << shift
            shift += 7
            if module[at] < 0x80:
                break
        at += 1 + size
    return found


def main(folder, wasm, driver, out):
    def part(name):
        with open(os.path.join(folder, name), encoding="utf-8") as f:
            return f.read()

    with open(wasm, "rb") as f:
        module = f.read()
    if 2 in sections(module):
        sys.exit(f"{wasm} imports something: wasm.c must answer whatever this wasi-libc calls")
    module = base64.b64encode(module).decode()
    scripts = [part(os.path.basename(p)) for p in sorted(glob.glob(os.path.join(folder, "*.js")))]
    page = part("page.html")
    for mark, text in (("/*STYLE*/", part("page.css")), ("<!--EXAMPLE-->", example.html_of(driver)),
                       ("/*SCRIPT*/", "".join([f'const WASM = "{module}";\n'] + scripts))):
        if page.count(mark) != 1:
            sys.exit(f"page.html must hold {mark} once")
        page = page.replace(mark, text)
    os.makedirs(os.path.dirname(out), exist_ok=True)
    with open(out + ".part", "w", encoding="utf-8") as f:
        f.write(page)
    os.replace(out + ".part", out)


if len(sys.argv) != 5:
    sys.exit("usage: build.py PAGE_FOLDER WASM DRIVER OUT")
main(*sys.argv[1:])
