/* core_util.c - str.h and id.h; scopes of a request's memory. */
#include "unit.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/host.h"
#include "util/digest.h"
#include "util/id.h"
#include "util/turns.h"

static void utf8(void **state)
{
    assert_true(utf8_valid("", 0));
    assert_true(utf8_valid("plain ASCII of some length", 26));
    assert_true(utf8_valid("\0", 1));
    assert_true(utf8_valid("\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF"
                           "\xF0\x90\x80\x80\xF4\x8F\xBF\xBF",
        25));
    assert_false(utf8_valid("12345678\x80", 9));
    assert_false(utf8_valid("\xC1\xBF", 2));
    assert_false(utf8_valid("\xE0\x9F\xBF", 3));
    assert_false(utf8_valid("\xED\xA0\x80", 3));
    assert_false(utf8_valid("\xF0\x8F\xBF\xBF", 4));
    assert_false(utf8_valid("\xF4\x90\x80\x80", 4));
    assert_false(utf8_valid("\xF5\x80\x80\x80", 4));
    assert_false(utf8_valid("\xC3", 1));
    assert_false(utf8_valid("\xE2\x82\x28", 3));
    assert_int_equal(utf8_length("", 0), 0);
    assert_int_equal(utf8_length("12345678abc", 11), 11);
    assert_int_equal(utf8_length("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80 \xC3\xA9", 12), 5);
}

/* Every code point is written and read back, every other value of four bytes' prefix is refused. */
static void utf8_every_code_point(void **state)
{
    for (uint32_t cp = 0; cp <= 0x10FFFF; cp++) {
        char text[4];
        uint32_t back = 0;
        size_t n;

        if (cp >= 0xD800 && cp <= 0xDFFF)
            continue;
        n = utf8_put(cp, text);
        if (utf8_step(text, n, &back) != n || back != cp || utf8_step(text, n - 1, &back) != 0 ||
            utf8_length(text, n) != 1)
            fail_msg("U+%04X", cp);
    }
}

static wharf_str trim(const char *z)
{
    return utf8_trim(str_z(z));
}

static void trims(void **state)
{
    assert_true(str_eqz(trim(" \t\r\n a b \v\f"), "a b"));
    assert_true(str_eqz(trim("\xC2\xA0\xE2\x80\x83x\xE3\x80\x80\xE2\x80\xA9\xC2\x85"), "x"));
    assert_true(str_eqz(trim("   "), ""));
    assert_true(str_eqz(trim(""), ""));
    /* zero width space is not White_Space */
    assert_true(str_eqz(trim("\xE2\x80\x8Bx"), "\xE2\x80\x8Bx"));
    assert_true(str_eqz(trim(" \xC3\xA9 "), "\xC3\xA9"));
}

static void distance(void **state)
{
    assert_int_equal(str_distance("", ""), 0);
    assert_int_equal(str_distance("abc", ""), 3);
    assert_int_equal(str_distance("kitten", "sitting"), 3);
    assert_int_equal(str_distance("listen", "lisetn"), 2);
    assert_int_equal(str_distance("same", "same"), 0);
}

static void prefixes(void **state)
{
    assert_true(str_starts(WHARF_S("abc"), "ab"));
    assert_false(str_starts(WHARF_S("a"), "ab"));
    assert_true(str_ends(WHARF_S("abc"), "bc"));
    assert_false(str_ends(WHARF_S("c"), "bc"));
    assert_true(str_eq(str_z(NULL), WHARF_S("")));
}

static void ids(void **state)
{
    char a[ID_MAX], b[ID_MAX];
    const int64_t now = 1704164645678901;

    assert_int_equal(id_new("door", now, a), 27);
    assert_int_equal(strlen(a), 27);
    assert_true(id_shape(str_z(a), "door"));
    assert_false(id_shape(str_z(a), "doo"));
    assert_false(id_shape(WHARF_S("door_0123456789012345678901x"), "door"));
    assert_false(id_shape(WHARF_S("door_012345678901234567890-"), "door"));
    assert_false(id_shape(WHARF_S("door-0123456789012345678901"), "door"));
    assert_int_equal(id_time_ms(str_z(a)), 1704164645678);
    assert_int_equal(id_time_ms(WHARF_S("x_zzzzzzzzzzzzzzzzzzzzzz")), -1); /* more than 128 bits */
    assert_int_equal(id_time_ms(WHARF_S("x_0000000000000000000000")), 0);
    assert_int_equal(id_time_ms(WHARF_S("0000000000000000000000")), -1);
    id_new("door", now + 1000, b);
    assert_true(strcmp(a, b) < 0); /* byte order is time order */
    id_new("door", now, b);
    assert_string_not_equal(a, b);
    id_new("a_prefix_longer_than_there_is_room_for_in_an_id", now, a);
    assert_int_equal(strlen(a), ID_MAX - 1);
}

