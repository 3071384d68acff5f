/* score.c - the similarity of tokens, of names, of businesses. See score.h; rules as in
 * docs/spec/06-inference.md sections 9.3 and 9.4. */
#include "score.h"

#include <math.h>
#include <string.h>

static const double FIRST = 1.0, LAST = 1.2, INNER = 0.35, PARTICLE = 0.2, GENERIC = 0.4;

enum role { ROLE_FIRST, ROLE_INNER, ROLE_LAST };

/* ---- edits ---- */

int edits_allowed(size_t points, enum fuzziness f)
{
    if (f == FUZZY_NONE || points <= 3)
        return 0;
    return points <= 8 ? 1 : 2;
}

static int least(int a, int b, int c)
{
    int m = a < b ? a : b;

    return m < c ? m : c;
}

int edit_distance(const uint32_t *a, size_t n, const uint32_t *b, size_t m)
{
    int rows[3][TOKEN_POINTS + 1], *before = rows[0], *last = rows[1], *now = rows[2];

    for (size_t k = 0; k <= m; k++)
        last[k] = (int)k;
    for (size_t i = 1; i <= n; i++) {
        int *oldest = before;

        now[0] = (int)i;
        for (size_t k = 1; k <= m; k++) {
            now[k] = least(last[k] + 1, now[k - 1] + 1, last[k - 1] + (a[i - 1] != b[k - 1]));
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1] &&
                before[k - 2] + 1 < now[k])
                now[k] = before[k - 2] + 1;
        }
        before = last;
        last = now;
        now = oldest;
    }
    return last[m];
}

double jaro(const struct token *a, const struct token *b)
{
    bool in_a[TOKEN_POINTS] = {false}, in_b[TOKEN_POINTS] = {false};
    size_t n = a->n_points, m = b->n_points, most = n > m ? n : m,
           window = most / 2 > 0 ? most / 2 - 1 : 0;
    double common = 0, moved = 0;

    for (size_t i = 0; i < n; i++) {
        size_t end = i + window + 1 < m ? i + window + 1 : m;

        for (size_t k = i > window ? i - window : 0; k < end; k++) {
            if (!in_b[k] && a->points[i] == b->points[k]) {
                in_a[i] = in_b[k] = true;
                common++;
                break;
            }
        }
    }
    if (common == 0)
        return 0;
    for (size_t i = 0, k = 0; i < n; i++) {
        if (!in_a[i])
            continue;
        while (!in_b[k])
            k++;
        moved += a->points[i] != b->points[k++];
    }
    return (common / (double)n + common / (double)m + (common - moved / 2) / common) / 3;
}

double jaro_winkler(const struct token *a, const struct token *b)
{
    double j = jaro(a, b);
    size_t prefix = 0;

    if (j <= 0.7)
        return j;
    while (prefix < 4 && prefix < a->n_points && prefix < b->n_points &&
           a->points[prefix] == b->points[prefix])
        prefix++;
    return j + 0.1 * (double)prefix * (1 - j);
}

/* ---- tokens ---- */

struct likeness {
    double s;
    enum match_kind kind;
};

static bool same_token(const struct token *a, const struct token *b)
{
    return a->text.n == b->text.n && memcmp(a->text.p, b->text.p, a->text.n) == 0;
}

static struct likeness within_edits(const struct token *a, const struct token *b, enum fuzziness f)
{
    size_t most = a->n_points > b->n_points ? a->n_points : b->n_points;
    size_t apart = a->n_points > b->n_points ? a->n_points - b->n_points
                                             : b->n_points - a->n_points;
    int allowed = edits_allowed(a->n_points, f), d;
    double s;

    if ((int)apart > allowed)
        return (struct likeness){0, MATCH_NONE};
    d = edit_distance(a->points, a->n_points, b->points, b->n_points);
    if (d > allowed)
        return (struct likeness){0, MATCH_NONE};
    s = 0.5 * (1 - (double)d / (double)most) + 0.5 * jaro_winkler(a, b);
    return (struct likeness){s < 0.96 ? s : 0.96, MATCH_FUZZY};
}

static bool truncated(const struct token *a, const struct token *b)
{
    return a->n_points >= 4 && a->n_points < b->n_points &&
           memcmp(a->points, b->points, a->n_points * sizeof(*a->points)) == 0;
}

