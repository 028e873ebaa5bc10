# SPDX-License-Identifier: MIT
# One non-recursive Makefile.
#   make                    build/tarry and build/libtarry.so, usable in place
#   make test [T=name]      installs missing packages, builds, runs all tests or those whose name has T
#   make examples           the programs of examples/
#   make demo               installs missing packages, builds, records examples/orders, prints the report
#   make install uninstall  PREFIX=/usr/local DESTDIR=
#   make deb                a Debian package in build/
#   make fresh              all of these in a fresh Debian 12 (as root); FULL=1: make test, too
#   make bench [CASE=name,...] [REPS=n] [OUT=file]   measures (docs/BENCH.md)
#   make soak               the tests of orders for long: ORDER_SECONDS=600 each under stress, every order for every case
#   make lint fuzz clean    lint BASE_REVISION=main: clang-format, too, over what changed since
# V=1 shows commands.  CC=clang.  SAN=address,undefined or SAN=thread: all but the library,
# in a folder of its own.  SUITES="unit e2e ..." limits the tests.  EXTRA_CFLAGS, EXTRA_LDFLAGS, FUZZ_SECONDS=60.
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
# The charting library of tarry report --html (5.x), as Debian's node-d3 has it.
D3 ?= /usr/share/nodejs/d3/dist/d3.min.js

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

