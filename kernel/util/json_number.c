/* json_number.c - exact arithmetic on the text of JSON numbers, see json.h.
 *
 * A number is digits times a power of ten; nothing here goes through a double. Texts are those
 * that json_parse accepted. */
#include <limits.h>

#include "util/json.h"
#include "util/str.h"

/* Exponents are cut at this: the value is then far outside every range asked for. */
enum { EXPONENT_MAX = 100000000 };

/* value = 0.d1d2d3... x 10^point, d1 and the last digit not zero; count 0 is zero. */
struct number {
    bool negative;
    const char *digits; /* first significant digit; the source's point may stand among them */
    /* how many digits stand before the point in the source, SIZE_MAX when it is not among them */
    size_t dot;
    size_t count;
    int64_t point;
};

static char digit_at(const struct number *n, size_t i)
{
    return n->digits[i < n->dot ? i : i + 1];
}

static int64_t json_number_read_exponent(const char *p, const char *end)
{
    bool negative = *p == '-';
    int64_t e = 0;

    if (*p == '-' || *p == '+')
        p++;
    for (; p < end && e < EXPONENT_MAX; p++)
        e = e * 10 + (*p - '0');
    return negative ? -e : e;
}

static struct number json_number_of(wharf_str text)
{
    const char *p = text.p, *end = text.p + text.n, *e, *dot, *last;
    struct number n = {0};

    n.negative = *p == '-';
    p += n.negative;
    for (e = p; e < end && *e != 'e' && *e != 'E'; e++)
        ;
    dot = memchr(p, '.', (size_t)(e - p));
    if (!dot)
        dot = e;
    last = e;
    while (p < last && (*p == '0' || *p == '.'))
        p++;
    while (last > p && (last[-1] == '0' || last[-1] == '.'))
        last--;
    if (p == last) {
        n.negative = false;
        return n;
    }
    n.digits = p;
    n.dot = SIZE_MAX;
    n.count = (size_t)(last - p);
    if (dot > p && dot < last) {
        n.dot = (size_t)(dot - p);
        n.count--;
    }
    n.point = dot >= p ? dot - p : -(p - dot - 1);
    if (e < end)
        n.point += json_number_read_exponent(e + 1, end);
    return n;
}

int json_number_compare(wharf_str a, wharf_str b)
{
    struct number x = json_number_of(a), y = json_number_of(b);
    int sign = x.negative ? -1 : 1;
    size_t i;

    if (!x.count || !y.count) {
        if (!x.count && !y.count)
            return 0;
        return x.count ? sign : y.negative ? 1 : -1;
    }
    if (x.negative != y.negative)
        return sign;
    if (x.point != y.point)
        return x.point > y.point ? sign : -sign;
    for (i = 0; i < x.count && i < y.count; i++)
        if (digit_at(&x, i) != digit_at(&y, i))
            return digit_at(&x, i) > digit_at(&y, i) ? sign : -sign;
    if (x.count == y.count)
        return 0;
    return x.count > y.count ? sign : -sign;
}

bool json_decimal(const struct wharf_json *v, uint32_t scale, int64_t *ret_scaled)
{
    struct number n;
    int64_t value = 0, places;

    if (!json_is(v, JSON_NUMBER))
        return false;
    n = json_number_of(v->text);
    if (!n.count) {
        *ret_scaled = 0;
        return true;
    }
    places = n.point + scale; /* digits of the scaled value */
    if (places < (int64_t)n.count || places > 19)
        return false;
    for (int64_t i = 0; i < places; i++) {
        int digit = i < (int64_t)n.count ? digit_at(&n, (size_t)i) - '0' : 0;

        /* Built up negative, because INT64_MIN has no positive counterpart. */
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_sub_overflow(value, digit, &value))
            return false;
    }
    if (!n.negative && value == INT64_MIN)
        return false;
    *ret_scaled = n.negative ? value : -value;
    return true;
}

bool json_int(const struct wharf_json *v, int64_t *ret_i)
{
    return json_decimal(v, 0, ret_i);
}

bool json_whole(const struct wharf_json *v)
{
    struct number n;

    if (!json_is(v, JSON_NUMBER))
        return false;
    n = json_number_of(v->text);
    return n.point >= (int64_t)n.count;
}

size_t json_number_digits(wharf_str number)
{
    return json_number_of(number).count;
}

static uint64_t times_mod(uint64_t x, uint64_t y, uint64_t modulus)
{
    return (uint64_t)((unsigned __int128)x * y % modulus);
}

/* Tells whether a is a multiple of b. With x = p * 10^i and y = q * 10^j, p and q without trailing
 * zeros: when i < j, p would have to end in zero. */
bool json_number_multiple(wharf_str a, wharf_str b)
{
    struct number x = json_number_of(a), y = json_number_of(b);
    int64_t zeros = (x.point - (int64_t)x.count) - (y.point - (int64_t)y.count);
    uint64_t modulus = 0, rest = 0, power = 10;

    if (!x.count)
        return true;
    if (zeros < 0)
        return false;
    for (size_t i = 0; i < y.count; i++)
        modulus = modulus * 10 + (uint64_t)(digit_at(&y, i) - '0');
    if (!modulus)
        return false;
    for (size_t i = 0; i < x.count; i++)
        rest = (times_mod(rest, 10, modulus) + (uint64_t)(digit_at(&x, i) - '0')) % modulus;
    for (; zeros; zeros >>= 1) {
        if (zeros & 1)
            rest = times_mod(rest, power, modulus);
        power = times_mod(power, power, modulus);
    }
    return rest == 0;
}

bool json_number_canonical(wharf_str number, size_t max_digits, struct buf *out)
{
    struct number n = json_number_of(number);
    int64_t whole = n.point > 0 ? n.point : 1;
    int64_t fraction = (int64_t)n.count > n.point ? (int64_t)n.count - n.point : 0;

    if (!n.count) {
        buf_addc(out, '0');
        return max_digits >= 1;
    }
    if (whole + fraction > (int64_t)(max_digits < EXPONENT_MAX ? max_digits : EXPONENT_MAX))
        return false;
    if (n.negative)
        buf_addc(out, '-');
    if (n.point <= 0)
        buf_addc(out, '0');
    for (int64_t i = 0; i < n.point; i++)
        buf_addc(out, i < (int64_t)n.count ? digit_at(&n, (size_t)i) : '0');
    if (fraction)
        buf_addc(out, '.');
    for (int64_t i = n.point; i < 0; i++)
        buf_addc(out, '0');
    for (int64_t i = n.point > 0 ? n.point : 0; i < (int64_t)n.count; i++)
        buf_addc(out, digit_at(&n, (size_t)i));
    return true;
}
