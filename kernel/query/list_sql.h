/* list_sql.h - parts of the statements of a list (list_sql.c), also for pages by relevance
 * (ranked_sql.c). Inside of query/. */
#ifndef WHARF_QUERY_LIST_SQL_H
#define WHARF_QUERY_LIST_SQL_H

#include "query/query.h"

/* Writes what the field sorts by: text by its lower-case form in byte order, or by its place in its
 * enum; ids are their own. */
const char *list_order_expression(struct sql *s, const struct field *f);
/* Writes a value as list_order_expression() writes the field, for comparing the two. */
void list_cursor_value(struct sql *s, const struct field *f, wharf_str value);
/* Writes " FROM table t WHERE ...": the rows of the list, before paging. extra(s, arg) adds
 * conditions; or NULL. */
void list_from_where(struct sql *s, const struct definition *d, const struct list_query *q,
    const struct access *who, query_extra_fn *extra, void *arg);
/* Writes "SELECT ..." of a page's rows. score: the expression of their score, or NULL: reckoned
 * here. */
void list_page_columns(struct sql *s, const struct definition *d, const struct list_query *q,
    const struct access *who, const char *score);
/* Writes the limit. Returns whether it was written out. Of a limit that is a parameter PostgreSQL
 * keeps no plan: it takes it for a tenth of the table, plans again for each value, and that takes
 * longer than reading the page. Where rows are chosen by nothing but their organization the limit
 * is written out, and the plan is made once; with other conditions the best plan depends on their
 * values, and stays made for each. */
bool list_page_limit(
    struct sql *s, const struct definition *d, const struct list_query *q, bool one_plan);
/* Writes a page of a search by relevance. */
void ranked_page_sql(struct sql *s, const struct definition *d, const struct list_query *q,
    const struct access *who, query_extra_fn *extra, void *arg);

#endif
