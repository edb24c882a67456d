"""surroundings.py - the machine and the programs that a page was made with, and from which files."""
import os
import platform
import subprocess
import time

from page import esc, table


def first_line(*words):
    try:
        out = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=20, check=False, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError):
        return "not found"
    return (out.stdout or out.stderr).strip().partition("\n")[0] or "says nothing"


def processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as f:
            return next((line.partition(":")[2].strip() for line in f if line.startswith("model name")), platform.machine())
    except OSError:
        return platform.machine()


def memory():
    try:
        return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 1073741824:.1f} GiB"
    except (ValueError, OSError):
        return "unknown"


def system():
    try:
        name = platform.freedesktop_os_release().get("PRETTY_NAME", "")
    except (OSError, AttributeError):
        name = ""
    return f"{name or platform.system()}, {platform.release()}, {platform.machine()}"


def device(sweeps):
    """What the sweeps say of themselves: the option that chose the libraries."""
    words = " ".join(str(s.get("options", "")) for s in sweeps)
    found = [w for w in ("sim", "gpu", "auto") if f"--device {w}" in words]
    names = {"sim": "the simulated device", "gpu": "a GPU", "auto": "a GPU where there is one, else the simulated device"}
    return ", ".join(names[w] for w in found) or "not said"


def section(inputs, oomproof):
    rows = [["oomproof", (first_line(oomproof, "--version"), "l")], ["device of the sweeps", (device(inputs.sweeps), "l")],
            ["system", (system(), "l")], ["processor", (f"{processor()}, {os.cpu_count()} in use", "l")], ["memory", (memory(), "l")],
            ["C compiler", (first_line("cc", "--version"), "l")], ["Python", (platform.python_version(), "l")],
            ["made", (time.strftime("%Y-%m-%d %H:%M:%S %z"), "l")]]
    files = "".join(f"<li class=m>{esc(path)}</li>" for path in inputs.read)
    return table(["what", "which"], rows) + f"<details><summary>Made from {len(inputs.read)} files</summary><ul>{files}</ul></details>"
