/* plugin_sql.c - see plugin_sql.h. PostgreSQL takes one command in a statement with parameters, so
 * its first word says what it does. */
#include "db/plugin_sql.h"

#include <string.h>
#include <strings.h>

static const char transaction[] = "begins, divides or ends a transaction";
static const char session[] = "changes the settings or the state of the connection";

static const struct {
    const char *word, *does;
} refused_words[] = {
    {"ABORT", transaction},
    {"BEGIN", transaction},
    {"COMMIT", transaction},
    {"END", transaction},
    {"PREPARE", transaction},
    {"RELEASE", transaction},
    {"ROLLBACK", transaction},
    {"SAVEPOINT", transaction},
    {"START", transaction},
    {"DEALLOCATE", session},
    {"DISCARD", session},
    {"LISTEN", session},
    {"LOAD", session},
    {"RESET", session},
    {"SET", session},
    {"UNLISTEN", session},
};

/* Returns where the text goes on behind a comment that begins at p; NULL when none does. Comments
 * in slashes and stars nest. */
static const char *skip_comment(const char *p)
{
    unsigned depth = 0;

    if (!strncmp(p, "--", 2))
        return p + strcspn(p, "\n");
    if (strncmp(p, "/*", 2) != 0)
        return NULL;
    do {
        if (!strncmp(p, "/*", 2)) {
            depth++;
            p += 2;
        } else if (!strncmp(p, "*/", 2)) {
            depth--;
            p += 2;
        } else {
            p++;
        }
    } while (depth && *p);
    return p;
}

static const char *first_word(const char *sql)
{
    for (;;) {
        const char *behind;

        sql += strspn(sql, " \t\r\n\f\v;");
        behind = skip_comment(sql);
        if (!behind)
            return sql;
        sql = behind;
    }
}

const char *plugin_sql_refused(const char *sql)
{
    const char *word = first_word(sql);
    size_t n = strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");

    for (size_t i = 0; i < sizeof(refused_words) / sizeof(refused_words[0]); i++)
        if (strlen(refused_words[i].word) == n && !strncasecmp(word, refused_words[i].word, n))
            return refused_words[i].does;
    return strcasestr(sql, "set_config") ? session : NULL;
}