/* Computes how alike two tokens are. a: of the label. family: it is the last of several. */
static struct likeness alike(
    const struct token *a, const struct token *b, bool family_a, bool family_b, enum fuzziness f)
{
    struct likeness edited;

    if (same_token(a, b))
        return (struct likeness){1, MATCH_EXACT};
    if (f == FUZZY_NONE)
        return (struct likeness){0, MATCH_NONE};
    if (!(family_a && family_b) && word_nicknames(a->word, b->word))
        return (struct likeness){0.95, MATCH_NICKNAME};
    if ((a->n_points == 1 || b->n_points == 1) && a->points[0] == b->points[0])
        return (struct likeness){family_a || family_b ? 0.60 : 0.80, MATCH_INITIAL};
    edited = within_edits(a, b, f);
    if (!family_a && !family_b && a->word->kinds & b->word->kinds & WORD_GIVEN)
        return (struct likeness){edited.s > 0 ? 0.50 : 0, edited.kind};
    if (family_a && truncated(a, b) && edited.s < 0.88)
        return (struct likeness){0.88, MATCH_TRUNCATED};
    return edited;
}

/* ---- neighbours that the other side writes as one ---- */

static bool has_token(const struct name *name, const struct token *t)
{
    for (size_t i = 0; i < name->n; i++) {
        if (same_token(&name->tokens[i], t))
            return true;
    }
    return false;
}

/* Room for the texts of joined tokens. */
struct room {
    char *p;
    size_t left;
};

static bool join_two(
    const struct token *a, const struct token *b, struct room *room, struct token *ret)
{
    if (a->text.n + b->text.n > room->left || a->n_points + b->n_points > TOKEN_POINTS)
        return false;
    memcpy(room->p, a->text.p, a->text.n);
    memcpy(room->p + a->text.n, b->text.p, b->text.n);
    memcpy(ret->points, a->points, a->n_points * sizeof(*a->points));
    memcpy(ret->points + a->n_points, b->points, b->n_points * sizeof(*b->points));
    ret->n_points = a->n_points + b->n_points;
    ret->text = (wharf_str){room->p, a->text.n + b->text.n};
    ret->word = word_of(ret->text.p, ret->text.n);
    return true;
}

static void score_join(struct name *name, const struct name *other, struct room *room)
{
    struct token joined;

    for (size_t i = 0; i + 1 < name->n; i++) {
        if (has_token(other, &name->tokens[i]) || has_token(other, &name->tokens[i + 1]) ||
            !join_two(&name->tokens[i], &name->tokens[i + 1], room, &joined) ||
            !has_token(other, &joined))
            continue;
        room->p += joined.text.n;
        room->left -= joined.text.n;
        name->tokens[i] = joined;
        memmove(
            name->tokens + i + 1, name->tokens + i + 2, (name->n - i - 2) * sizeof(*name->tokens));
        name->n--;
    }
}

/* ---- names ---- */

static enum role role_of(const struct name *name, size_t i)
{
    return i == 0 ? ROLE_FIRST : i == name->n - 1 ? ROLE_LAST : ROLE_INNER;
}

double name_weight(const struct name *name, size_t i)
{
    switch (role_of(name, i)) {
    case ROLE_FIRST:
        return name->n == 1 ? LAST : FIRST;
    case ROLE_LAST:
        return LAST;
    case ROLE_INNER:
        break;
    }
    return name->tokens[i].word->kinds & WORD_PARTICLE ? PARTICLE : INNER;
}

static double business_weight(const struct name *name, size_t i)
{
    return name->tokens[i].word->kinds & WORD_GENERIC ? GENERIC : 1;
}

struct pairing {
    struct likeness of[TOKENS_MAX]; /* by token of the label */
    size_t partner[TOKENS_MAX];
    bool used[TOKENS_MAX]; /* by token of the contact */
};

/* Tells which of two pairs is better. Of those that are equally alike: same role, then the
 * place. */
static bool better(const struct name *a, const struct name *b, struct likeness l, size_t i,
    size_t k, struct likeness best, size_t best_i, size_t best_k)
{
    bool same = role_of(a, i) == role_of(b, k),
         same_best = role_of(a, best_i) == role_of(b, best_k);

    if (l.s != best.s)
        return l.s > best.s;
    return same != same_best && same;
}