LIB_SRC := $(wildcard preload/*.c policies/*.c)
CORE_SRC := $(wildcard common/*.c recorder/*.c analyze/*.c experiment/*.c)
CLI_SRC := $(wildcard cli/*.c)
LIB_OBJ := $(LIB_SRC:%.c=$B/%.o)
CORE_OBJ := $(CORE_SRC:%.c=$B/%.o)
CLI_OBJ := $(CLI_SRC:%.c=$B/%.o)
UNIT_BIN := $(patsubst %.c,$B/%,$(wildcard tests/unit/*.c))
FUZZ_BIN := $(patsubst %.c,$B/%,$(wildcard tests/fuzz/*.c))
BENCH_CORE := $(addprefix $B/bench/,analyze codec slices)
# Databases that not every machine has the headers of.
BENCH_DB := $(if $(wildcard /usr/include/rocksdb/c.h),$B/bench/load_rocksdb) $(if $(wildcard /usr/include/db.h),$B/bench/load_libdb)
BENCH_BIN := $(BENCH_CORE) $(BENCH_DB) $(addprefix $B/bench/,micro load_memcached passthrough.so count.so)
MAN := $(wildcard docs/man/*.1)
PRESETS := $(wildcard configs/*.yaml)

all: $B/tarry $B/libtarry.so

# Says in one line which packages are missing, before the compiler says it in a hundred.
$B/.need:
	@mkdir -p $B; CC="$(CC)" D3="$(D3)" tools/packages.sh need && touch $@

$B/libtarry.so: $(LIB_OBJ) preload/exports.map
	@echo "  LD    $@"
	$(Q)$(CC) $(EXTRA_LDFLAGS) -shared -o $@ $(LIB_OBJ) -Wl,--version-script=preload/exports.map \
		-Wl,-z,now -Wl,-z,relro -Wl,-z,noexecstack -Wl,--no-undefined -Wl,--as-needed

$B/libcore.a: $(CORE_OBJ)
	@echo "  AR    $@"
	$(Q)rm -f $@; ar rcs $@ $(CORE_OBJ)

$B/tarry: $(CLI_OBJ) $B/libcore.a
	@echo "  LD    $@"
	$(Q)$(CC) $(SANFLAGS) $(EXTRA_LDFLAGS) -o $@ $(CLI_OBJ) $B/libcore.a $(TOOLLIBS)

$B/orders: $(wildcard examples/orders/*.c examples/orders/*.h) include/tarry/tarry.h
	@mkdir -p $(@D); echo "  CC    examples/orders"
	$(Q)$(CC) $(BASE) -D_GNU_SOURCE -pthread -o $@ $(filter %.c,$^) -lm

EXAMPLE_LOAD := examples/load/load.h
$B/wal: $(wildcard examples/wal/*.[ch]) $(EXAMPLE_LOAD)
$B/twologs: $(wildcard examples/twologs/*.c) examples/wal/wal.c examples/wal/wal.h $(EXAMPLE_LOAD)
$B/lru: $(wildcard examples/lru/*.[ch]) policies/llu.h $(EXAMPLE_LOAD)
$B/lockmanager: $(wildcard examples/lockmanager/*.[ch])
EXAMPLES := $(addprefix $B/,wal twologs lru lockmanager)
$(EXAMPLES):
	@mkdir -p $(@D); echo "  CC    examples/$(@F)"
	$(Q)$(CC) $(BASE) -D_GNU_SOURCE -pthread -o $@ $(filter %.c,$^) -lm

$B/preload/%.o: preload/%.c
	@mkdir -p $(@D); echo "  CC    $<"
	$(Q)$(CC) $(LIBFLAGS) -MMD -MP -c -o $@ $<

$B/policies/%.o: policies/%.c
	@mkdir -p $(@D); echo "  CC    $<"
	$(Q)$(CC) $(LIBFLAGS) -MMD -MP -c -o $@ $<

# One rule, two files; the first is put in place last.
$B/page-before.html: tools/page.sh $(wildcard analyze/html/* $(D3)) | $B/.need
	@mkdir -p $(@D); echo "  PAGE  analyze/html"
	$(Q)tools/page.sh $(D3) $B/page-before.html $B/page-after.html

$B/analyze/html_page.o: $B/page-before.html
$B/analyze/html_page.o: TOOLFLAGS += -Wa,-I$B

$B/tests/unit/%: tests/unit/%.c $B/libcore.a
	@mkdir -p $(@D); echo "  CC    $<"
	$(Q)$(CC) $(TOOLFLAGS) -MMD -MP -MF $@.d -o $@ $< $B/libcore.a $(TOOLLIBS) -lcunit

$B/tests/fuzz/%: tests/fuzz/%.c $B/libcore.a
	@mkdir -p $(@D); echo "  CC    $<"
	$(Q)$(CC) $(TOOLFLAGS) -fsanitize=fuzzer -MMD -MP -MF $@.d -o $@ $< $B/libcore.a $(TOOLLIBS)

$(BENCH_CORE): $B/bench/%: bench/%.c $B/libcore.a
	@mkdir -p $(@D); echo "  CC    $<"
	$(Q)$(CC) $(TOOLFLAGS) -MMD -MP -MF $@.d -o $@ $< $B/libcore.a $(TOOLLIBS)

$B/bench/load_rocksdb: LDLIBS := -lrocksdb
$B/bench/load_libdb: LDLIBS := -ldb-5.3
$B/bench/%: bench/%.c
	@mkdir -p $(@D); echo "  CC    $<"
	$(Q)$(CC) $(BASE) -D_GNU_SOURCE -pthread -MMD -MP -MF $@.d -o $@ $< $(LDLIBS)

$B/bench/%.so: bench/%.c
	@mkdir -p $(@D); echo "  CC    $<"
	$(Q)$(CC) $(BASE) -D_GNU_SOURCE -shared -fPIC -MMD -MP -MF $@.d -o $@ $<

$B/%.o: %.c | $B/.need
	@mkdir -p $(@D); echo "  CC    $<"
	$(Q)$(CC) $(TOOLFLAGS) -MMD -MP -c -o $@ $<

examples: $B/orders $(EXAMPLES)
unit: $(UNIT_BIN)
fuzz-bin: $(FUZZ_BIN)
bench-bin: all $B/orders $(BENCH_BIN)
test-bin: all unit examples $B/bench/codec

# Packages first: what pkg-config says is read when make starts, hence once more.
test:
	@tools/packages.sh test
	@$(MAKE) --no-print-directory $(J) test-bin
	@B=$B T="$(T)" SAN="$(SAN)" SUITES="$(SUITES)" CC="$(CC)" tests/run.sh

# Everything that an order may do, for hours.
soak:
	@tools/packages.sh test
	@$(MAKE) --no-print-directory $(J) test-bin
	@ORDER_SECONDS=$(or $(ORDER_SECONDS),600) ALL_ORDERS=1 B=$B T="$(T)" SUITES="orders hazards" CC="$(CC)" tests/run.sh

demo:
	@tools/packages.sh build
	@$(MAKE) --no-print-directory $(J) all $B/orders
	@B=$B tools/demo.sh

bench:
	@tools/packages.sh bench
	@$(MAKE) --no-print-directory $(J) bench-bin
	@bench/run.py --build $B --case "$(CASE)" --reps "$(or $(REPS),0)" --out "$(OUT)"

FUZZ_SAN := fuzzer-no-link,address,undefined
fuzz:
	@$(MAKE) --no-print-directory $(J) CC=clang SAN=$(FUZZ_SAN) B=$B-fuzz fuzz-bin
	@B=$B-fuzz T="$(T)" SUITES=fuzz FUZZ_SECONDS=$(FUZZ_SECONDS) tests/run.sh

lint:
	@BASE="$(BASE_REVISION)" tools/lint.sh $(wildcard common/*.[ch] recorder/*.[ch] analyze/*.[ch] experiment/*.[ch] cli/*.[ch] \
		preload/*.[ch] policies/*.[ch] include/tarry/*.h examples/*/*.[ch] tests/unit/*.[ch] tests/fuzz/*.[ch] tests/e2e/*.[ch] tests/orders/*.[ch] bench/*.[ch])

# ---- installation ----

SHARE := $(DESTDIR)$(PREFIX)/share
BASH_COMPLETION := $(SHARE)/bash-completion/completions
ZSH_COMPLETION := $(SHARE)/zsh/site-functions
FISH_COMPLETION := $(SHARE)/fish/vendor_completions.d

install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/tarry $(DESTDIR)$(PREFIX)/include/tarry \
		$(SHARE)/man/man1 $(SHARE)/tarry/configs $(SHARE)/pkgconfig \
		$(BASH_COMPLETION) $(ZSH_COMPLETION) $(FISH_COMPLETION)
	install -m 755 $B/tarry $(DESTDIR)$(PREFIX)/bin/tarry
	install -m 644 $B/libtarry.so $(DESTDIR)$(PREFIX)/lib/tarry/libtarry.so
	install -m 644 include/tarry/tarry.h $(DESTDIR)$(PREFIX)/include/tarry/tarry.h
	sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|' include/tarry/tarry.pc.in >$(SHARE)/pkgconfig/tarry.pc
	chmod 644 $(SHARE)/pkgconfig/tarry.pc
	install -m 644 $(MAN) $(SHARE)/man/man1
	install -m 644 $(PRESETS) $(SHARE)/tarry/configs
	install -m 644 completion/tarry.bash $(BASH_COMPLETION)/tarry
	install -m 644 completion/_tarry $(ZSH_COMPLETION)/_tarry
	install -m 644 completion/tarry.fish $(FISH_COMPLETION)/tarry.fish

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/tarry $(DESTDIR)$(PREFIX)/lib/tarry/libtarry.so \
		$(DESTDIR)$(PREFIX)/include/tarry/tarry.h $(SHARE)/pkgconfig/tarry.pc \
		$(BASH_COMPLETION)/tarry $(ZSH_COMPLETION)/_tarry $(FISH_COMPLETION)/tarry.fish \
		$(addprefix $(SHARE)/man/man1/,$(notdir $(MAN))) \
		$(addprefix $(SHARE)/tarry/configs/,$(notdir $(PRESETS)))
	-rmdir $(DESTDIR)$(PREFIX)/lib/tarry $(DESTDIR)$(PREFIX)/include/tarry $(SHARE)/tarry/configs $(SHARE)/tarry

deb:
	@tools/packages.sh deb
	@B=$B tools/deb.sh

fresh:
	@FULL=$(FULL) SUITES="$(SUITES)" FROM=$(FROM) tools/fresh.sh

clean:
	rm -rf build build-*

.PHONY: all examples unit fuzz-bin test-bin bench-bin test soak bench demo fuzz lint install uninstall deb fresh clean
.SECONDARY:
-include $(shell find $B -name '*.d' 2>/dev/null)
