/* fixture.c - recordings on disk against damage and hostility, and the models of allocators. */
#include "field/fixture.h"
#include "case.h"
#include "field/stream.h"

#define MIB ((uint64_t)1 << 20)

static op_fixture *sample(void)
{
    op_fixture *f = op_fixture_new();
    op_fx_event e[] = {
        {.kind = OP_FX_hold, .size = 1 << 20, .block = 3},
        {.kind = OP_FX_lost, .ns = 4, .size = 2048, .code = 2, .ordinal = 1},
        {.kind = OP_FX_alloc, .ns = 5, .size = 1000, .block = 7, .live = 1024, .ordinal = 2},
        {.kind = OP_FX_fail, .ns = 9, .size = 4096, .code = 2, .ordinal = 1, .injected = 1},
        {.kind = OP_FX_free, .ns = 11, .size = 1000, .block = 7, .thread = 1, .stream = 2},
        {.kind = OP_FX_step, .ns = 12, .points = 100, .trained = 90, .dropped = 10, .attempts = 3},
    };
    f->program = "p", f->source = "record", f->expect = "loss";
    f->note = "a \"note\" with a \\ and a \n", f->command = "train --steps 2";
    f->lost = 9, f->unkept = 1, f->runtime = 13000, f->driver = 13010;
    f->device = "card", f->total = 8 << 20, f->free_bytes = 7 << 20;
    for (size_t i = 0; i < sizeof e / sizeof *e; i++) {
        e[i].call = e[i].kind == OP_FX_hold ? "" : "cudaMalloc";
        e[i].phase = "forward";
        e[i].site = "net/enc0 \xe2\x82\xac\"";
        ck_assert(op_fixture_add(f, &e[i]));
    }
    return f;
}

static char *text_of(const op_fixture *f, size_t *n)
{
    static char *text; /* of the last stream */
    static size_t bytes;
    FILE *m = open_memstream(&text, &bytes);
    op_fixture_put(f, m);
    fclose(m);
    *n = bytes;
    return text;
}

static op_fixture *parse(const char *text, size_t n, char *why, size_t room)
{
    char *exact = malloc(n + 1); /* no byte more than there is: a sanitizer sees a look past it */
    memcpy(exact, text, n);
    op_fixture *f = op_fixture_parse(exact, n, why, room);
    free(exact);
    ck_assert_msg(f || *why, "refused without a reason");
    return f;
}

START_TEST(what_is_written_is_read_back)
{
    char why[200];
    size_t n, m;
    op_fixture *f = sample();
    char *text = text_of(f, &n), *again;
    op_fixture *g = parse(text, n, why, sizeof why);
    ck_assert_msg(g != NULL, "%s", why);
    ck_assert_uint_eq(g->n, f->n);
    ck_assert_str_eq(g->note, f->note);
    ck_assert_uint_eq(g->total, f->total);
    ck_assert_uint_eq(g->unkept, f->unkept);
    ck_assert_uint_eq(op_fixture_failures(g), 2);
    ck_assert_str_eq(op_fixture_outcome(g, 0), "loss");
    for (size_t i = 0; i < f->n; i++) {
        const op_fx_event *a = &f->event[i], *b = &g->event[i];
        ck_assert(a->kind == b->kind && a->code == b->code && a->attempts == b->attempts);
        ck_assert(a->size == b->size || a->kind == OP_FX_step);
        if (a->kind != OP_FX_step) ck_assert_str_eq(a->site, b->site);
        ck_assert(a->kind == OP_FX_step || (a->block == b->block && a->ordinal == b->ordinal));
    }
    again = text_of(g, &m);
    op_fixture *h = parse(again, m, why, sizeof why);
    ck_assert_msg(h != NULL, "%s", why);
    op_fixture_free(h);
    op_fixture_free(g);
    op_fixture_free(f);
    free(text);
    free(again);
}
END_TEST

