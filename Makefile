# SPDX-License-Identifier: MIT
# One non-recursive Makefile.  make | make test [T=name] | make demo | make bench
#   V=1 shows commands   SAN=address,undefined or SAN=thread builds into its own folder
#   CC=clang             PREFIX, DESTDIR for install
VERSION := 0.1.0
CC ?= cc
PREFIX ?= /usr/local
B ?= build$(if $(SAN),-san-$(firstword $(subst $(comma), ,$(SAN))))
comma := ,
Q := $(if $(V),,@)
PKGS := lmdb libunwind-generic yaml-0.1 libdw libelf jansson libzstd libxxhash

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wno-unused-parameter
BASE := -std=gnu11 -O2 -g $(WARN) -Iinclude -I. -DTY_VERSION='"$(VERSION)"' $(EXTRA_CFLAGS)
SANFLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer)
# The traced process's library: libc only, no sanitizers, frame pointers for the walk's first step.
LIBFLAGS := $(BASE) -fPIC -fvisibility=hidden -ftls-model=initial-exec -fno-omit-frame-pointer \
	-fno-optimize-sibling-calls -fno-stack-protector -U_FORTIFY_SOURCE -fcf-protection=full -fasynchronous-unwind-tables
ifneq ($(shell uname -m),x86_64)
LIBFLAGS := $(filter-out -fcf-protection=full,$(LIBFLAGS))
endif
TOOLFLAGS := $(BASE) $(SANFLAGS) -D_GNU_SOURCE -I/usr/include/libiberty $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
TOOLLIBS := $(shell pkg-config --libs $(PKGS) 2>/dev/null) -lunwind-x86_64 -liberty -lpthread -lm

LIB_SRC := $(wildcard preload/*.c)
CORE_SRC := $(wildcard common/*.c recorder/*.c analyze/*.c)
CLI_SRC := $(wildcard cli/*.c)
LIB_OBJ := $(LIB_SRC:%.c=$B/%.o)
CORE_OBJ := $(CORE_SRC:%.c=$B/%.o)
CLI_OBJ := $(CLI_SRC:%.c=$B/%.o)
UNIT_SRC := $(wildcard tests/unit/*.c)
UNIT_BIN := $(UNIT_SRC:%.c=$B/%)

all: $B/tarry $B/libtarry.so

$B/libtarry.so: $(LIB_OBJ) preload/exports.map
	@echo "  LD    $@"
	$(Q)$(CC) -shared -o $@ $(LIB_OBJ) -Wl,--version-script=preload/exports.map \
		-Wl,-z,now -Wl,-z,relro -Wl,-z,noexecstack -Wl,--no-undefined -Wl,--as-needed

$B/libcore.a: $(CORE_OBJ)
	@echo "  AR    $@"
	$(Q)rm -f $@; ar rcs $@ $(CORE_OBJ)

$B/tarry: $(CLI_OBJ) $B/libcore.a
	@echo "  LD    $@"
	$(Q)$(CC) $(SANFLAGS) -o $@ $(CLI_OBJ) $B/libcore.a $(TOOLLIBS)

$B/preload/%.o: preload/%.c
	@mkdir -p $(@D); echo "  CC    $<"
	$(Q)$(CC) $(LIBFLAGS) -MMD -MP -c -o $@ $<

$B/tests/unit/%: tests/unit/%.c $B/libcore.a
	@mkdir -p $(@D); echo "  CC    $<"
	$(Q)$(CC) $(TOOLFLAGS) -MMD -MP -MF $@.d -o $@ $< $B/libcore.a $(TOOLLIBS) -lcunit

$B/%.o: %.c
	@mkdir -p $(@D); echo "  CC    $<"
	$(Q)$(CC) $(TOOLFLAGS) -MMD -MP -c -o $@ $<

unit: $(UNIT_BIN)

clean:
	rm -rf build build-*

.PHONY: all unit clean
-include $(shell find $B -name '*.d' 2>/dev/null)
