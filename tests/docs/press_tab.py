#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""press_tab.py SHELL FILE LINE...: what an interactive SHELL that has read the
completion FILE shows when TAB is pressed after each LINE, below "== LINE"."""
import fcntl
import os
import pty
import re
import select
import struct
import sys
import termios
import time

PROMPT = "<ready> "
START = {
    "bash": (["bash", "--norc", "--noprofile", "-i"],
             "bind 'set show-all-if-ambiguous on'; bind 'set page-completions off'; bind 'set completion-query-items 0';"
             "bind 'set enable-bracketed-paste off'; . '%s'"),
    "zsh": (["zsh", "-f", "-i"],
            "fpath=('%s' $fpath); autoload -U compinit; compinit -u -D; LISTMAX=9999; unset zle_bracketed_paste; unsetopt prompt_sp list_ambiguous"),
}


class Shell:
    def __init__(self, name, file):
        words, setup = START[name]
        self.seen = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="dumb", PS1=PROMPT)
            os.execvp(words[0], words)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 200, 160, 0, 0))
        self.send(setup % (os.path.dirname(file) if name == "zsh" else file) + "; echo READ''Y\n")
        self.until("READY")
        self.until(PROMPT)

    def send(self, text):
        os.write(self.fd, text.encode())

    def until(self, text):
        end = time.monotonic() + 30
        while text not in self.seen:
            if not select.select([self.fd], [], [], max(0, end - time.monotonic()))[0]:
                sys.exit(f"no answer within 30 s: {self.seen!r}")
            self.seen += os.read(self.fd, 65536).decode(errors="replace")
        before, self.seen = self.seen.split(text, 1)
        return before

    def tab(self, line):
        # then the line is killed, whatever it has become
        self.send(line + "\t" + "\x15" + "echo DO''NE\n")
        seen = self.until("DONE")
        self.until(PROMPT)  # before that it is not the shell that reads what we type
        return re.sub(r"\x1b\[[?0-9;]*[a-zA-Z]|[\r\x07]", "", seen)


shell = Shell(sys.argv[1], sys.argv[2])
for line in sys.argv[3:]:
    print(f"== {line}\n{shell.tab(line)}")
os.close(shell.fd)
os.waitpid(shell.pid, 0)