static void id_order(void **state)
{
    char last[ID_MAX] = "p_", next[ID_MAX];

    for (int64_t ms = 0; ms < 20000; ms++) {
        id_new("p", 1700000000000000 + ms * 1000, next);
        assert_true(strcmp(last, next) < 0);
        assert_int_equal(id_time_ms(str_z(next)), 1700000000000 + ms);
        memcpy(last, next, sizeof(last));
    }
    for (int i = 0; i < 20000; i++) { /* of one moment: in the order in which they are made */
        id_new("p", 1700000020000000, next);
        assert_true(strcmp(last, next) < 0);
        assert_int_equal(id_time_ms(str_z(next)), 1700000020000);
        memcpy(last, next, sizeof(last));
    }
}

static void base62(void **state)
{
    char out[23] = {0};

    base62_u128(0, out, 22);
    assert_string_equal(out, "0000000000000000000000");
    base62_u128(~(unsigned __int128)0, out, 22);
    assert_string_equal(out, "7n42DGM5Tflk9n8mt7Fhc7");
    memset(out, 0, sizeof(out));
    base62_u128(3843, out, 3);
    assert_string_equal(out, "0zz");
}

static void random_text(void **state)
{
    size_t seen[128] = {0};
    char text[1001], uuid[37];
    int kinds = 0;

    for (int i = 0; i < 100; i++) {
        random_base62(text, 1000);
        assert_int_equal(strlen(text), 1000);
        for (int j = 0; j < 1000; j++)
            seen[(unsigned char)text[j]]++;
    }
    for (int c = 0; c < 128; c++) {
        kinds += seen[c] > 0;
        /* 100,000 draws of 62: 1613 each, standard deviation 40. */
        assert_true(!seen[c] || (seen[c] > 1300 && seen[c] < 1950));
    }
    assert_int_equal(kinds, 62);
    uuid_v4(uuid);
    assert_int_equal(strlen(uuid), 36);
    assert_true(uuid[8] == '-' && uuid[13] == '-' && uuid[14] == '4' && uuid[18] == '-' &&
                strchr("89ab", uuid[19]) && uuid[23] == '-');
}

static void a_child_does_not_repeat(void **state)
{
    char mine[33] = {0}, theirs[33] = {0};
    int ends[2], status;
    pid_t pid;

    random_base62(mine, 4);
    assert_int_equal(pipe(ends), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        random_base62(mine, 32);
        _exit(write(ends[1], mine, 32) == 32 ? 0 : 1);
    }
    random_base62(mine, 32);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(read(ends[0], theirs, 32), 32);
    assert_string_not_equal(mine, theirs);
    close(ends[0]);
    close(ends[1]);
}

/* A resident opens scopes for months. */
static void scopes_leave_nothing(void **state)
{
    struct wharf_req req = {.arena = arena_new(1 << 20)};
    void *first = NULL;

    for (int i = 0; i < 100000; i++) {
        wharf_scope *outer = host_mem.scope_begin(&req), *inner = host_mem.scope_begin(&req);
        void *p = host_mem.alloc(&req, 100);

        if (!first)
            first = p;
        assert_ptr_equal(p, first);
        host_mem.scope_end(&req, inner);
        host_mem.scope_end(&req, outer);
    }
    arena_free(req.arena);
}

/* The texts of an answer and of its log lines are read when the handler and its scopes are over:
 * each of them stays whole. */
static void scopes_keep_the_answer(void **state)
{
    for (int field = 0; field < 5; field++) {
        struct wharf_req req = {.arena = arena_new(1 << 20)};
        wharf_str *kept[] = {&req.reply.message, &req.reply.answered_id, &req.reply.location_header,
            &req.reply.pagination, &req.batch_id};
        wharf_scope *scope = host_mem.scope_begin(&req);

        *kept[field] = arena_dupz(req.arena, "what the handler said");
        host_mem.scope_end(&req, scope);
        memset(host_mem.alloc(&req, 200), 'x', 200); /* who comes next takes what is free */
        assert_string_equal(kept[field]->p, "what the handler said");
        arena_free(req.arena);
    }
}

