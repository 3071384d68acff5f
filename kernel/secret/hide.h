/* hide.h - values that must not be kept, taken out of texts: the one place that knows in which
 * forms a secret is still a secret.
 *
 * A value is known again in letters of any case, with characters escaped as \\uXXXX, \\n or %XX,
 * in hex, and in base64 (both alphabets) also behind a user's name, as `Authorization: Basic`
 * has it. "[secret:NAME]" takes its place. Values of fewer than six bytes are left. */
#ifndef WHARF_SECRET_HIDE_H
#define WHARF_SECRET_HIDE_H

#include "util/arena.h"

struct hide_list;

/* Makes a list of secrets to hide. names and values stay the caller's and must live as long as the
 * list, which is in a. */
const struct hide_list *hide_prepare(
    struct arena *a, const wharf_str *names, const wharf_str *values, size_t n);
/* Returns the text without those secrets; the same text when none stands in it. cut: the text went
 * on, and what stands at its end may be the beginning of one. list NULL: there are none. */
wharf_str hide_text(struct arena *a, const struct hide_list *list, wharf_str text, bool cut);

#endif