START_TEST(every_prefix_is_refused_with_its_line)
{
    char why[200];
    size_t n;
    op_fixture *f = sample();
    char *text = text_of(f, &n);
    for (size_t k = 0; k < n; k++) {
        ck_assert_msg(parse(text, k, why, sizeof why) == NULL, "the first %zu bytes are read", k);
        ck_assert_msg(strstr(why, "line ") != NULL, "%s", why);
    }
    op_fixture_free(f);
    free(text);
}
END_TEST

/* What may be edited: the text of expect, note and command, but not their names. */
static int may_be_edited(const char *text, size_t at)
{
    static const char *const keys[] = {"\"expect\":\"", "\"note\":\"", "\"command\":\""};
    for (int k = 0; k < 3; k++) {
        const char *from = strstr(text, keys[k]) + strlen(keys[k]), *to = from;
        while (*to != '"') to += *to == '\\' ? 2 : 1;
        if (at >= (size_t)(from - text) && at <= (size_t)(to - text)) return 1;
    }
    return 0;
}

START_TEST(every_changed_byte_is_noticed)
{
    char why[200];
    size_t n;
    op_fixture *f = sample();
    char *text = text_of(f, &n);
    for (size_t at = 0; at < n; at++)
        for (int bit = 0, edited = may_be_edited(text, at); bit < 8; bit++) {
            text[at] ^= (char)(1 << bit);
            op_fixture *g = parse(text, n, why, sizeof why);
            ck_assert_msg(
                !g || (edited && g->n == f->n && op_fixture_facts(g) == op_fixture_facts(f)),
                "byte %zu, bit %d: not noticed: %.30s", at, bit, text + at);
            op_fixture_free(g);
            text[at] ^= (char)(1 << bit);
        }
    op_fixture_free(f);
    free(text);
}
END_TEST

#define HEAD "{\"oomt\":1,\"expect\":\"any\"}\n"
static op_fixture *of_lines(const char *lines, int n, char *why)
{
    static char text[300000];
    uint64_t sum = 14695981039346656037u;
    for (const char *c = lines; *c; c++) sum = (sum ^ (unsigned char)*c) * 1099511628211u;
    snprintf(text, sizeof text,
             HEAD "%s{\"end\":{\"events\":%d,\"lost\":0,\"peak\":0,\"sum\":\"%016llx\"}}\n", lines,
             n, (unsigned long long)sum);
    return parse(text, strlen(text), why, 200);
}

START_TEST(what_a_later_writer_adds_is_passed_over)
{
    char why[200] = "";
    op_fixture *f = of_lines("{\"e\":\"weather\",\"rain\":[1,2]}\n"
                             "{\"e\":\"alloc\",\"size\":8,\"p\":1,\"colour\":\"red\"}\n",
                             2, why);
    ck_assert_msg(f != NULL, "%s", why);
    ck_assert_uint_eq(f->n, 1);
    ck_assert_uint_eq(f->event[0].size, 8);
    op_fixture_free(f);
}
END_TEST

START_TEST(hostile_files_are_refused)
{
    static const char *const lines[] = {
        "{\"e\":\"alloc\",\"size\":-1}\n",
        "{\"e\":\"alloc\",\"size\":1e9}\n",
        "{\"e\":\"alloc\",\"size\":99999999999999999999999}\n",
        "{\"e\":\"alloc\",\"site\":7}\n",
        "{\"e\":\"alloc\",\"site\":\"a\\u0000b\"}\n",
        "{\"e\":\"alloc\",\"size\":1,\"size\":2}\n",
        "{\"e\":\"alloc\",\"site\":\"a\\nb\"}\n",
        "{\"e\":\"fail\",\"call\":\"cudaMalloc\"}\n",
        "{\"e\":\"fail\",\"code\":2}\n",
        "{\"e\":\"step\",\"attempts\":4294967296}\n",
        "[]\n",
        "7\n",
        "\n",
    };
    char why[200], deep[5000], *big = malloc(270000);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        ck_assert_msg(of_lines(lines[i], 1, why) == NULL, "read: %s", lines[i]);
    memset(deep, '[', sizeof deep);
    memcpy(deep + sizeof deep - 2, "\n", 2);
    ck_assert(of_lines(deep, 1, why) == NULL);
    memset(big, ' ', 270000);
    memcpy(big, "{\"e\":\"x\"", 8);
    memcpy(big + 269990, "}\n", 3);
    ck_assert(of_lines(big, 1, why) == NULL); /* a line of more than 256 KiB */
    ck_assert(parse("{\"oomt\":2}\n", 11, why, sizeof why) == NULL);
    ck_assert_msg(strstr(why, "later version") != NULL, "%s", why);
    free(big);
}
END_TEST

