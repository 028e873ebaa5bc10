# SPDX-License-Identifier: MIT
# Sourced by tests/orders/*.sh (bash): what tests/e2e/lib.sh gives, and
#   ORDERS   all orders but native
# ORDER_SECONDS and ALL_ORDERS say how much is done; `make soak` does most.
. "$(dirname "$0")/../e2e/lib.sh"
ORDERS=$(sed -n 's/^TY_ORDER(\([a-z]*\),.*/\1/p' "$TOP/include/tarry/orders.def" | grep -vx native)
