/* cell_frame.c - cutting a stream of bytes into frames, whatever the pieces it comes in. */
#include "unit.h"

#include "cell/frame.h"

static void put(struct buf *b, uint32_t size, uint16_t type, uint32_t id, const char *payload)
{
    struct frame_head h = {.size = size, .type = type, .id = id};

    buf_add(b, &h, sizeof(h));
    buf_addz(b, payload);
}

static void feed(struct frame_reader *r, const char *p, size_t n)
{
    while (n > 0) {
        size_t room, k;
        char *to = frame_reader_room(r, &room);

        assert_non_null(to);
        k = room < n ? room : n;
        memcpy(to, p, k);
        frame_reader_got(r, k);
        p += k;
        n -= k;
    }
}

static void any_pieces(void **state)
{
    struct buf stream;
    char payload[3000];

    buf_init(&stream, 1 << 20);
    memset(payload, 'x', sizeof(payload));
    payload[sizeof(payload) - 1] = 0;
    for (uint32_t i = 0; i < 50; i++)
        put(&stream, i % 2 ? sizeof(payload) - 1 : 0, FRAME_DATA, i, i % 2 ? payload : "");
    for (size_t piece = 1; piece < 9000; piece = piece * 3 + 1) {
        struct frame_reader r;
        uint32_t seen = 0;

        frame_reader_init(&r, 4096);
        for (size_t at = 0; at < stream.n; at += piece) {
            struct frame f;

            feed(&r, stream.p + at, stream.n - at < piece ? stream.n - at : piece);
            while (frame_reader_next(&r, &f) == 1) {
                assert_int_equal(f.head.id, seen);
                assert_int_equal(f.head.size, seen % 2 ? sizeof(payload) - 1 : 0);
                if (f.head.size)
                    assert_memory_equal(f.payload, payload, f.head.size);
                seen++;
            }
        }
        assert_int_equal(seen, 50);
        assert_int_equal(r.at, r.n);
        frame_reader_done(&r);
    }
    buf_done(&stream);
}

static int first(uint32_t size, uint16_t type)
{
    struct frame_reader r;
    struct frame f;
    struct buf b;
    int got;

    buf_init(&b, 1 << 20);
    put(&b, size, type, 1, "abcd");
    frame_reader_init(&r, 1000);
    feed(&r, b.p, b.n);
    got = frame_reader_next(&r, &f);
    frame_reader_done(&r);
    buf_done(&b);
    return got;
}

static void refused(void **state)
{
    assert_int_equal(first(4, FRAME_RESULT), 1);
    assert_int_equal(first(1000, FRAME_RESULT), 0);
    assert_int_equal(first(1001, FRAME_RESULT), -1);
    assert_int_equal(first(UINT32_MAX, FRAME_RESULT), -1);
    assert_int_equal(first(4, 0), -1);
    assert_int_equal(first(4, FRAME_AHEAD + 1), -1);
}

/* An announced frame takes no memory before it comes, and memory of a large frame is given back. */
static void memory(void **state)
{
    struct frame_reader r;
    struct frame f;
    struct frame_head h = {.size = 8 << 20, .type = FRAME_DATA, .id = 1};
    static char block[64 << 10];
    size_t room;

    frame_reader_init(&r, 16 << 20);
    feed(&r, (const char *)&h, sizeof(h));
    assert_int_equal(frame_reader_next(&r, &f), 0);
    assert_true(r.cap < 64 << 10);
    for (size_t n = 0; n < h.size; n += sizeof(block))
        feed(&r, block, sizeof(block));
    assert_int_equal(frame_reader_next(&r, &f), 1);
    assert_non_null(frame_reader_room(&r, &room));
    assert_true(r.cap < 64 << 10);
    frame_reader_done(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {UNIT(any_pieces), UNIT(refused), UNIT(memory)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
