/* build.c - which build of the program this is
 *
 * The linker writes a hash of all it has linked into a note of the program
 * (--build-id); the loader maps it, and we look for it among our own headers.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/build.h"

#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

enum { ID_BYTES_MAX = 24 };

struct found {
    unsigned char bytes[ID_BYTES_MAX];
    size_t n;
};

static void look_in(const char *at, size_t len, struct found *f)
{
    ElfW(Nhdr) h;
    while (len >= sizeof h && !f->n) {
        memcpy(&h, at, sizeof h);
        size_t name = (h.n_namesz + 3u) & ~3u, desc = (h.n_descsz + 3u) & ~3u;
        if (len - sizeof h < name || len - sizeof h - name < desc)
            return;
        const char *id = at + sizeof h + name;
        if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 &&
            !memcmp(id - name, "GNU", 4)) {
            f->n = h.n_descsz < ID_BYTES_MAX ? h.n_descsz : ID_BYTES_MAX;
            memcpy(f->bytes, id, f->n);
        }
        at += sizeof h + name + desc;
        len -= sizeof h + name + desc;
    }
}

/* The program itself comes first; libraries are not asked. */
static int on_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_NOTE)
            look_in((const char *)(uintptr_t)(info->dlpi_addr + p->p_vaddr), p->p_memsz,
                    arg);
    }
    return 1;
}

void build_id(char out[BUILD_ID_MAX])
{
    struct found f = {.n = 0};
    dl_iterate_phdr(on_object, &f);
    int at =
        snprintf(out, BUILD_ID_MAX, "%.20s-%s", MUSTER_VERSION, f.n ? "" : "unknown");
    for (size_t i = 0; i < f.n && at + 2 < BUILD_ID_MAX; i++)
        at += snprintf(out + at, (size_t)(BUILD_ID_MAX - at), "%02x", f.bytes[i]);
}
