/* record.h - a row in memory: cells as PostgreSQL wrote them, or as a request will have them;
 * and its JSON.
 *
 * A cell is text in PostgreSQL's form (p NULL: null). The cells of a row are def->columns, then
 * one JSON text for each children, embed and computed field. Leaves to others: where rows come
 * from and go to. */
#ifndef WHARF_RESOURCE_RECORD_H
#define WHARF_RESOURCE_RECORD_H

#include "resource/body.h"
#include "resource/engine.h"

struct cell {
    const char *p;
    size_t n;
};

static inline bool cell_same(const struct cell *a, const struct cell *b)
{
    return (a->p != NULL) == (b->p != NULL) && a->n == b->n && (!a->p || !memcmp(a->p, b->p, a->n));
}

struct wharf_rec {
    const struct resource *res;
    struct arena *arena;
    struct cell *cells; /* n_cells; NULL: only values */
    struct value *values; /* by field index: what the request sends; NULL for a row as read */
    struct wharf_json *raw; /* in normalize hooks only: the body as sent, to be changed */
    wharf_str id; /* of a row that is not written yet */
    wharf_str parts; /* what its event keeps for some readers only (told.h) */
    struct write_side *side; /* of the write that it belongs to, else NULL */
    bool shown; /* read with what SQL computes of it (columns_list, columns_shown) */
    bool kept; /* the written hook that runs left the row as it was (res->row_kept) */
    bool touched; /* a written hook may have changed the row since it was read */
    bool locked; /* a secret of it does not open with the keys of this machine; it reads as null */
};

struct view {
    uint32_t in; /* IN_LIST, IN_RETRIEVE; VIEW_ALL: also fields that are never shown */
    uint64_t includes; /* bit per field index: its include flag is on */
    const char *const *embeds; /* include parameters of other modules that are on */
    size_t n_embeds;
    const struct field *const *only; /* fields=, or NULL */
    size_t n_only;
    enum datetime_format datetime;
    const struct access *who; /* for embeds; NULL: everything */
    const struct field *const *without;
    size_t n_without;
    const struct field_newest *newest; /* lists that show their last elements only */
    size_t n_newest;
    bool writer; /* who asked may write the resource */
};
enum { VIEW_ALL = 0x80 };

/* Makes a record of row i of a result whose columns are the resource's select list. */
struct wharf_rec *record_from_result(
    struct arena *a, const struct resource *res, const PGresult *r, int row);
static inline struct cell *record_cell(const struct wharf_rec *rec, const struct field *f)
{
    int16_t at = rec->res->cell_of[f->index];

    return at < 0 ? NULL : &rec->cells[at];
}
wharf_str record_id(const struct wharf_rec *rec);
int64_t record_version(const struct wharf_rec *rec);
/* Returns the text of a cell, "" when it is null. */
wharf_str record_text(const struct wharf_rec *rec, const struct field *f);

/* Tells whether rows that are read for these views (IN_*) come with the field, which SQL
 * computes. */
bool field_selected(const struct field *f, uint32_t views);
/* Tells whether the field is a member of the row in this view. */
bool record_shows(const struct field *f, const struct view *view);
/* Writes the row as a JSON object at the writer's place. a: for parsing nested values. */
void record_encode(struct jw *w, const char *key, struct arena *a, const struct wharf_rec *rec,
    const struct view *view);
/* Writes the row's members only, inside an object that the caller opened. */
void record_members(
    struct jw *w, struct arena *a, const struct wharf_rec *rec, const struct view *view);
/* Returns the row as JSON text with ISO dates and nothing left out of the view. */
wharf_str record_json(struct arena *a, const struct wharf_rec *rec, const struct view *view);
/* Writes a moment as the request wants it (docs/spec/01-platform.md section 4.1). */
void write_time(struct jw *w, const char *key, int64_t us, enum datetime_format format);
/* Makes a value for a plugin. Returns false when it is null or absent. */
bool cell_value(struct arena *a, const struct field *f, const struct cell *cell, wharf_val *ret);
/* Makes the text of a secret column as it is stored; any other stays as it is. Returns false when
 * this machine has no master key. */
bool cell_seal(struct arena *a, const struct definition *d, const struct field *f, wharf_str id,
    struct cell *cell);
/* Tells whether the request's value differs from what the row has. */
bool cell_differs(
    struct arena *a, const struct field *f, const struct cell *cell, const struct value *value);
/* Makes PostgreSQL's text of a value given by a plugin. */
void value_from_plugin(
    struct arena *a, const struct field *f, const wharf_val *v, struct value *ret);

#endif
