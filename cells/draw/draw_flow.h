/* draw_flow.h - content that goes on over pages (draw_flow.c, draw_table.c). */
#ifndef WHARF_CELL_DRAW_FLOW_H
#define WHARF_CELL_DRAW_FLOW_H

#include "draw.h"

enum { FLOW_COLUMNS_MAX = 20 }; /* columns of a flow */

struct cursor { /* where the next thing stands */
    unsigned page; /* from 1 on */
    double y;
};

/* Returns the height that is left on the page, inside the margins. */
double flow_room(const struct drawing *d, const struct cursor *c);
void flow_next_page(const struct drawing *d, struct cursor *c);
bool flow_at_top(const struct drawing *d, const struct cursor *c);
/* Goes to the next page when there is no room for the height, and this is not its top. */
void flow_fit(const struct drawing *d, struct cursor *c, double height);
/* Puts a measured element at the cursor. x: how far it stands right of its own x. */
void flow_block(struct drawing *d, struct layout *l, struct element *e, struct cursor *c, double x);

/* Puts a flow at the cursor, which stands below it afterwards. x: of its left edge. */
void flow_place(struct drawing *d, struct layout *l, struct element *e, struct cursor *c, double x,
    double width);
bool flow_measure(struct drawing *d, struct element *e);
bool flow_draw(struct drawing *d, struct element *e);
bool spacer_measure(struct drawing *d, struct element *e);
bool break_measure(struct drawing *d, struct element *e);
bool nothing_draw(struct drawing *d, struct element *e);

/* ---- draw_table.c ---- */

void table_place(struct drawing *d, struct layout *l, struct element *e, struct cursor *c, double x,
    double width);
bool table_measure(struct drawing *d, struct element *e);
bool table_draw(struct drawing *d, struct element *e);
void table_done(struct element *e);

#endif
