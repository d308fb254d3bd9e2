/* build.h - which build of the program this is
 * Two programs with the same id hold the same code, so they decide the same; any other
 * id promises nothing. SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_BUILD_H
#define MUSTER_BUILD_H

enum { BUILD_ID_MAX = 72 }; /* with the zero behind it */

/* "0.1.0-" and the linker's build id in hexadecimal; without one, "0.1.0-unknown". */
void build_id(char out[BUILD_ID_MAX]);

#endif
