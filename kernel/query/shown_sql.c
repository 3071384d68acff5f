/* shown_sql.c - select lists of rows that are shown, with what the expressions of their
 * definition ask about the caller (docs/reference/definitions.md 'A property'). */
#include <string.h>

#include "query/filter.h"
#include "util/str.h"

bool query_asks_caller(const char *columns)
{
    return strstr(columns, CALLER_OPENS) != NULL;
}

/* Writes what stands for one name behind the opening. All but the locations is written out: the
 * statements of callers who reach all locations have no parameter for it, and PostgreSQL leaves
 * out of the plan what is true anyway. */
static void caller_value(struct sql *s, wharf_str name, const struct shown_to *to)
{
    const size_t n = strlen(CALLER_READS), n_asks = strlen(CALLER_ASKS);
    const struct access *who = to->who;
    wharf_str value;

    if (str_eqz(name, "all_locations")) {
        sql_add(s, who->all_locations ? "true" : "false");
    } else if (str_eqz(name, "locations") && who->all_locations) {
        sql_add(s, "'{}'::text[]");
    } else if (str_eqz(name, "locations")) {
        sql_bind_array(s, who->locations, who->n_locations);
        sql_add(s, "::text[]");
    } else if (name.n > n && !memcmp(name.p, CALLER_READS, n)) {
        sql_add(s, query_reads(who, (wharf_str){name.p + n, name.n - n}) ? "true" : "false");
    } else if (str_eqz(name, "lists")) {
        sql_add(s, to->lists ? "true" : "false");
    } else if (name.n > n_asks && !memcmp(name.p, CALLER_ASKS, n_asks) &&
               query_asked(
                   to->asked, to->n_asked, (wharf_str){name.p + n_asks, name.n - n_asks}, &value)) {
        sql_bind(s, value);
        sql_add(s, "::text");
    } else {
        sql_add(s, "NULL"); /* not sent; definition_compile refuses other names */
    }
}

bool query_asked(const struct query_pair *pairs, size_t n, wharf_str name, wharf_str *ret_value)
{
    for (size_t i = 0; i < n; i++) {
        if (!pairs[i].broken && str_eq(pairs[i].key, name)) {
            *ret_value = pairs[i].value;
            return true;
        }
    }
    return false;
}

void query_shown(struct sql *s, const char *columns, const struct shown_to *to)
{
    const char *at;

    while ((at = strstr(columns, CALLER_OPENS))) {
        const char *name = at + strlen(CALLER_OPENS), *end = strchr(name, '}');

        sql_addf(s, "%.*s", (int)(at - columns), columns);
        caller_value(s, (wharf_str){name, end ? (size_t)(end - name) : 0}, to);
        columns = end ? end + 1 : name + strlen(name);
    }
    sql_add(s, columns);
}
