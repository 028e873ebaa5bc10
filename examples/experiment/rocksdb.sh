#!/bin/sh
# SPDX-License-Identifier: MIT
# The program of rocksdb.yaml: eight readers and a writer, in a folder of the run.
exec "${READERS:-build/rocksdb_readers}" "$TARRY_EXPERIMENT_DIR/db" 8 "${SECONDS_OF_LOAD:-6}" "$TARRY_EXPERIMENT_LATENCIES"
