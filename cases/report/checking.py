"""checking.py - what the cases of the report have in common: what is wanted, and whether all of it held."""
import os

failed = 0


def want(holds, what):
    global failed
    if not holds:
        print("not so:", what)
        failed = 1


def putter(folder):
    """put(name, text): a file in that folder; its path."""
    def put(name, text):
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path
    return put
