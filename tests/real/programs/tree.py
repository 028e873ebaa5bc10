# SPDX-License-Identifier: MIT
# usage: tree.py FOLDER N: N small C files that include each other's header, and a makefile for them
import os
import sys

folder, n = sys.argv[1], int(sys.argv[2])
os.makedirs(folder)
objects = " ".join(f"f{i}.o" for i in range(n))
with open(os.path.join(folder, "Makefile"), "w") as f:
    f.write(f"CC ?= cc\nall: prog\n\t@./prog\nprog: {objects}\n\t@$(CC) -o $@ {objects}\n"
            "%.o: %.c all.h\n\t@$(CC) -O2 -c -o $@ $<\n")
with open(os.path.join(folder, "all.h"), "w") as f:
    f.write("#include <stdio.h>\n" + "".join(f"int f{i}(int);\n" for i in range(n)))
for i in range(n):
    with open(os.path.join(folder, f"f{i}.c"), "w") as f:
        f.write(f'#include "all.h"\nint f{i}(int x) {{ return {f"f{i - 1}(x)" if i else "x"} * 3 + {i}; }}\n')
        if i == n - 1:
            f.write(f'int main(void) {{ printf("%d\\n", f{i}(1) & 0xffff); return 0; }}\n')
