"""output.py - where a page goes. A link stays a link and what it leads to is written; a file that is there is replaced as a
whole; a device or a pipe is written into; and nothing that was read is written over."""
import os
import stat
import tempfile


def through(path):
    """Where a chain of links ends, and whether it leads through an open descriptor (/dev/stdout), which is not to be replaced."""
    for _ in range(40):
        if os.path.realpath(os.path.dirname(path) or ".").startswith("/proc/"):
            return path, True
        if not os.path.islink(path):
            break
        path = os.path.join(os.path.dirname(path), os.readlink(path))
    return os.path.realpath(path), False


def write(path, text):
    try:
        regular = stat.S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        regular = True
    target, handed = through(path)
    if handed and os.path.basename(target).isdigit():  # our own descriptor, where it stands
        with open(os.dup(int(os.path.basename(target))), "w", encoding="utf-8") as file:
            file.write(text)
        return
    if handed or not regular:  # a folder is refused by open itself
        with open(path, "a" if handed else "w", encoding="utf-8") as file:
            file.write(text)
        return
    descriptor, aside = tempfile.mkstemp(prefix=".oomproof-", suffix=".part", dir=os.path.dirname(target))
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(aside, stat.S_IMODE(os.stat(target).st_mode) if os.path.exists(target) else 0o666 & ~umask)
        os.replace(aside, target)
    except BaseException:
        os.unlink(aside)
        raise


def same(a, b):
    try:
        return os.path.samefile(a, b)
    except OSError:
        return os.path.realpath(a) == os.path.realpath(b)


def clash(outputs, read):
    """What is wrong with these outputs before anything is written: one that is read, too, or is a folder; "" if nothing."""
    for path in outputs:
        if os.path.isdir(path):
            return f"{path} is a folder: name a file in it"
        for other in read:
            if same(path, other):
                return f"{path} is read and would be written over: choose another file or folder for the report"
    return ""
