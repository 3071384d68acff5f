/* precondition.c - If-Match: which row version a client has seen. See write.h. Leaves to others: making tags (http/etag.c). */
#include <stdlib.h>

#include "resource/write.h"
#include "util/str.h"

/* "v3-..." with or without quotes, weak or not. */
static bool has_version(const char *tag, size_t n, int64_t version)
{
    char text[24];
    size_t digits = 0;

    if (n > 2 && tag[0] == 'W' && tag[1] == '/') {
        tag += 2;
        n -= 2;
    }
    if (n && *tag == '"') {
        tag++;
        n--;
    }
    if (!n || *tag != 'v')
        return false;
    while (digits + 1 < n && digits < sizeof(text) - 1 && tag[digits + 1] >= '0' && tag[digits + 1] <= '9') {
        text[digits] = tag[digits + 1];
        digits++;
    }
    text[digits] = 0;
    return digits && digits + 1 < n && tag[digits + 1] == '-' && strtoll(text, NULL, 10) == version;
}

bool version_listed(wharf_str tags, int64_t version)
{
    for (const char *p = tags.p; *p;) {
        size_t n;

        p += strspn(p, ", \t");
        n = strcspn(p, ", \t");
        if ((n == 1 && *p == '*') || has_version(p, n, version))
            return true;
        p += n;
    }
    return false;
}