/* ---- stepping back ---- */

/* 0: a child of this process, a session of its own, stepped back as a process and as a session. */
static int step_back(void)
{
    int ready[2], piped = pipe(ready);
    pid_t child = fork();
    char path[40], text[64] = "";
    int session, own = getpriority(PRIO_PROCESS, 0), result = 0;
    FILE *f;

    if (child == 0) {
        setsid();
        prctl(PR_SET_DUMPABLE, 1); /* as after exec: else its files are root's */
        close(ready[1]);
        for (;;)
            pause();
    }
    close(ready[1]);
    if (piped != 0 ||
        read(ready[0], text, 1) != 0) /* its group is there when setsid has returned */
        result = 4;
    close(ready[0]);
    if (!turns_step_back(child, STEP_BACK_NICE, &session) ||
        getpriority(PRIO_PROCESS, (id_t)child) !=
            (own + STEP_BACK_NICE < 19 ? own + STEP_BACK_NICE : 19))
        result = 1;
    for (int i = 0; i < 500 && !turns_session_nice(&session, STEP_BACK_NICE); i++)
        usleep(10000);
    if (session != -1)
        result = 2;
    snprintf(path, sizeof(path), "/proc/%d/autogroup", (int)child);
    f = fopen(path, "r"); /* absent where sessions are no groups */
    if (f && (!fgets(text, sizeof(text), f) || !strstr(text, "nice 10\n")))
        result = 3;
    if (f)
        fclose(f);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return result;
}

/* Root, and who may do no more than anybody. */
static void count_call(void *arg)
{
    ++*(int *)arg;
}

/* Functions that may use the request are called by arena_end(), those that only give memory back
 * by arena_free(), each once; functions registered with arena_on_end() inside a mark outlive it. */
static void arena_ends(void **state)
{
    int released = 0, freed = 0, ended = 0, inside = 0;
    struct arena *a = arena_new(1 << 20);
    struct arena_mark mark;

    arena_on_free(a, count_call, &freed);
    arena_on_release(a, count_call, &released);
    mark = arena_mark(a);
    arena_on_end(a, count_call, &ended);
    arena_on_release(a, count_call, &inside);
    arena_on_free(a, count_call, &inside);
    arena_rewind(a, mark);
    assert_int_equal(inside, 2);
    assert_int_equal(released + freed + ended, 0);
    for (int i = 0; i < 2; i++) {
        arena_end(a);
        assert_int_equal(released, 1);
        assert_int_equal(ended, 1);
        assert_int_equal(freed, 0);
    }
    arena_reset(a);
    assert_int_equal(freed, 1);
    arena_on_free(a, count_call, &freed);
    arena_on_release(a, count_call, &released);
    arena_on_end(a, count_call, &ended);
    arena_free(a);
    assert_int_equal(freed, 2);
    assert_int_equal(released, 2);
    assert_int_equal(ended, 2);
    assert_int_equal(inside, 2);
}

static int64_t held(enum memory_owner owner)
{
    return atomic_load(&memory_held[owner]);
}

/* Memory of an arena, and of texts kept apart with it, is counted for its owner, and no more when
 * it is gone, in whichever way. */
static void arenas_are_counted(void **state)
{
    int64_t requests = held(MEMORY_REQUESTS), keys = held(MEMORY_KEYS),
            bodies = held(MEMORY_BODIES);
    struct arena *a = arena_new(1 << 20);
    struct arena_mark mark;

    assert_int_equal(held(MEMORY_REQUESTS) - requests, arena_used(a));
    arena_alloc(a, 300000);
    mark = arena_mark(a);
    arena_alloc(a, 200000);
    assert_int_equal(held(MEMORY_REQUESTS) - requests, arena_used(a));
    arena_belongs(a, MEMORY_KEYS);
    assert_int_equal(held(MEMORY_REQUESTS), requests);
    assert_int_equal(held(MEMORY_KEYS) - keys, arena_used(a));
    arena_rewind(a, mark);
    assert_true(arena_used(a) < 500000);
    assert_int_equal(held(MEMORY_KEYS) - keys, arena_used(a));
    arena_reset(a);
    assert_int_equal(held(MEMORY_KEYS) - keys, arena_used(a));
    arena_alloc_apart(a, 70000);
    arena_keep_apart(a, strdup("sent"));
    arena_keep_apart(a, NULL);
    assert_true(held(MEMORY_BODIES) - bodies > 70000);
    arena_end(a);
    assert_true(held(MEMORY_BODIES) - bodies > 70000);
    arena_free(a);
    assert_int_equal(held(MEMORY_KEYS), keys);
    assert_int_equal(held(MEMORY_BODIES), bodies);
}

