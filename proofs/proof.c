/* proof.c - where things lie, runs of the program and the verdict, for all proofs
 * SPDX-License-Identifier: Apache-2.0 */
#include "proof.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"

static const char *proof_name = "proof";
static unsigned missed;
static char temp[4096]; /* empty: not made yet */

static void say(FILE *out, const char *before, const char *fmt, va_list args)
{
    fputs(before, out);
    vfprintf(out, fmt, args);
    fputc('\n', out);
}

void proof_begin(const char *name)
{
    proof_name = name;
    setvbuf(stdout, NULL, _IOLBF, 0); /* a child's messages come in their place */
}

void proof_die(const char *fmt, ...)
{
    va_list args;
    fflush(stdout);
    va_start(args, fmt);
    say(stderr, proof_text("%s: ", proof_name), fmt, args);
    va_end(args);
    exit(1);
}

void proof_skip(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    say(stdout, proof_text("%s: skipped: ", proof_name), fmt, args);
    va_end(args);
    exit(PROOF_SKIPPED);
}

void proof_miss(const char *fmt, ...)
{
    va_list args;
    missed++;
    va_start(args, fmt);
    say(stdout, "MISSED ", fmt, args);
    va_end(args);
}

void proof_same(const char *what, int64_t got, int64_t want, const char *whose)
{
    printf("%s: %lld, %s %lld\n", what, (long long)got, whose, (long long)want);
    if (got != want)
        proof_miss("%s", what);
}

unsigned proof_misses(void)
{
    return missed;
}

int proof_end(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    say(stdout, proof_text("%s: ", proof_name), fmt, args);
    va_end(args);
    return missed ? 1 : 0;
}

const char *proof_text(const char *fmt, ...)
{
    va_list args;
    char *text;
    va_start(args, fmt);
    if (vasprintf(&text, fmt, args) < 0)
        abort();
    va_end(args);
    return text;
}

static const char *set_or(const char *key, const char *otherwise)
{
    const char *value = getenv(key);
    return value && *value ? value : otherwise;
}

const char *proof_muster(void)
{
    return set_or("MUSTER", "build/muster");
}

const char *proof_source(const char *path)
{
    return proof_text("%s/%s", set_or("MUSTER_SRC", "."), path);
}

const char *proof_build(const char *path)
{
    return proof_text("%s/%s", set_or("MUSTER_BUILD", "build"), path);
}

const char *proof_shared(const char *path)
{
    const char *root = set_or("MUSTER_SHARED", proof_source("../shared"));
    const char *full = proof_text("%s/%s", root, path);
    if (access(full, R_OK))
        proof_skip("the shared data is not there: %s", full);
    return full;
}

static void temp_remove(void)
{
    DIR *folder = opendir(temp);
    struct dirent *entry;
    while (folder && (entry = readdir(folder)))
        unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder)
        closedir(folder);
    rmdir(temp);
}

const char *proof_temp(const char *name)
{
    if (!*temp) {
        snprintf(temp, sizeof temp, "%s/muster-%s-XXXXXX", set_or("TMPDIR", "/tmp"),
                 proof_name);
        if (!mkdtemp(temp))
            proof_die("%s: %s", temp, strerror(errno));
        atexit(temp_remove);
    }
    return proof_text("%s/%s", temp, name);
}

static _Noreturn void become(const char *const *words, const char *out)
{
    int fd = open(out ? out : "/dev/null", O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0)
        _exit(126);
    execvp(words[0], (char *const *)words);
    _exit(127);
}

int proof_run(const char *const *words, const char *out, struct proof_use *ret_use)
{
    struct rusage use;
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (child < 0)
        proof_die("fork: %s", strerror(errno));
    if (child == 0)
        become(words, out);
    while (wait4(child, &status, 0, &use) < 0)
        if (errno != EINTR)
            proof_die("wait4: %s", strerror(errno));
    if (ret_use) {
        ret_use->cpu_s = (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
                         (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
        ret_use->peak_mib = (double)use.ru_maxrss / 1024;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void proof_must_run(const char *const *words, const char *out,
                    struct proof_use *ret_use)
{
    int code = proof_run(words, out, ret_use);
    if (!code)
        return;
    struct buf line = {0};
    for (; *words; words++)
        buf_fmt(&line, " %s", *words);
    proof_die("exit %d:%s", code, line.data);
}

json_t *proof_json_file(const char *path)
{
    json_error_t err;
    json_t *root = json_load_file(path, 0, &err);
    if (!root)
        proof_die("%s:%d:%d: %s", path, err.line, err.column, err.text);
    return root;
}

json_t *proof_json(const char *const *words)
{
    const char *out = proof_temp("stdout.json");
    proof_must_run(words, out, NULL);
    return proof_json_file(out);
}

json_t *proof_at(json_t *root, const char *path)
{
    struct str rest = str_of(path);
    json_t *at = root;
    while (at && rest.ptr && rest.len) {
        struct str key = str_cut(&rest, '.');
        uint64_t i;
        if (json_is_array(at))
            at = str_to_u64(key, &i) ? NULL : json_array_get(at, (size_t)i);
        else
            at = json_object_get(at, proof_text(STR_FMT, STR_ARG(key)));
    }
    if (!at)
        proof_die("the output has no %s", path);
    return at;
}

int64_t proof_int(json_t *root, const char *path)
{
    json_t *v = proof_at(root, path);
    int64_t n;
    if (json_is_integer(v))
        return json_integer_value(v);
    if (!json_is_string(v) || str_to_i64(str_of(json_string_value(v)), &n))
        proof_die("%s is no integer", path);
    return n;
}

const char *proof_str(json_t *root, const char *path)
{
    const char *s = json_string_value(proof_at(root, path));
    if (!s)
        proof_die("%s is no string", path);
    return s;
}

bool proof_decimal(struct str s, unsigned places, int64_t *ret)
{
    struct str rest = s, whole = str_cut(&rest, '.');
    uint64_t n, part = 0, scale = 1;
    if (s.len && memchr(s.ptr, '+', s.len))
        return false;
    for (unsigned i = 0; i < places; i++)
        scale *= 10;
    if (str_to_u64(whole, &n) || n > INT64_MAX / scale - 1)
        return false;
    if (rest.ptr) {
        if (rest.len < 1 || rest.len > places || str_to_u64(rest, &part))
            return false;
        for (size_t i = rest.len; i < places; i++)
            part *= 10;
    }
    *ret = (int64_t)(n * scale + part);
    return true;
}
