/* fuzz_inline.c - data URIs and base64 of requests: no crash, never more bytes than the text has,
 * pieces as they are promised, and what base64 gives is the same with line ends in it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blob/blob_inline.h"
#include "util/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct taken {
    unsigned char *bytes;
    size_t n, room;
};

static void must(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "not kept: %s\n", what);
        abort();
    }
}

static bool take(void *arg, const void *bytes, size_t n)
{
    struct taken *t = arg;

    must(n > 0 && n <= t->room - t->n, "there are no more bytes than the text has");
    memcpy(t->bytes + t->n, bytes, n);
    t->n += n;
    return true;
}

static bool stop(void *arg, const void *bytes, size_t n)
{
    (*(unsigned *)arg)++;
    return false;
}

static enum inline_end read_all(wharf_str text, struct taken *t, wharf_str *ret_type)
{
    const char *fault;
    enum inline_end end;

    *t = (struct taken){malloc(text.n + 1), 0, text.n};
    end = inline_read(text, take, t, ret_type, &fault);
    must((end == INLINE_BAD) == (fault[0] != 0), "what is bad has a reason");
    must(end != INLINE_STOPPED, "nobody stopped it");
    return end;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), *broken = malloc(2 * size + 1);
    struct taken once, again;
    wharf_str type, second;
    enum inline_end end;
    unsigned stops = 0;
    const char *fault;
    size_t n = 0;

    memcpy(text, data, size);
    text[size] = 0;
    for (size_t i = 0; i < size; i++) {
        broken[n++] = text[i];
        broken[n++] = '\n';
    }
    broken[n] = 0;
    end = read_all((wharf_str){text, size}, &once, &type);
    must(type.n == 0 || (type.p >= text && type.p + type.n <= text + size), "the type is of it");
    if (size < 1 || (text[0] | 32) != 'd') {
        must(read_all((wharf_str){broken, n}, &again, &second) == end, "line ends do no harm");
        must(end != INLINE_DONE || (once.n == again.n && !memcmp(once.bytes, again.bytes, once.n)),
            "and change nothing");
        free(again.bytes);
    }
    if (inline_read((wharf_str){text, size}, stop, &stops, &type, &fault) == INLINE_STOPPED)
        must(stops == 1, "who stops it is not asked again");
    free(once.bytes);
    free(broken);
    free(text);
    return 0;
}
