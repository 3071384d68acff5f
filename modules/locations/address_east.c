/* address_east.c - addresses in the letters of Japan, China and Korea, which go from the large to
 * the small (spec 02 section 1): postal code, prefecture or province, city, and the rest. */
#include <string.h>

#include "address_parse.h"

enum { PIECES = 64, POSTAL_MARK = 0x3012 };

struct east {
    wharf_str left; /* not yet taken */
    wharf_str before; /* what stands before the address: a recipient */
    wharf_str state, city;
    char postal[16];
    const char *code; /* the country; NULL: not told */
};

/* Reads one character; full-width forms and dashes as ASCII. */
static size_t address_east_next(wharf_str s, uint32_t *ret)
{
    const uint8_t *p = (const uint8_t *)s.p;
    size_t k = p[0] < 0xc2 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;

    *ret = p[0];
    if (k == 1 || k > s.n)
        return 1;
    *ret = p[0] & (0x7f >> k);
    for (size_t i = 1; i < k; i++)
        *ret = *ret << 6 | (p[i] & 0x3f);
    if (*ret >= 0xff01 && *ret <= 0xff5e)
        *ret -= 0xfee0;
    if (*ret == 0x30fc || *ret == 0x2212 || (*ret >= 0x2010 && *ret <= 0x2015))
        *ret = '-';
    return k;
}

static bool is_east(uint32_t c)
{
    return (c >= 0x3041 && c <= 0x30ff) || (c >= 0x3400 && c <= 0x9fff) ||
           (c >= 0xac00 && c <= 0xd7a3) || c == POSTAL_MARK;
}

static bool is_hangul(uint32_t c)
{
    return c >= 0xac00 && c <= 0xd7a3;
}

static bool is_kana(uint32_t c)
{
    return (c >= 0x3041 && c <= 0x30fa) || c == POSTAL_MARK;
}

static bool is_gap(uint32_t c)
{
    return c == ' ' || c == '\n' || c == ',' || c == 0x3001 || c == ':' || c == '(' || c == ')' ||
           c == ';';
}

static wharf_str address_east_behind(wharf_str s, size_t n)
{
    return (wharf_str){s.p + n, s.n - n};
}

static wharf_str without_gaps(wharf_str s)
{
    uint32_t c;
    size_t k;

    while (s.n && (k = address_east_next(s, &c), is_gap(c) || c == '.'))
        s = address_east_behind(s, k);
    while (s.n) {
        size_t last = s.n - 1;

        while (last && ((uint8_t)s.p[last] & 0xc0) == 0x80)
            last--;
        address_east_next(address_east_behind(s, last), &c);
        if (!is_gap(c))
            break;
        s.n = last;
    }
    return s;
}

static bool address_east_ends_with(wharf_str s, const char *end)
{
    size_t n = strlen(end);

    return s.n >= n && !memcmp(s.p + s.n - n, end, n);
}

static bool begins_with(wharf_str s, const char *begin)
{
    size_t n = strlen(begin);

    return s.n >= n && !memcmp(s.p, begin, n);
}

/* Finds one of the ends in s, after at least one character. Returns the bytes up to behind it, 0
 * when there is none within most characters. */
static size_t up_to(wharf_str s, const char *const *ends, size_t most)
{
    uint32_t c;
    size_t at = 0;

    for (size_t i = 0; i < most && at < s.n; i++) {
        for (const char *const *end = ends; i && *end; end++) {
            if (begins_with(address_east_behind(s, at), *end))
                return at + strlen(*end);
        }
        at += address_east_next(address_east_behind(s, at), &c);
        if (is_gap(c) || (c >= '0' && c <= '9'))
            return 0;
    }
    return 0;
}

/* ---- the country and the postal code ---- */

/* Returns how many bytes at the begin of s are a name of a country. */
static size_t country_at(wharf_str s, const char **ret_code)
{
    size_t best = 0, at = 0;
    uint32_t c;

    for (size_t i = 0; i < 12 && at < s.n; i++) {
        const struct address_word *e;

        at += address_east_next(address_east_behind(s, at), &c);
        e = key_find((wharf_str){s.p, at}, ADDRESS_KIND(ADDRESS_COUNTRY), NULL);
        if (e) {
            best = at;
            *ret_code = countries[e->ref].code;
        }
    }
    return best;
}

/* Returns how many bytes at the begin of s are a prefecture of Japan. */
static size_t prefecture_at(wharf_str s)
{
    const struct address_form *f = form_of(WHARF_S("JP"));

    for (size_t n = 9; n <= 12 && n <= s.n; n += 3) {
        if (key_find((wharf_str){s.p, n}, ADDRESS_KIND(ADDRESS_REGION), f))
            return n;
    }
    return 0;
}

