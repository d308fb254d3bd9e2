/* replay.c - runs a fuzz target over its kept corpus, without a fuzzer
 *
 * usage: replay-NAME CORPUS_DIR_OR_FILE...
 * Each file is given whole, then cut short at up to CUTS places, since what a parser does
 * at a sudden end is where it errs most. Each input is copied to a block of exactly its
 * size, so that a sanitizer sees the first byte too far. A crash names its input: the file
 * is printed before it runs. Prints TAP, one check a file.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { CUTS = 64, FILE_MAX = 16 << 20, FILES_MAX = 20000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __attribute__((weak)) LLVMFuzzerInitialize(int *argc, char ***argv);

static unsigned files_run;

static void feed(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        abort();
    if (size)
        memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static int run_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        return -1;
    }
    uint8_t *data = malloc(FILE_MAX);
    if (!data)
        abort();
    size_t size = fread(data, 1, FILE_MAX, f);
    fclose(f);
    printf("# %s, %zu bytes\n", path, size);
    fflush(stdout);
    feed(data, size);
    for (size_t i = 0; i < CUTS && i < size; i++)
        feed(data, size <= CUTS ? i : size * i / CUTS);
    free(data);
    printf("ok %u - %s\n", ++files_run, strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
    return 0;
}

static int not_dot(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

/* In the order of names, so that two runs print the same. */
static int run_dir(const char *path)
{
    struct dirent **names = NULL;
    int n = scandir(path, &names, not_dot, alphasort), rc = 0;
    if (n < 0) {
        perror(path);
        return -1;
    }
    for (int i = 0; i < n; i++) {
        char file[4096];
        int len = snprintf(file, sizeof file, "%s/%s", path, names[i]->d_name);
        if (len < 0 || (size_t)len >= sizeof file || run_file(file) < 0)
            rc = -1;
        free(names[i]);
    }
    free(names);
    return rc;
}

int main(int argc, char **argv)
{
    if (LLVMFuzzerInitialize)
        LLVMFuzzerInitialize(&argc, &argv);
    int rc = 0;
    for (int i = 1; i < argc && files_run < FILES_MAX; i++) {
        struct stat st;
        if (stat(argv[i], &st) < 0) {
            perror(argv[i]);
            rc = -1;
        } else if (S_ISDIR(st.st_mode)) {
            rc |= run_dir(argv[i]);
        } else {
            rc |= run_file(argv[i]);
        }
    }
    if (!files_run)
        fprintf(stderr, "no corpus file was run\n");
    printf("1..%u\n", files_run);
    return rc < 0 || !files_run;
}
