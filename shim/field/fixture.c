/* fixture.c - a fixture in memory, and writing it. */
#define _GNU_SOURCE
#include "field/fixture.h"
#include "field/sum.h"
#include "json.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct op_fx_text {
    struct op_fx_text *next;
    char s[];
};

op_fixture *op_fixture_new(void)
{
    op_fixture *f = calloc(1, sizeof *f);
    if (f) f->exit_code = -1;
    if (f) f->program = f->device = f->source = f->expect = f->note = f->command = f->others = "";
    return f;
}

void op_fixture_free(op_fixture *f)
{
    if (!f) return;
    for (size_t k = 0; k < sizeof f->texts / sizeof *f->texts; k++)
        for (struct op_fx_text *t = f->texts[k], *next; t; t = next) {
            next = t->next;
            free(t);
        }
    free(f->event);
    free(f);
}

/* The last one found moves to the front. */
const char *op_fixture_text(op_fixture *f, const char *s)
{
    if (!s || !*s) return "";
    struct op_fx_text **list = &f->texts[op_sum(OP_SUM_START, s, strlen(s)) % 4096];
    for (struct op_fx_text **at = list; *at; at = &(*at)->next) {
        struct op_fx_text *t = *at;
        if (strcmp(t->s, s)) continue;
        *at = t->next;
        t->next = *list;
        *list = t;
        return t->s;
    }
    struct op_fx_text *t = malloc(sizeof *t + strlen(s) + 1);
    if (!t) return "";
    strcpy(t->s, s);
    t->next = *list;
    *list = t;
    return t->s;
}

int op_fixture_add(op_fixture *f, const op_fx_event *e)
{
    if (f->n == f->room) {
        size_t room = f->room ? 2 * f->room : 256;
        op_fx_event *p = realloc(f->event, room * sizeof *p);
        if (!p) return 0;
        f->event = p;
        f->room = room;
    }
    f->event[f->n++] = *e;
    return 1;
}

static void text(FILE *f, const char *name, const char *s)
{
    fprintf(f, ",\"%s\":", name);
    op_json_text(f, s);
}

static void number(FILE *f, const char *name, uint64_t v)
{
    fprintf(f, ",\"%s\":%llu", name, (unsigned long long)v);
}

static void put_event(FILE *f, const op_fx_event *e)
{
    static const char *const kinds[] = {
#define X(name) #name,
        OP_FX_KINDS(X)
#undef X
    };
    fprintf(f, "{\"e\":\"%s\"", kinds[e->kind]);
    if (e->kind == OP_FX_step || e->kind == OP_FX_sample) {
        number(f, "t", e->ns);
        number(f, "points", e->points);
        if (e->kind == OP_FX_sample) {
            fputs("}\n", f);
            return;
        }
        number(f, "trained", e->trained);
        number(f, "dropped", e->dropped);
        number(f, "attempts", e->attempts);
        number(f, "retries", e->retries);
        number(f, "splits", e->splits);
        number(f, "failed", e->failed);
        if (e->number) number(f, "n", e->number);
        fputs("}\n", f);
        return;
    }
    if (e->kind != OP_FX_hold) number(f, "t", e->ns);
    if (*e->call) text(f, "call", e->call);
    number(f, "size", e->size);
    if (e->block) number(f, "p", e->block);
    if (e->stream) number(f, "s", (uint64_t)e->stream);
    if (e->thread) number(f, "th", (uint64_t)e->thread);
    if (*e->phase) text(f, "ph", e->phase);
    if (*e->site) text(f, "site", e->site);
    if (e->ordinal) number(f, "o", e->ordinal);
    if (op_fx_failed(e)) number(f, "code", (uint64_t)e->code);
    if (e->injected) fputs(",\"injected\":true", f);
    if (e->live) number(f, "live", e->live);
    fputs("}\n", f);
}

uint64_t op_fixture_facts(const op_fixture *f)
{
    char *all = NULL;
    int n = asprintf(&all, "%s\n%s\n%s\n%llu %llu %d %d %d %d %llu\n", f->program, f->source,
                     f->device, (unsigned long long)f->total, (unsigned long long)f->free_bytes,
                     f->runtime, f->driver, f->cublas, f->cudnn, (unsigned long long)f->lost);
    uint64_t sum = n < 0 ? 0 : op_sum(OP_SUM_START, all, (size_t)n);
    char unkept[24] = "", end[24] = "";
    free(all);
    if (f->unkept) snprintf(unkept, sizeof unkept, "%llu\n", (unsigned long long)f->unkept);
    if (f->exit_code >= 0) snprintf(end, sizeof end, "exit %d\n", f->exit_code);
    sum = op_sum(sum, unkept, strlen(unkept));
    sum = op_sum(sum, end, strlen(end));
    return op_sum(sum, f->others, strlen(f->others));
}

