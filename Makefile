# SPDX-License-Identifier: MIT
# One non-recursive Makefile.
#   make                    build/tarry and build/libtarry.so, usable in place
#   make test [T=name]      installs missing packages, builds, runs all tests or those whose name has T
#   make demo               installs missing packages, builds, records examples/orders, prints the report
#   make install uninstall  PREFIX=/usr/local DESTDIR=
#   make lint fuzz clean    lint BASE_REVISION=main: clang-format, too, over what changed since
# V=1 shows commands.  CC=clang.  SAN=address,undefined or SAN=thread: all but the library,
# in a folder of its own.  SUITES="unit e2e ..." limits the tests.  EXTRA_CFLAGS, FUZZ_SECONDS=60.
VERSION := 0.1.0
CC ?= cc
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
comma := ,
B ?= build$(if $(SAN),-san-$(firstword $(subst $(comma), ,$(SAN))))
Q := $(if $(V),,@)
# For the makes that we start ourselves.
J = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))
PKGS := lmdb libunwind-generic yaml-0.1 libdw libelf jansson libzstd libxxhash zlib ncursesw
ARCH := $(shell uname -m)

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wno-unused-parameter
BASE := -std=gnu11 -O2 -g $(WARN) -Iinclude -I. -DTY_VERSION='"$(VERSION)"' $(EXTRA_CFLAGS)
SANFLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer)
# The traced process's library: libc only, no sanitizers.
LIBFLAGS := $(BASE) -fPIC -fvisibility=hidden -ftls-model=initial-exec \
	-Wframe-larger-than=1024 -fno-stack-protector -U_FORTIFY_SOURCE -fcf-protection=full -fasynchronous-unwind-tables
ifneq ($(ARCH),x86_64)
LIBFLAGS := $(filter-out -fcf-protection=full,$(LIBFLAGS))
endif
TOOLFLAGS := $(BASE) $(SANFLAGS) -D_GNU_SOURCE -I/usr/include/libiberty $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
TOOLLIBS := $(shell pkg-config --libs $(PKGS) 2>/dev/null) -lunwind-$(ARCH) -liberty -lpthread -lm

LIB_SRC := $(wildcard preload/*.c)
CORE_SRC := $(wildcard common/*.c recorder/*.c analyze/*.c)
CLI_SRC := $(wildcard cli/*.c)
LIB_OBJ := $(LIB_SRC:%.c=$B/%.o)
CORE_OBJ := $(CORE_SRC:%.c=$B/%.o)
CLI_OBJ := $(CLI_SRC:%.c=$B/%.o)
UNIT_BIN := $(patsubst %.c,$B/%,$(wildcard tests/unit/*.c))
FUZZ_BIN := $(patsubst %.c,$B/%,$(wildcard tests/fuzz/*.c))
MAN := $(wildcard docs/man/*.1)
PRESETS := $(wildcard configs/*.yaml)

all: $B/tarry $B/libtarry.so

# Says in one line which packages are missing, before the compiler says it in a hundred.
$B/.need:
	@mkdir -p $B; CC="$(CC)" tools/packages.sh need && touch $@

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

$B/orders: $(wildcard examples/orders/*.c examples/orders/*.h) include/tarry/tarry.h
	@mkdir -p $(@D); echo "  CC    examples/orders"
	$(Q)$(CC) $(BASE) -D_GNU_SOURCE -pthread -o $@ $(filter %.c,$^) -lm

$B/preload/%.o: preload/%.c
	@mkdir -p $(@D); echo "  CC    $<"
	$(Q)$(CC) $(LIBFLAGS) -MMD -MP -c -o $@ $<

$B/tests/unit/%: tests/unit/%.c $B/libcore.a
	@mkdir -p $(@D); echo "  CC    $<"
	$(Q)$(CC) $(TOOLFLAGS) -MMD -MP -MF $@.d -o $@ $< $B/libcore.a $(TOOLLIBS) -lcunit

$B/tests/fuzz/%: tests/fuzz/%.c $B/libcore.a
	@mkdir -p $(@D); echo "  CC    $<"
	$(Q)$(CC) $(TOOLFLAGS) -fsanitize=fuzzer -MMD -MP -MF $@.d -o $@ $< $B/libcore.a $(TOOLLIBS)

$B/%.o: %.c | $B/.need
	@mkdir -p $(@D); echo "  CC    $<"
	$(Q)$(CC) $(TOOLFLAGS) -MMD -MP -c -o $@ $<

unit: $(UNIT_BIN)
fuzz-bin: $(FUZZ_BIN)
test-bin: all unit $B/orders

# Packages first: what pkg-config says is read when make starts, hence once more.
test:
	@tools/packages.sh test
	@$(MAKE) --no-print-directory $(J) test-bin
	@B=$B T="$(T)" SAN="$(SAN)" SUITES="$(SUITES)" CC="$(CC)" tests/run.sh

demo:
	@tools/packages.sh build
	@$(MAKE) --no-print-directory $(J) all $B/orders
	@B=$B tools/demo.sh

FUZZ_SAN := fuzzer-no-link,address,undefined
fuzz:
	@$(MAKE) --no-print-directory $(J) CC=clang SAN=$(FUZZ_SAN) B=$B-fuzz fuzz-bin
	@B=$B-fuzz T="$(T)" SUITES=fuzz FUZZ_SECONDS=$(FUZZ_SECONDS) tests/run.sh

lint:
	@BASE="$(BASE_REVISION)" tools/lint.sh $(wildcard common/*.[ch] recorder/*.[ch] analyze/*.[ch] cli/*.[ch] \
		preload/*.[ch] include/tarry/*.h examples/*/*.[ch] tests/unit/*.[ch] tests/fuzz/*.[ch] tests/e2e/*.[ch])

install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/tarry $(DESTDIR)$(PREFIX)/include/tarry \
		$(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/tarry/configs
	install -m 755 $B/tarry $(DESTDIR)$(PREFIX)/bin/tarry
	install -m 644 $B/libtarry.so $(DESTDIR)$(PREFIX)/lib/tarry/libtarry.so
	install -m 644 include/tarry/tarry.h $(DESTDIR)$(PREFIX)/include/tarry/tarry.h
	install -m 644 $(MAN) $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 644 $(PRESETS) $(DESTDIR)$(PREFIX)/share/tarry/configs

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/tarry $(DESTDIR)$(PREFIX)/lib/tarry/libtarry.so \
		$(DESTDIR)$(PREFIX)/include/tarry/tarry.h \
		$(addprefix $(DESTDIR)$(PREFIX)/share/man/man1/,$(notdir $(MAN))) \
		$(addprefix $(DESTDIR)$(PREFIX)/share/tarry/configs/,$(notdir $(PRESETS)))
	-rmdir $(DESTDIR)$(PREFIX)/lib/tarry $(DESTDIR)$(PREFIX)/include/tarry \
		$(DESTDIR)$(PREFIX)/share/tarry/configs $(DESTDIR)$(PREFIX)/share/tarry

clean:
	rm -rf build build-*

.PHONY: all unit fuzz-bin test-bin test demo fuzz lint install uninstall clean
.SECONDARY:
-include $(shell find $B -name '*.d' 2>/dev/null)
