#!/usr/bin/env python3
"""exports.py - the functions that NVIDIA's libraries export, with what their headers say they return.

  exports.py --write LIBRARY DEF INCLUDE         writes DEF from NVIDIA's LIBRARY and the headers in INCLUDE
  exports.py --check OURS DEF INCLUDE [LIBRARY]  every function of DEF is exported by OURS under its version node, and
                                                 its return type is the headers'; LIBRARY, where it is there: DEF is whole
"""
import pathlib
import re
import subprocess
import sys

HEADERS = ["cuda_runtime_api.h", "cuda_profiler_api.h", "cublas_v2.h", "cublas.h", "cublasXt.h", "cublasLt.h", "cudnn.h"]
TYPES = {  # in a header: in a .def
    "cudaError_t": "status", "cublasStatus_t": "status", "cudnnStatus_t": "status", "cublasStatus": "status",
    "void": "none", "const char*": "text", "size_t": "size", "unsigned int": "number", "unsigned": "number", "int": "number",
    "float": "real", "double": "double_real", "cuComplex": "complex", "cuDoubleComplex": "double_complex",
    "struct cudaChannelFormatDesc": "format", "cudaError_t*": "text",
}


def exported(library):
    """Names to version nodes of the functions that a library exports."""
    out = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    found = {}
    for line in out.splitlines():
        _, kind, name = line.split()
        if kind in "TWi" and not name.startswith("sim_"):
            name, _, node = name.partition("@@")
            found[name] = node
    return found


def declared(include):
    """Names to return types, from the headers as the preprocessor leaves them; both forms of stream arguments."""
    found = {}
    for header in HEADERS:
        path = pathlib.Path(include) / header
        # cublas.h and cublas_v2.h exclude one another
        text = subprocess.run(["cc", "-E", "-P", f"-I{include}", str(path)], capture_output=True, text=True, check=True).stdout
        text = re.sub(r"__attribute__\s*\(\(.*?\)\)", " ", text)
        for m in re.finditer(r"([\w][\w\s*]*?)\b(cu[A-Z_]\w*|cuda\w+|cublas\w+|cudnn\w+)\s*\(", text):
            words = [w for w in re.findall(r"\w+|\*", m[1]) if w not in ("extern", "static", "inline", "__inline__")]
            if not words or "typedef" in words or "return" in words:
                continue
            kind = " ".join(words).replace(" *", "*")
            found.setdefault(m[2], kind)
    return found


def kind_of(name, types):
    """What a function returns. Entry points that compiled code calls are declared nowhere: statuses, except these."""
    special = {"__cudaRegisterFatBinary": "text", "__cudaRegisterFunction": "none", "__cudaRegisterVar": "none",
               "__cudaRegisterFatBinaryEnd": "none", "__cudaUnregisterFatBinary": "none", "__cudaRegisterManagedVar": "none",
               "__cudaRegisterHostVar": "none", "__cudaRegisterUnifiedTable": "text", "__cudaInitModule": "number",
               "__cudaPushCallConfiguration": "number", "cudaCreateChannelDesc": "format"}
    if name in special:
        return special[name]
    for form in (name, re.sub(r"_(ptsz|ptds)$", "", name), re.sub(r"_v\d+$", "", name)):
        if form in types:
            return TYPES[types[form]]
    return None


def entries(definition):
    text = pathlib.Path(definition).read_text()
    return {m[2]: m[1] for m in re.finditer(r"STUB\((\w+), (\w+)\)", text)}


def write(library, definition, include):
    types = declared(include)
    names = exported(library)
    soname = next(iter(names.values()))
    lines = [f"/* {pathlib.Path(definition).name} - what {soname} exports, with the kind of result its headers give:",
             " * written by scripts/exports.py. */"]
    for name in sorted(names):
        kind = kind_of(name, types)
        if kind is None:
            print(f"no declaration: {name}", file=sys.stderr)
        lines.append(f"STUB({kind or 'status'}, {name})")
    pathlib.Path(definition).write_text("\n".join(lines) + "\n")


def check(ours, definition, include, library=None):
    bad = []
    wanted, have, types = entries(definition), exported(ours), declared(include)
    node = pathlib.Path(ours).name
    for name, kind in wanted.items():
        if name not in have:
            bad.append(f"{ours} does not export {name}")
        elif have[name] != node:
            bad.append(f"{name} has the version node {have[name] or '(none)'}, not {node}")
        header = kind_of(name, types)
        if header and header != kind:
            bad.append(f"{definition} says that {name} returns {kind}; the headers say {header}")
    if library and pathlib.Path(library).exists():
        for name in exported(library):
            if name not in wanted:
                bad.append(f"{definition} lacks {name}, which {library} exports")
    elif library:
        print(f"{library} is not there: the list is not compared with it")
    print(f"{definition}: {len(wanted)} functions")
    for line in bad:
        print(line)
    return 1 if bad or not wanted else 0


if __name__ == "__main__":
    if len(sys.argv) == 5 and sys.argv[1] == "--write":
        write(*sys.argv[2:])
    elif len(sys.argv) in (5, 6) and sys.argv[1] == "--check":
        sys.exit(check(*sys.argv[2:]))
    else:
        sys.exit(__doc__)
