/* place.c - texts of places, see node.h. */
#include "schema/node.h"

static void add_escaped(
    struct buf *out, wharf_str key, const char *special, const char *const *instead)
{
    for (size_t i = 0; i < key.n; i++) {
        const char *hit = key.p[i] ? strchr(special, key.p[i]) : NULL;

        if (hit)
            buf_addz(out, instead[hit - special]);
        else
            buf_addc(out, key.p[i]);
    }
}

static void place_add_path(struct buf *out, const struct place *at)
{
    static const char *const escapes[] = {"\\."};

    if (!at->up)
        return;
    place_add_path(out, at->up);
    if (out->n)
        buf_addc(out, '.');
    if (at->is_index)
        buf_addi(out, (int64_t)at->index);
    else
        add_escaped(out, at->key, ".", escapes);
}

static wharf_str place_keep(struct arena *a, struct buf *text)
{
    wharf_str s = buf_str(text);

    s = arena_dup(a, s.p, s.n);
    buf_done(text);
    return s;
}

wharf_str place_path(struct arena *a, wharf_str base, const struct place *at)
{
    struct buf text;

    buf_init(&text, SIZE_MAX / 2);
    buf_adds(&text, base);
    place_add_path(&text, at);
    return place_keep(a, &text);
}

static void add_pointer(struct buf *out, const struct place *at)
{
    static const char *const escapes[] = {"~0", "~1"};

    if (!at->up)
        return;
    add_pointer(out, at->up);
    buf_addc(out, '/');
    if (at->is_index)
        buf_addi(out, (int64_t)at->index);
    else
        add_escaped(out, at->key, "~/", escapes);
}

wharf_str place_pointer(struct arena *a, const struct place *at)
{
    struct buf text;

    buf_init(&text, SIZE_MAX / 2);
    add_pointer(&text, at);
    return place_keep(a, &text);
}
