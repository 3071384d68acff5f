/* fuzz_head.c - heads of requests: however the bytes are cut, the same goes through and the same
 * is refused; what goes through is judged good again and stays as it is; what is left over stays
 * small. The first byte says how they are cut. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct run {
    char *text;
    size_t n;
    unsigned verdict;
    uint64_t given;
};

static void must(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "not kept: %s\n", what);
        abort();
    }
}

/* cuts: seed of the lengths of pieces; 0: all at once. */
static struct run run_pieces(const char *p, size_t n, unsigned cuts)
{
    struct run r = {.text = calloc(1, n + 1)};
    size_t at = 0, left = 0, piece, used, ready;
    char *kept = NULL;
    struct head h;

    head_init(&h);
    while (at < n) {
        cuts = cuts * 1103515245u + (cuts ? 12345u : 0);
        piece = cuts ? 1 + (cuts >> 16) % 40 : n;
        piece = piece > n - at ? n - at : piece;
        kept = realloc(kept, left + piece); /* no byte more than there is */
        memcpy(kept + left, p + at, piece);
        left += piece;
        at += piece;
        ready = head_filter(&h, kept, left, &used);
        must(ready <= used && used <= left, "in place");
        memcpy(r.text + r.n, kept, ready);
        r.n += ready;
        memmove(kept, kept + used, left - used);
        left -= used;
        must(left <= HEAD_KEPT_MAX, "what is left over is bounded");
        must(h.phase != HEAD_OVER || !left, "nothing is kept behind the end");
    }
    r.verdict = h.refusal ? h.refusal->verdict : 0;
    r.given = h.given;
    head_done(&h);
    free(kept);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *p = (const char *)data + 1;
    struct run whole, cut, again;

    if (!size)
        return 0;
    whole = run_pieces(p, size - 1, 0);
    cut = run_pieces(p, size - 1, data[0] | 256u);
    must(whole.n == cut.n && !memcmp(whole.text, cut.text, whole.n),
        "the same goes through in pieces");
    must(whole.verdict == cut.verdict && whole.given == cut.given, "the same is refused in pieces");
    /* the marks of queries (head_show_query) and cookies are ours */
    if (!memchr(whole.text, '#', whole.n) && !memchr(whole.text, HEAD_COOKIE, whole.n)) {
        again = run_pieces(whole.text, whole.n, 0);
        must(!again.verdict, "what went through is good");
        must(again.n == whole.n && !memcmp(again.text, whole.text, whole.n), "and canonical");
        free(again.text);
    }
    free(whole.text);
    free(cut.text);
    return 0;
}
