/* search_form.h - what of a text counts when names are looked for (docs/spec/06-inference.md
 * section 9.1).
 *
 * Compatibility decomposition, without combining marks, case folded, letters of ligatures and
 * strokes spelled out, apostrophes deleted; whatever is neither letter nor digit ends a word.
 * Letters of all scripts stay. */
#ifndef WHARF_UTIL_SEARCH_FORM_H
#define WHARF_UTIL_SEARCH_FORM_H

#include "util/arena.h"

/* Returns the words of s separated by one space, "" for nothing. keep: ASCII characters that
 * become words of their own (",#/"), or "". Bytes that are not UTF-8 end a word. */
wharf_str search_form(struct arena *a, wharf_str s, const char *keep);

#endif
