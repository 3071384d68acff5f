/* fuzz_reply.c - headers of receivers' answers: reading them never crashes, and pauses stay
 * within their limits. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reply.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "not kept: %s\n", what);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const int64_t now = 1700000000000000LL;
    char *text = malloc(size + 1);
    wharf_str head = {text, size}, name, value;
    bool abort_message, disable;
    size_t at = 0;
    int64_t ms;

    if (!text)
        abort();
    memcpy(text, data, size);
    text[size] = 0;
    if (reply_pause(head, now, &ms))
        must(
            ms >= REPLY_PAUSE_MIN_MS && ms <= REPLY_PAUSE_MAX_MS, "a pause is one second to a day");
    if (reply_later(head, now, &ms))
        must(ms >= 0 && ms <= REPLY_LATER_MAX_MS, "a wait is at most an hour");
    reply_directives(head, &abort_message, &disable);
    while (reply_line(head, &at, &name, &value))
        must(name.p >= text && value.p + value.n <= text + size, "lines are inside");
    reply_date(head, now, true, &ms);
    reply_date(head, now, false, &ms);
    free(text);
    return 0;
}
