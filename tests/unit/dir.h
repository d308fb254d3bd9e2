/* dir.h - a directory that a test made, emptied and taken away again
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_TEST_DIR_H
#define MUSTER_TEST_DIR_H

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

/* Its files, not what is below it; one that is not there is fine. */
static inline void dir_remove(const char *dir)
{
    DIR *d = opendir(dir);
    const struct dirent *e;
    char name[1024];
    while (d && (e = readdir(d)) != NULL) {
        snprintf(name, sizeof name, "%s/%s", dir, e->d_name);
        unlink(name);
    }
    if (d)
        closedir(d);
    rmdir(dir);
}

#endif
