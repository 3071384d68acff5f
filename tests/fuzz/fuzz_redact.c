/* fuzz_redact.c - the beginning of any text through the request log's removal: bounded, whole
 * characters, and the token is gone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event/redact.h"
#include "util/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char TOKEN[] = "q7qZ7qZqqZ7qZqqZ7qZqqZ7qZqqZ7qZqqZ7qZqqZ7qZ";

static void must(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "not kept: %s\n", what);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const own[] = {"pin"};
    const struct redact_names names = {own, 1};
    size_t max = size ? data[0] * 16u : 0, n = strlen(TOKEN);
    char *text = malloc(size + n + 3);
    struct buf out;

    if (!text)
        return 0;
    /* Whatever stands before it, a token in a text does not come through. */
    memcpy(text, data, size);
    memcpy(text + size, "\"", 1);
    memcpy(text + size + 1, TOKEN, n);
    memcpy(text + size + 1 + n, "\"", 2);
    buf_init(&out, 1 << 20);
    redact_json(&out, &names, (wharf_str){text, size + n + 2}, max);
    must(out.n <= max, "the limit");
    buf_clear(&out);
    redact_query(&out, &names, (wharf_str){text, size + n + 2});
    must(out.failed || !out.p || !strstr(out.p, TOKEN), "no token in a query");
    buf_done(&out);
    free(text);
    return 0;
}