/* Takes the country at the begin or the end. "日本橋" is none: a gap, a postal code or a region
 * must follow. */
static void take_country(struct east *e)
{
    static const char *const provinces[] = {"省", "市", "自治区", "特别行政区", NULL};
    const char *code = NULL;
    size_t n = country_at(e->left, &code);
    wharf_str rest = address_east_behind(e->left, n);
    uint32_t c = '\n';

    if (n && rest.n)
        address_east_next(rest, &c);
    if (n && (is_gap(c) || c == POSTAL_MARK || (c >= '0' && c <= '9') || prefecture_at(rest) ||
                 (memcmp(code, "CN", 2) == 0 && up_to(rest, provinces, 9)))) {
        e->code = code;
        e->left = without_gaps(rest);
        return;
    }
    for (size_t at = e->left.n; at > 1; at--) {
        const struct country *country;
        wharf_str last = without_gaps(address_east_behind(e->left, at));

        if (last.n > 24)
            return;
        if (!last.n || !strchr(" ,\n", e->left.p[at - 1]))
            continue;
        country = country_find(last);
        if (country) {
            e->code = country->code;
            e->left = without_gaps((wharf_str){e->left.p, at});
            return;
        }
    }
}

/* Reads the digits of a postal code: first of them, a dash or none, then the others. Returns the
 * bytes read, 0 when they are not exactly these. */
static size_t digits_at(wharf_str s, size_t first, size_t others, char ret[16])
{
    size_t at = 0, n = 0, k, chars = 0;
    uint32_t c;

    for (; at < s.n; at += k) {
        k = address_east_next(address_east_behind(s, at), &c);
        if (c == '-' && n == first && others && chars == n) {
            ret[chars++] = '-';
            continue;
        }
        if (c < '0' || c > '9')
            break;
        if (n++ == first + others)
            return 0;
        ret[chars++] = (char)c;
    }
    ret[chars] = 0;
    return n == first + others ? at : 0;
}

/* Takes the postal code wherever it stands; of two groups without a dash only behind 〒 or
 * before a prefecture. */
static void take_postal(struct east *e, size_t first, size_t others)
{
    bool free = true;
    uint32_t c;
    size_t k, n, mark = 0;

    for (size_t at = 0; at < e->left.n; at += k) {
        wharf_str s = address_east_behind(e->left, at);
        char text[16] = "";

        k = address_east_next(s, &c);
        if (c == POSTAL_MARK) {
            mark = k;
            continue;
        }
        if (mark && is_gap(c)) {
            mark += k;
            continue;
        }
        n = c >= '0' && c <= '9' && free ? digits_at(s, first, others, text) : 0;
        if (n && (!others || mark || strchr(text, '-') ||
                     prefecture_at(without_gaps(address_east_behind(s, n))))) {
            memcpy(e->postal, text, sizeof(text));
            e->before = without_gaps((wharf_str){e->left.p, at - mark});
            e->left = without_gaps(address_east_behind(s, n));
            return;
        }
        free = !((c >= '0' && c <= '9') || c == '-');
        mark = 0;
    }
}

/* Takes away the word for a postal code that stood in front of it. */
static wharf_str without_label(wharf_str s)
{
    static const char *const labels[] = {
        "郵便番号", "邮编", "邮政编码", "郵遞區號", "우편번호", "우"};

    for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++) {
        if (address_east_ends_with(s, labels[i]))
            return without_gaps((wharf_str){s.p, s.n - strlen(labels[i])});
    }
    return s;
}

/* ---- state and city ---- */

/* Takes the city of Japan: ...市, ...市...区, ...区, ...郡...町. */
static void take_japan_city(struct east *e)
{
    static const char *const city[] = {"市", NULL}, *const ward[] = {"区", NULL},
                             *const county[] = {"郡", NULL}, *const town[] = {"町", "村", NULL},
                             *const any[] = {"市", "区", "郡", "町", "村", NULL};
    const struct address_form *f = form_of(WHARF_S("JP"));
    size_t n = 0, more;

    for (size_t k = 9; k <= 18 && k <= e->left.n && !n; k += 3) {
        if (key_find((wharf_str){e->left.p, k}, ADDRESS_KIND(ADDRESS_CITY), f))
            n = k;
    }
    if (!n)
        n = up_to(e->left, any, 8);
    if (!n)
        return;
    if (address_east_ends_with((wharf_str){e->left.p, n}, county[0])) {
        more = up_to(address_east_behind(e->left, n), town, 7);
        if (!more)
            more = up_to(address_east_behind(e->left, n), city, 2);
    } else {
        more = address_east_ends_with((wharf_str){e->left.p, n}, city[0])
                   ? up_to(address_east_behind(e->left, n), ward, 5)
                   : 0;
    }
    n += more;
    e->city = (wharf_str){e->left.p, n};
    e->left = without_gaps(address_east_behind(e->left, n));
}