/* Assigns one to one, the most alike first. */
static void assign(
    const struct name *a, const struct name *b, bool people, enum fuzziness f, struct pairing *p)
{
    struct likeness all[TOKENS_MAX][TOKENS_MAX];

    memset(p, 0, sizeof(*p));
    for (size_t i = 0; i < a->n; i++) {
        for (size_t k = 0; k < b->n; k++)
            all[i][k] = alike(&a->tokens[i], &b->tokens[k], people && a->n > 1 && i == a->n - 1,
                people && b->n > 1 && k == b->n - 1, f);
    }
    for (;;) {
        struct likeness best = {0, MATCH_NONE};
        size_t best_i = 0, best_k = 0;

        for (size_t i = 0; i < a->n; i++) {
            for (size_t k = 0; p->of[i].s == 0 && k < b->n; k++) {
                if (!p->used[k] && all[i][k].s > 0 &&
                    (best.s == 0 || better(a, b, all[i][k], i, k, best, best_i, best_k))) {
                    best = all[i][k];
                    best_i = i;
                    best_k = k;
                }
            }
        }
        if (best.s == 0)
            return;
        p->of[best_i] = best;
        p->partner[best_i] = best_k;
        p->used[best_k] = true;
    }
}

static double harmonic(const struct name *a, const struct name *b, const struct pairing *p,
    double (*weigh)(const struct name *, size_t))
{
    double all_a = 0, all_b = 0, got_a = 0, got_b = 0;

    for (size_t i = 0; i < a->n; i++) {
        all_a += weigh(a, i);
        got_a += weigh(a, i) * p->of[i].s;
        if (p->of[i].s > 0)
            got_b += weigh(b, p->partner[i]) * p->of[i].s;
    }
    for (size_t k = 0; k < b->n; k++)
        all_b += weigh(b, k);
    if (got_a <= 0 || got_b <= 0)
        return 0;
    got_a /= all_a;
    got_b /= all_b;
    return 2 * got_a * got_b / (got_a + got_b);
}

static bool crossed(const struct name *a, const struct name *b, const struct pairing *p)
{
    return a->n > 1 && b->n > 1 && p->of[0].s > 0 && p->of[a->n - 1].s > 0 &&
           p->partner[0] == b->n - 1 && p->partner[a->n - 1] == 0;
}

void name_compare(
    const struct name *label, const struct name *contact, enum fuzziness f, struct name_score *ret)
{
    struct name a = *label, b = *contact;
    char texts[512];
    struct room room = {texts, sizeof(texts)};
    struct pairing p;
    size_t found = 0;

    memset(ret, 0, sizeof(*ret));
    if (f == FUZZY_AUTO) {
        score_join(&a, contact, &room);
        score_join(&b, label, &room);
    }
    if (!a.n || !b.n)
        return;
    assign(&a, &b, true, f, &p);
    ret->score = harmonic(&a, &b, &p, name_weight);
    ret->kind = MATCH_EXACT;
    for (size_t i = 0; i < a.n; i++) {
        ret->matched[i] = p.of[i].s;
        found += p.of[i].s > 0;
        if (p.of[i].s > 0 && p.of[i].kind < ret->kind)
            ret->kind = p.of[i].kind;
    }
    ret->coverage = (double)found / (double)a.n;
    if (crossed(&a, &b, &p)) {
        ret->score *= 0.98;
        ret->kind = ret->kind > MATCH_SWAPPED ? MATCH_SWAPPED : ret->kind;
    }
    if (found < a.n || found < b.n)
        ret->kind = MATCH_PARTIAL;
    if (!found)
        ret->kind = MATCH_NONE;
    if (label->generation && contact->generation && label->generation != contact->generation)
        ret->score *= 0.95;
}

double business_compare(const struct name *a, const struct name *b, enum fuzziness f)
{
    struct pairing p;

    if (!a->n || !b->n)
        return 0;
    assign(a, b, false, f, &p);
    return harmonic(a, b, &p, business_weight);
}

double score_round(double score)
{
    return floor(score * 10000 + 0.5 + 1e-9) / 10000;
}