/* A buffer is counted from MEMORY_LARGE on, until it is freed, handed over, or fails. */
static void large_buffers_are_counted(void **state)
{
    int64_t before = held(MEMORY_BUFFERS);
    size_t n;

    for (int way = 0; way < 3; way++) {
        struct buf b;

        buf_init(&b, 100000);
        assert_non_null(buf_room(&b, 1000));
        assert_int_equal(held(MEMORY_BUFFERS), before);
        for (int i = 0; i < 30000; i++)
            buf_addc(&b, 'x');
        assert_int_equal(held(MEMORY_BUFFERS) - before, b.cap);
        if (way == 0)
            free(buf_take(&b, &n));
        else if (way == 1)
            assert_null(buf_room(&b, 100000));
        assert_int_equal(held(MEMORY_BUFFERS) - before, way == 2 ? (int64_t)b.cap : 0);
        buf_done(&b);
        assert_int_equal(held(MEMORY_BUFFERS), before);
    }
}

static void who_steps_back(void **state)
{
    assert_int_equal(step_back(), 0);
    for (int i = 0; geteuid() == 0 && i < 2; i++) { /* the second one is told to wait */
        int status;
        pid_t pid = fork();

        if (pid == 0)
            _exit(setgid(65534) != 0 || setuid(65534) != 0 ? 9 : step_back());
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

/* Examples of FIPS 180-2: one part, several, none. */
static void digests(void **state)
{
    static const unsigned char
        abc[DIGEST_BYTES] = "\xba\x78\x16\xbf\x8f\x01\xcf\xea\x41\x41\x40\xde\x5d\xae\x22\x23"
                            "\xb0\x03\x61\xa3\x96\x17\x7a\x9c\xb4\x10\xff\x61\xf2\x00\x15\xad",
        nothing[DIGEST_BYTES] = "\xe3\xb0\xc4\x42\x98\xfc\x1c\x14\x9a\xfb\xf4\xc8\x99\x6f\xb9\x24"
                                "\x27\xae\x41\xe4\x64\x9b\x93\x4c\xa4\x95\x99\x1b\x78\x52\xb8\x55";
    const wharf_str parts[] = {WHARF_S("abc"), WHARF_S("a"), WHARF_S(""), WHARF_S("bc")};
    unsigned char got[DIGEST_BYTES];

    digest_sha256(parts, 1, got);
    assert_memory_equal(got, abc, DIGEST_BYTES);
    digest_sha256(parts + 1, 3, got);
    assert_memory_equal(got, abc, DIGEST_BYTES);
    digest_sha256(NULL, 0, got);
    assert_memory_equal(got, nothing, DIGEST_BYTES);
}

static void text_of_html(void **state)
{
    struct buf b;

    buf_init(&b, 100);
    BUF_LIT(&b, "<b>");
    buf_add_html(&b, WHARF_S("<a href=\"x\">'1' & 2\xc3\xa4</a>"));
    assert_string_equal(
        b.p, "<b>&lt;a href=&quot;x&quot;&gt;&#39;1&#39; &amp; 2\xc3\xa4&lt;/a&gt;");
    buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {UNIT(utf8), UNIT(utf8_every_code_point), UNIT(trims),
        UNIT(distance), UNIT(prefixes), UNIT(ids), UNIT(id_order), UNIT(base62), UNIT(random_text),
        UNIT(a_child_does_not_repeat), UNIT(scopes_leave_nothing), UNIT(scopes_keep_the_answer),
        UNIT(arena_ends), UNIT(arenas_are_counted), UNIT(large_buffers_are_counted),
        UNIT(who_steps_back), UNIT(digests), UNIT(text_of_html)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
