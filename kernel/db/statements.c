/* statements.c - see statements.h. */
#include "db/statements.h"

#include <stdlib.h>
#include <string.h>

#include "util/memory.h"

uint64_t statement_hash(const char *sql)
{
    uint64_t h = 0xcbf29ce484222325ULL, word;
    size_t n = strlen(sql);

    for (; n; n -= n < sizeof(word) ? n : sizeof(word), sql += sizeof(word)) {
        word = 0;
        memcpy(&word, sql, n < sizeof(word) ? n : sizeof(word));
        h = (h ^ word) * 0x9fb21c651e98df25ULL;
        h ^= h >> 32;
    }
    return h ? h : 1;
}

bool statement_known(const struct statement_set *s, uint64_t hash)
{
    if (!s->slots)
        return false;
    for (size_t i = hash & (s->cap - 1); s->slots[i]; i = (i + 1) & (s->cap - 1)) {
        if (s->slots[i] == hash)
            return true;
    }
    return false;
}

bool statement_remember(struct statement_set *s, uint64_t hash)
{
    size_t i;

    if (s->count >= STATEMENTS_MAX)
        return false;
    if (!s->slots) {
        s->cap = 2048;
        s->slots = calloc(s->cap, sizeof(*s->slots));
        if (!s->slots) {
            s->cap = 0;
            return false;
        }
        memory_add(MEMORY_DATABASE, (int64_t)(s->cap * sizeof(*s->slots)));
    }
    for (i = hash & (s->cap - 1); s->slots[i] && s->slots[i] != hash;)
        i = (i + 1) & (s->cap - 1);
    s->count += !s->slots[i];
    s->slots[i] = hash;
    return true;
}

/* Forgets a statement. What stood behind the gap in the same run moves up, so that look-ups still
 * find it. */
void statement_forget(struct statement_set *s, uint64_t hash)
{
    size_t gap, mask = s->cap - 1;

    if (!s->slots || !statement_known(s, hash))
        return;
    for (gap = hash & mask; s->slots[gap] != hash;)
        gap = (gap + 1) & mask;
    for (size_t i = (gap + 1) & mask; s->slots[i]; i = (i + 1) & mask) {
        size_t home = s->slots[i] & mask;

        if (((i - home) & mask) >= ((i - gap) & mask)) {
            s->slots[gap] = s->slots[i];
            gap = i;
        }
    }
    s->slots[gap] = 0;
    s->count--;
}

bool statement_retry(struct statement_set *s, uint64_t hash, const char *sqlstate)
{
    if (!strcmp(sqlstate, "26000")) /* no such prepared statement */
        statement_forget(s, hash);
    else if (!strcmp(sqlstate, "42P05")) /* there is one already */
        statement_remember(s, hash);
    else
        return false;
    return true;
}

void statement_forget_all(struct statement_set *s)
{
    memory_add(MEMORY_DATABASE, -(int64_t)(s->cap * sizeof(*s->slots)));
    free(s->slots);
    *s = (struct statement_set){0};
}

void db_statement_name(uint64_t hash, char out[18])
{
    static const char digits[] = "0123456789abcdef";

    out[0] = 's';
    for (int i = 16; i >= 1; i--, hash >>= 4)
        out[i] = digits[hash & 15];
    out[17] = 0;
}
