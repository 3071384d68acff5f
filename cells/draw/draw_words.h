/* draw_words.h - the texts of a message with values in place: WHARF_DRAW_WORDS of
 * wharf/service/draw.h. Pure, as draw_expr.h is; see there for the limits of a text. */
#ifndef WHARF_CELL_DRAW_WORDS_H
#define WHARF_CELL_DRAW_WORDS_H

#include "draw_call.h"
#include "draw_expr.h"

/* Makes subject, text and html of the body, and writes the report. */
void words_make(struct draw_result *ret, struct arena *a, const struct wharf_json *body,
    struct draw_zones *zones);

#endif
