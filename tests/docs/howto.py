#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""howto.py DOCUMENT TREE: does in TREE what DOCUMENT says.  A step is a line that ends with
"In `FILE`, after `TEXT`:", "In `FILE`, before `TEXT`:" or "In the new file `FILE`:", and the
code block (indented by 4) that follows it."""
import pathlib
import re
import sys

STEP = re.compile(r"In (?:the new file `(?P<new>[^`]+)`|"
                  r"`(?P<file>[^`]+)`, (?P<where>after|before) `(?P<text>[^`]+)`):$")


def steps(document):
    text, block = [], []
    for line in document.splitlines() + ["end"]:
        if line.startswith("    ") or block and not line:
            block.append(line[4:])
            continue
        if block:
            # sentences go over line ends
            found = STEP.search(" ".join(" ".join(text).split()))
            if found:
                yield found, "\n".join(block).rstrip("\n") + "\n"
            text, block = [], []
        text.append(line)


def main():
    tree = pathlib.Path(sys.argv[2])
    done = 0
    for step, block in steps(pathlib.Path(sys.argv[1]).read_text()):
        done += 1
        if step["new"]:
            path = tree / step["new"]
            if path.exists():
                sys.exit(f"{step['new']} is no new file")
            path.write_text(block)
            continue
        path = tree / step["file"]
        lines = path.read_text().splitlines(True)
        at = [i for i, line in enumerate(lines) if step["text"] in line]
        if len(at) != 1:
            sys.exit(f"{step['file']} has {len(at)} lines with {step['text']!r}")
        lines.insert(at[0] + (step["where"] == "after"), block)
        path.write_text("".join(lines))
    print(done)


main()