/* Moves what stands before the prefecture to before. Returns false when there is no prefecture. */
static bool take_prefecture(struct east *e)
{
    bool free = true;
    uint32_t c;

    for (size_t at = 0, k; at < e->left.n; at += k) {
        size_t n = free ? prefecture_at(address_east_behind(e->left, at)) : 0;

        k = address_east_next(address_east_behind(e->left, at), &c);
        free = is_gap(c);
        if (!n)
            continue;
        if (at)
            e->before = without_gaps((wharf_str){e->left.p, at});
        e->state = (wharf_str){e->left.p + at, n};
        e->left = without_gaps(address_east_behind(e->left, at + n));
        return true;
    }
    return false;
}

/* Takes the city where the text goes from the small to the large: the last part before the
 * prefecture. */
static void take_city_before(struct east *e)
{
    static const char *const ends[] = {"市", "区", "町", "村"};
    size_t at = e->before.n;

    while (at && !strchr(" ,\n", e->before.p[at - 1]))
        at--;
    for (size_t i = 0; at && i < sizeof(ends) / sizeof(ends[0]); i++) {
        if (!address_east_ends_with(e->before, ends[i]))
            continue;
        e->city = address_east_behind(e->before, at);
        e->before = without_gaps((wharf_str){e->before.p, at});
        return;
    }
}

static bool read_japan(struct east *e)
{
    wharf_str before;

    take_postal(e, 3, 4);
    e->before = without_label(e->before);
    if (e->postal[0] && (prefecture_at(e->before) || !e->left.n)) {
        before = e->before; /* the postal code stands at the end */
        e->before = e->left;
        e->left = before;
    }
    if (!take_prefecture(e) && !e->postal[0] && !e->code)
        return false;
    take_japan_city(e);
    if (!e->city.n && !e->left.n)
        take_city_before(e);
    return true;
}

static bool read_china(struct east *e)
{
    static const char *const provinces[] = {"省", "自治区", NULL}, *const cities[] = {"市",
                                                                       "自治州", "地区", "縣", "县",
                                                                       NULL};
    wharf_str before;
    size_t n;

    take_postal(e, 6, 0);
    e->before = without_label(e->before);
    if (e->postal[0] && !e->left.n) {
        before = e->before;
        e->before = e->left;
        e->left = before;
    }
    n = up_to(e->left, provinces, 8);
    if (n)
        e->state = (wharf_str){e->left.p, n};
    e->left = without_gaps(address_east_behind(e->left, n));
    n = up_to(e->left, cities, 8);
    if (n)
        e->city = (wharf_str){e->left.p, n};
    e->left = without_gaps(address_east_behind(e->left, n));
    return e->code || e->state.n || (e->postal[0] && e->city.n);
}

static bool read_korea(struct east *e)
{
    static const char *const metropolis[] = {"특별시", "광역시", "특별자치시", NULL},
                             *const states[] = {"특별자치도", "도", NULL},
                             *const cities[] = {"시", "군", NULL};
    wharf_str before;
    size_t n;

    take_postal(e, 5, 0);
    e->before = without_label(e->before);
    if (e->postal[0] && e->before.n) {
        before = e->before;
        e->before = e->left;
        e->left = before;
    }
    n = up_to(e->left, metropolis, 8);
    if (!n) {
        n = up_to(e->left, states, 7);
        if (n)
            e->state = (wharf_str){e->left.p, n};
        e->left = without_gaps(address_east_behind(e->left, n));
        n = up_to(e->left, cities, 6);
    }
    if (n)
        e->city = (wharf_str){e->left.p, n};
    e->left = without_gaps(address_east_behind(e->left, n));
    return e->code || e->city.n || e->postal[0];
}

/* ---- the lines ---- */

static bool is_unit(wharf_str s)
{
    static const char *const ends[] = {"号室", "階", "室", "F", "号房", "楼", "樓", "호", "층"};
    uint32_t c = 0;
    bool digit = false;

    for (size_t at = 0; at < s.n; digit = digit || (c >= '0' && c <= '9'))
        at += address_east_next(address_east_behind(s, at), &c);
    for (size_t i = 0; digit && i < sizeof(ends) / sizeof(ends[0]); i++) {
        if (address_east_ends_with(s, ends[i]))
            return true;
    }
    return false;
}

