"""terminal.py - WORD COMMAND...: runs a command on a terminal of its own, types the word, and ends as it does."""
import os
import pty
import sys

word, command = sys.argv[1], sys.argv[2:]
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(command[0], command)
os.write(terminal, word.encode() + b"\n")
said = b""
try:
    while block := os.read(terminal, 4096):
        said += block
except OSError:  # its other end is closed
    pass
print(said.decode(errors="replace"))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
