#!/bin/sh
# SPDX-License-Identifier: MIT
# The program of lmdb.yaml: eight writers in PROCESSES processes, in a folder of the run.
mkdir "$TARRY_EXPERIMENT_DIR/db" || exit 1
exec "${WRITERS:-build/lmdb_writers}" "$TARRY_EXPERIMENT_DIR/db" "${PROCESSES:-1}" $((8 / ${PROCESSES:-1})) \
	"${SECONDS_OF_LOAD:-5}" "$TARRY_EXPERIMENT_LATENCIES"