/* Writes s to room, line breaks as commas; pieces that are a unit go to line2. */
static char *address_east_put_lines(char *room, wharf_str s, wharf_str *line1, wharf_str *line2)
{
    wharf_str units[PIECES];
    size_t n_units = 0;
    char *at = room;
    uint32_t c;

    while (s.n) {
        wharf_str piece = s;
        size_t k = 0;

        for (piece.n = 0; piece.n < s.n; piece.n += k) {
            k = address_east_next(address_east_behind(s, piece.n), &c);
            if (is_gap(c))
                break;
        }
        s = without_gaps(address_east_behind(s, piece.n));
        if (at > room && n_units < PIECES && is_unit(piece)) {
            units[n_units++] = piece;
            continue;
        }
        if (at > room)
            *at++ = ' ';
        memcpy(at, piece.p, piece.n);
        at += piece.n;
    }
    *line1 = (wharf_str){room, (size_t)(at - room)};
    room = at;
    for (size_t i = 0; i < n_units; i++) {
        if (at > room)
            *at++ = ' ';
        memcpy(at, units[i].p, units[i].n);
        at += units[i].n;
    }
    *line2 = (wharf_str){room, (size_t)(at - room)};
    return at;
}

static char *address_east_put(char *room, wharf_str s, wharf_str *ret)
{
    if (s.n)
        memcpy(room, s.p, s.n);
    *ret = (wharf_str){room, s.n};
    return room + s.n;
}

static void address_east_answer(
    const struct east *e, wharf_str code, char *room, struct address *ret)
{
    wharf_str all[2] = {e->before, e->left};
    char *at = room, text[ADDRESS_CLEAN + 1];
    size_t n = 0;

    for (size_t i = 0; i < 2; i++) {
        if (n && all[i].n)
            text[n++] = ' ';
        if (all[i].n)
            memcpy(text + n, all[i].p, all[i].n);
        n += all[i].n;
    }
    at = address_east_put_lines(at, (wharf_str){text, n}, &ret->line1, &ret->line2);
    at = address_east_put(at, e->state, &ret->state);
    at = address_east_put(at, e->city, &ret->city);
    address_east_put(at, (wharf_str){e->postal, strlen(e->postal)}, &ret->postal_code);
    ret->country_code = code;
}

/* Tells which country's letters and forms the text has: by its name, its letters, its regions,
 * else the organization's. */
static const char *address_east_country_of(
    const struct east *e, wharf_str own, const struct words *t)
{
    static const char *const provinces[] = {"省", "自治区", "北京市", "上海市", NULL};
    bool hangul = false, kana = false;
    uint32_t c;

    if (e->code)
        return e->code;
    for (size_t at = 0; at < t->clean_n;) {
        wharf_str s = {t->clean + at, t->clean_n - at};

        if (prefecture_at(s))
            return "JP";
        at += address_east_next(s, &c);
        hangul = hangul || is_hangul(c);
        kana = kana || is_kana(c);
    }
    if (hangul)
        return "KR";
    if (kana)
        return "JP";
    for (const char *const *p = provinces; *p; p++) {
        if (memmem(t->clean, t->clean_n, *p, strlen(*p)))
            return "CN";
    }
    for (size_t i = 0; own.n == 2 && i < 5; i++) {
        static const char *const east[] = {"JP", "CN", "KR", "TW", "HK"};

        if (!memcmp(own.p, east[i], 2))
            return east[i];
    }
    return NULL;
}

/* Tells whether the letters are these and not Latin ones with a few of them between. */
static bool is_mostly_east(const struct words *t)
{
    size_t east = 0, latin = 0;
    uint32_t c;

    for (size_t at = 0; at < t->clean_n;) {
        at += address_east_next((wharf_str){t->clean + at, t->clean_n - at}, &c);
        east += is_east(c) && c != POSTAL_MARK;
        latin += (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    }
    return 3 * east > latin;
}

bool read_east(
    const struct words *t, wharf_str country, char room[ADDRESS_ROOM], struct address *ret)
{
    struct east e = {.left = {t->clean, t->clean_n}};
    const char *code;
    bool done;

    if (!is_mostly_east(t))
        return false;
    e.left = without_gaps(e.left);
    take_country(&e);
    code = address_east_country_of(&e, country, t);
    if (!code)
        return false;
    done = !memcmp(code, "JP", 2)   ? read_japan(&e)
           : !memcmp(code, "KR", 2) ? read_korea(&e)
           : !memcmp(code, "CN", 2) || !memcmp(code, "TW", 2) || !memcmp(code, "HK", 2)
               ? read_china(&e)
               : false;
    if (!done)
        return false;
    for (size_t i = 0; i < countries_count; i++) {
        if (!memcmp(countries[i].code, code, 2))
            address_east_answer(&e, (wharf_str){countries[i].code, 2}, room, ret);
    }
    return true;
}
