/* exact.c - exact decimals; see exact.h. Leaves to others: JSON, and what a quantity may be. */
#include "exact.h"

enum { DIGITS_MAX = 38, SIGNIFICANT = 15, EXPONENT_MAX = 1000 };

struct digits { /* of a number as written: value = sign 0.d1d2d3... x 10^point */
    unsigned char d[DIGITS_MAX];
    int n, point; /* without zeros in front and at the end; n 0: zero */
    bool negative, more; /* more: digits other than zero did not fit */
};

static bool exact_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Adds a digit behind those that are there. *zeros counts zeros that may be the last ones. */
static void add_digit(struct digits *x, int digit, int *zeros)
{
    if (digit == 0) {
        *zeros += x->n > 0;
        return;
    }
    for (; *zeros; (*zeros)--) {
        if (x->n < DIGITS_MAX)
            x->d[x->n++] = 0;
    }
    if (x->n < DIGITS_MAX)
        x->d[x->n++] = (unsigned char)digit;
    else
        x->more = true;
}

/* Reads the exponent at p, up to end. Returns false when there is none. */
static bool exact_read_exponent(const char *p, const char *end, int *ret)
{
    bool negative = p < end && *p == '-';
    int e = 0;

    p += p < end && (*p == '-' || *p == '+');
    if (p == end)
        return false;
    for (; p < end && exact_is_digit(*p); p++)
        e = e < EXPONENT_MAX ? 10 * e + *p - '0' : e;
    *ret = negative ? -e : e;
    return p == end;
}

static bool read_digits(const char *p, size_t n, struct digits *x)
{
    const char *end = p + n;
    int zeros = 0, exponent = 0;
    bool point = false, any = false;

    *x = (struct digits){.negative = n && *p == '-'};
    p += n && (*p == '-' || *p == '+');
    for (; p < end && (exact_is_digit(*p) || (*p == '.' && !point)); p++) {
        if (*p == '.') {
            point = true;
            continue;
        }
        any = true;
        add_digit(x, *p - '0', &zeros);
        if (!point)
            x->point += x->n > 0;
        else if (!x->n)
            x->point--;
    }
    if (!any || p[-1] == '.')
        return false;
    if (p < end && (*p == 'e' || *p == 'E') && !exact_read_exponent(p + 1, end, &exponent))
        return false;
    if (p < end && *p != 'e' && *p != 'E')
        return false;
    x->point += exponent;
    return true;
}

/* Rounds to so many digits, half away from zero. */
static void round_digits(struct digits *x, int most)
{
    bool up = x->n > most && x->d[most] >= 5;

    if (x->n <= most)
        return;
    x->n = most;
    while (up && x->n && x->d[x->n - 1] == 9)
        x->n--;
    if (up && x->n) {
        x->d[x->n - 1]++;
    } else if (up) {
        x->d[x->n++] = 1;
        x->point++;
    }
    while (x->n && !x->d[x->n - 1])
        x->n--;
}

static enum exact_problem exact_scaled(const struct digits *x, unsigned scale, exact *ret)
{
    int places = x->point + (int)scale; /* digits of the result */
    exact v = 0;

    if (!x->n) {
        *ret = 0;
        return EXACT_OK;
    }
    if (places > DIGITS_MAX - 1)
        return EXACT_LARGE;
    if (x->more || x->n > places)
        return EXACT_DIGITS;
    for (int i = 0; i < places; i++)
        v = 10 * v + (i < x->n ? x->d[i] : 0);
    *ret = x->negative ? -v : v;
    return EXACT_OK;
}

enum exact_problem exact_read(const char *p, size_t n, unsigned scale, exact *ret)
{
    struct digits x;

    return read_digits(p, n, &x) ? exact_scaled(&x, scale, ret) : EXACT_NO_NUMBER;
}

enum exact_problem quantity_read(const char *p, size_t n, int64_t *ret)
{
    enum exact_problem problem;
    struct digits x;
    exact v;

    if (!read_digits(p, n, &x))
        return EXACT_NO_NUMBER;
    round_digits(&x, SIGNIFICANT);
    x.more = false;
    problem = exact_scaled(&x, QUANTITY_SCALE, &v);
    if (problem == EXACT_OK && (v > QUANTITY_MAX || v < -QUANTITY_MAX))
        problem = EXACT_LARGE;
    if (problem == EXACT_OK)
        *ret = (int64_t)v;
    return problem;
}

size_t exact_write(exact v, unsigned scale, char out[EXACT_TEXT])
{
    char digits[EXACT_TEXT];
    exact rest = v < 0 ? -v : v;
    size_t n = 0, k = 0, drop = 0;

    while (rest || n <= scale) {
        digits[n++] = (char)('0' + (int)(rest % 10));
        rest /= 10;
    }
    while (drop < scale && digits[drop] == '0')
        drop++;
    if (v < 0)
        out[k++] = '-';
    for (size_t i = n; i > drop; i--) {
        out[k++] = digits[i - 1];
        if (i - 1 == scale && drop < scale)
            out[k++] = '.';
    }
    out[k] = 0;
    return k;
}

/* Divides, rounded half away from zero. by is above zero. */
static exact exact_divide(exact v, exact by)
{
    exact whole = v / by, rest = v % by;

    if (rest < 0)
        rest = -rest;
    return rest >= by - rest ? whole + (v < 0 ? -1 : 1) : whole;
}

static exact power(unsigned scale)
{
    exact v = 1;

    while (scale--)
        v *= 10;
    return v;
}

bool quantity_times(int64_t quantity, exact factor, int64_t *ret)
{
    exact product = (exact)quantity * factor, v = exact_divide(product, power(FACTOR_SCALE));

    if (!v && product)
        v = product < 0 ? -1 : 1;
    if (v > QUANTITY_MAX || v < -QUANTITY_MAX)
        return false;
    *ret = (int64_t)v;
    return true;
}

bool product_is_whole(int64_t quantity, exact factor)
{
    return (exact)quantity * factor % power(QUANTITY_SCALE + FACTOR_SCALE) == 0;
}

bool factor_of_units(exact size, exact base, exact *ret)
{
    /* sizes are below 10^24: the product is below 10^34 */
    exact v = exact_divide(size * power(FACTOR_SCALE), base);

    if (v <= 0 || v >= FACTOR_MAX)
        return false;
    *ret = v;
    return true;
}

exact exact_share(int64_t a, exact b, exact c, exact *ret_rest)
{
    exact whole = 0, rest = 0, b_whole = b / c, b_rest = b % c, product;

    if (!__builtin_mul_overflow((exact)a, b, &product)) {
        whole = product / c;
        rest = product % c;
    } else {
        /* bit by bit, the highest first: rest < c holds after each, so that 2 rest + b_rest fits */
        for (int bit = 62; bit >= 0 && whole < EXACT_SHARE_MAX; bit--) {
            bool set = a >> bit & 1;

            rest = 2 * rest + (set ? b_rest : 0);
            whole = 2 * whole + rest / c + (set ? b_whole : 0);
            rest %= c;
        }
    }
    if (ret_rest)
        *ret_rest = rest;
    return whole < EXACT_SHARE_MAX ? whole : EXACT_SHARE_MAX;
}

exact exact_common(exact a, exact b)
{
    while (b) {
        exact rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}
