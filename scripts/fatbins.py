#!/usr/bin/env python3
"""fatbins.py - fatbins.py PROGRAM... FOLDER: writes the fat binaries in CUDA programs to files, as seeds for a fuzzer."""
import pathlib
import struct
import sys

*programs, folder = sys.argv[1:]
for program in programs:
    data = pathlib.Path(program).read_bytes()
    at = 0
    while (at := data.find(struct.pack("<I", 0xBA55ED50), at)) >= 0:
        _, _, head, follow = struct.unpack_from("<IHHQ", data, at)
        if 0 < follow < 1 << 20 and head == 16:
            (pathlib.Path(folder) / f"{pathlib.Path(program).name}.{at:x}").write_bytes(data[at : at + head + follow])
        at += 4
