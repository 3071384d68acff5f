/* reference.c - where a $ref points to: a JSON pointer in a URI fragment (RFC 6901 section 6).
 * See node.h. */
#include "schema/node.h"
#include "util/str.h"

static int reference_hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
        return (c | 0x20) - 'a' + 10;
    return -1;
}

/* Unescapes one step of a pointer in a URI fragment: %41 and ~0 ~1 undone. Returns false when it
 * is broken. */
static bool unescape_step(const char *p, const char *end, struct buf *out)
{
    buf_clear(out);
    for (; p < end; p++) {
        char c = *p;

        if (c == '%') {
            if (end - p < 3 || reference_hex_value(p[1]) < 0 || reference_hex_value(p[2]) < 0)
                return false;
            c = (char)(reference_hex_value(p[1]) << 4 | reference_hex_value(p[2]));
            p += 2;
        }
        buf_addc(out, c);
    }
    for (size_t i = 0; i < out->n; i++)
        if (out->p[i] == '~') {
            if (i + 1 == out->n || (out->p[i + 1] != '0' && out->p[i + 1] != '1'))
                return false;
            out->p[i] = out->p[i + 1] == '0' ? '~' : '/';
            memmove(out->p + i + 1, out->p + i + 2, out->n - i - 2);
            out->n--;
        }
    return true;
}

static const struct wharf_json *reference_step_into(const struct wharf_json *at, wharf_str step)
{
    size_t index = 0;

    if (json_is(at, JSON_OBJECT))
        return json_get_n(at, step);
    if (!json_is(at, JSON_ARRAY) || step.n == 0 || step.n > 6 || (step.n > 1 && *step.p == '0'))
        return NULL;
    for (size_t i = 0; i < step.n; i++) {
        if (step.p[i] < '0' || step.p[i] > '9')
            return NULL;
        index = index * 10 + (size_t)(step.p[i] - '0');
    }
    return json_at(at, index);
}

const struct wharf_json *schema_resolve(const struct wharf_json *root, wharf_str ref)
{
    const char *p = ref.p + 1, *end = ref.p + ref.n;
    const struct wharf_json *at = root;
    struct buf step;

    if (!ref.n || *ref.p != '#' || (p < end && *p != '/'))
        return NULL;
    buf_init(&step, 4096);
    while (p < end && at) {
        const char *next = memchr(p + 1, '/', (size_t)(end - p - 1));

        if (!next)
            next = end;
        at = unescape_step(p + 1, next, &step) ? reference_step_into(at, buf_str(&step)) : NULL;
        p = next;
    }
    buf_done(&step);
    return at;
}