/* ---- models ---- */
START_TEST(a_request_fits_where_a_model_has_room)
{
    for (int k = 0; k < OP_MODELS; k++) {
        op_model *m = op_model_new((op_model_kind)k, 64 * MIB);
        op_block *b = op_model_take(m, 40 * MIB);
        ck_assert_msg(b != NULL, "%s: 40 of 64 MiB do not fit", op_model_name[k]);
        ck_assert_msg(!op_model_take(m, 40 * MIB), "%s: 80 of 64 MiB fit", op_model_name[k]);
        ck_assert(!op_model_take(m, UINT64_MAX));
        op_model_give(m, b);
        ck_assert_msg(op_model_take(m, 60 * MIB) != NULL,
                      "%s: what is unused does not go back for 60 MiB", op_model_name[k]);
        op_model_free(m);
    }
}
END_TEST

START_TEST(freed_pieces_come_together_again)
{
    for (int k = 0; k < OP_MODELS; k++) {
        op_model *m = op_model_new((op_model_kind)k, 128 * MIB);
        op_block *b[40];
        for (int round = 0; round < 3; round++) {
            for (int i = 0; i < 40; i++)
                ck_assert_ptr_nonnull(b[i] = op_model_take(m, 3 * MIB / 2));
            for (int i = 0; i < 40; i += 2) op_model_give(m, b[i]);
            for (int i = 1; i < 40; i += 2) op_model_give(m, b[i]);
        }
        ck_assert_msg((b[0] = op_model_take(m, 120 * MIB)) != NULL,
                      "%s: 120 of 128 MiB do not fit once all was freed", op_model_name[k]);
        op_model_free(m);
    }
}
END_TEST

START_TEST(models_never_hand_out_more_than_the_card)
{
    enum { N = 300 };
    for (int k = 0; k < OP_MODELS; k++) {
        op_model *m = op_model_new((op_model_kind)k, 256 * MIB);
        op_block *b[N] = {0};
        uint64_t bytes[N] = {0}, held = 0;
        unsigned r = 7;
        for (int i = 0; i < 60000; i++) {
            r = r * 1664525u + 1013904223u;
            int at = (int)(r >> 8) % N;
            if (b[at]) {
                op_model_give(m, b[at]);
                held -= bytes[at];
                b[at] = NULL;
                continue;
            }
            bytes[at] = (uint64_t)1 << (r >> 20) % 26;
            if (!(b[at] = op_model_take(m, bytes[at]))) continue;
            held += bytes[at];
            ck_assert_msg(held <= op_model_mapped(m) && op_model_mapped(m) <= 256 * MIB,
                          "%s: %llu bytes handed out, %llu mapped", op_model_name[k],
                          (unsigned long long)held, (unsigned long long)op_model_mapped(m));
        }
        for (int i = 0; i < N; i++)
            if (b[i]) op_model_give(m, b[i]);
        ck_assert_msg(op_model_take(m, 256 * MIB) != NULL || k == OP_MODEL_CACHING ||
                          k == OP_MODEL_EXPANDABLE,
                      "%s: an empty card has no room for all of it", op_model_name[k]);
        op_model_free(m);
    }
}
END_TEST

static const case_entry cases[] = {
#include "fixture.def"
};
CASE_MAIN("fixture")