void op_fixture_put(const op_fixture *f, FILE *to)
{
    uint64_t sum = OP_SUM_START, peak = 0;
    fputs("{\"oomt\":1", to);
    text(to, "program", f->program);
    text(to, "source", f->source);
    text(to, "expect", f->expect);
    if (*f->note) text(to, "note", f->note);
    if (*f->command) text(to, "command", f->command);
    fputs(",\"device\":{\"name\":", to);
    op_json_text(to, f->device);
    number(to, "total", f->total);
    number(to, "free", f->free_bytes);
    fprintf(to, "},\"libraries\":{\"cudart\":%d,\"driver\":%d", f->runtime, f->driver);
    if (f->cublas) fprintf(to, ",\"cublas\":%d", f->cublas);
    if (f->cudnn) fprintf(to, ",\"cudnn\":%d", f->cudnn);
    fputs("}}\n", to);
    for (size_t i = 0; i < f->n; i++) {
        char *line = NULL;
        size_t n = 0;
        FILE *m = open_memstream(&line, &n);
        if (!m) continue; /* the count at the end tells */
        put_event(m, &f->event[i]);
        fclose(m);
        fwrite(line, 1, n, to);
        sum = op_sum(sum, line, n);
        if (f->event[i].live > peak) peak = f->event[i].live;
        free(line);
    }
    fprintf(to,
            "{\"end\":{\"events\":%zu,\"lost\":%llu,\"peak\":%llu,\"sum\":\"%016llx\","
            "\"facts\":\"%016llx\"",
            f->n, (unsigned long long)f->lost, (unsigned long long)peak, (unsigned long long)sum,
            (unsigned long long)op_fixture_facts(f));
    if (f->unkept) number(to, "unkept", f->unkept);
    if (f->exit_code >= 0) number(to, "exit", (uint64_t)f->exit_code);
    fputs("}}\n", to);
}

int op_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

const char *op_fixture_not_there(const char *path, const char *from)
{
    struct stat to;
    if (stat(path, &to) != 0) return NULL;
    if (!S_ISREG(to.st_mode)) return "it is there, and not a regular file";
    if (from && op_same_file(path, from)) return "it is what is read; give another name";
    return NULL;
}

int op_fixture_write(const op_fixture *f, const char *path)
{
    char *aside = NULL;
    int made = access(path, F_OK) != 0, fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) return -1;
    close(fd);
    char *target = realpath(path, NULL); /* a link stays, what it names is replaced */
    if (!target) return -1;
    if (asprintf(&aside, "%s.%ld.tmp", target, (long)getpid()) < 0) {
        free(target);
        return -1;
    }
    FILE *to = fopen(aside, "we");
    int bad = !to;
    if (to) {
        op_fixture_put(f, to);
        bad = fflush(to) != 0 || ferror(to) || fsync(fileno(to)) != 0;
        bad |= fclose(to) != 0;
    }
    if (!bad) bad = rename(aside, target) != 0;
    int why = errno;
    if (bad && to) unlink(aside);
    if (bad && made) unlink(target);
    free(aside);
    free(target);
    errno = why;
    return bad ? -1 : 0;
}

const char *op_fixture_outcome(const op_fixture *f, int exit_code)
{
    int fails = 0, refused = f->refused, loss = f->loses;
    for (size_t i = 0; i < f->n; i++) {
        fails += op_fx_failed(&f->event[i]);
        if (f->event[i].kind != OP_FX_step) continue;
        refused |= f->event[i].failed != 0;
        loss |= f->event[i].dropped != 0;
    }
    if (exit_code && !loss) refused = 1;
    if (!fails && !refused) return "none";
    return refused ? "refused" : loss ? "loss" : "recovered";
}

size_t op_fixture_failures(const op_fixture *f)
{
    size_t n = 0;
    for (size_t i = 0; i < f->n; i++) n += (size_t)op_fx_failed(&f->event[i]);
    return n;
}

void op_fx_describe(const op_fx_event *e, char *out, size_t room)
{
    if (e->kind == OP_FX_step)
        snprintf(out, room,
                 "a step of %llu points: %llu trained, %llu dropped, %u attempts, %u splits%s",
                 (unsigned long long)e->points, (unsigned long long)e->trained,
                 (unsigned long long)e->dropped, e->attempts, e->splits,
                 e->failed ? ", failed" : "");
    else
        snprintf(out, room, "%s of %llu bytes at %s, call %u there, phase %s, code %d", e->call,
                 (unsigned long long)e->size, *e->site ? e->site : "an unknown site", e->ordinal,
                 *e->phase ? e->phase : "none", e->code);
}
