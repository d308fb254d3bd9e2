/* test-csv-portable.c - test-csv over the reader as machines without SSE2 compile it
 * SPDX-License-Identifier: Apache-2.0 */
#define CSV_PORTABLE 1
#include "base/csv.c"

#include "test-csv.c"
