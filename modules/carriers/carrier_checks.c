/* carrier_checks.c - see carrier_checks.h. */
#include "carrier_checks.h"

#include <string.h>

enum { MOD10_PARAMS = 2, MOD36 = 36 };

enum check_name check_find(const char *name, size_t n)
{
    static const char *const names[CHECK_COUNT] = {
        "", "mod10", "luhn", "mod7", "w11", "s10", "mod37_36"};

    for (size_t i = 1; i < CHECK_COUNT; i++) {
        if (strlen(names[i]) == n && memcmp(names[i], name, n) == 0)
            return (enum check_name)i;
    }
    return CHECK_NONE;
}

bool check_fits(const struct check *c, size_t serial)
{
    if (c->name == CHECK_MOD10)
        return c->n_params == MOD10_PARAMS;
    if (c->name == CHECK_W11 || c->name == CHECK_S10)
        return c->n_params == serial;
    return c->n_params == 0;
}

static bool carrier_checks_digits(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (s[i] < '0' || s[i] > '9')
            return false;
    }
    return true;
}

/* Computes mod10: letters count by their code; no splitting of products. */
static char mod10(const struct check *c, const char *s, size_t n)
{
    int sum = 0;

    for (size_t i = 0; i < n; i++) {
        int value = s[i] >= '0' && s[i] <= '9' ? s[i] - '0' : (s[i] - 3) % 10;

        if (value < 0)
            return 0;
        sum += value * c->params[i % 2];
    }
    return (char)('0' + (10 - sum % 10) % 10);
}

static char luhn(const char *s, size_t n)
{
    int sum = 0;

    for (size_t i = 0; i < n; i++) {
        int value = s[n - 1 - i] - '0';

        if (i % 2 == 0)
            value = value * 2 > 9 ? value * 2 - 9 : value * 2;
        sum += value;
    }
    return (char)('0' + (10 - sum % 10) % 10);
}

static char mod7(const char *s, size_t n)
{
    int rest = 0;

    for (size_t i = 0; i < n; i++)
        rest = (rest * 10 + s[i] - '0') % 7;
    return (char)('0' + rest);
}

static int weighted(const struct check *c, const char *s, size_t n)
{
    int sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (s[i] - '0') * c->params[i];
    return sum;
}

static char s10(const struct check *c, const char *s, size_t n)
{
    int r = 11 - weighted(c, s, n) % 11;

    return (char)('0' + (r == 10 ? 0 : r == 11 ? 5 : r));
}

static char mod37_36(const char *s, size_t n)
{
    int c = MOD36;

    for (size_t i = 0; i < n; i++) {
        c += s[i] >= '0' && s[i] <= '9' ? s[i] - '0' : s[i] - 'A' + 10;
        c = c > MOD36 ? c - MOD36 : c;
        c *= 2;
        c = c > MOD36 ? c - (MOD36 + 1) : c;
    }
    c = MOD36 + 1 - c;
    c = c == MOD36 ? 0 : c;
    return (char)(c < 10 ? '0' + c : 'A' + c - 10);
}

static bool letters_and_digits(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!((s[i] >= '0' && s[i] <= '9') || (s[i] >= 'A' && s[i] <= 'Z')))
            return false;
    }
    return true;
}

char check_character(const struct check *c, const char *s, size_t n)
{
    bool letters = c->name == CHECK_MOD10 || c->name == CHECK_MOD37_36;

    if (!n || n > CHECK_SERIAL || !check_fits(c, n) ||
        !(letters ? letters_and_digits(s, n) : carrier_checks_digits(s, n)))
        return 0;
    switch (c->name) {
    case CHECK_MOD10:
        return mod10(c, s, n);
    case CHECK_LUHN:
        return luhn(s, n);
    case CHECK_MOD7:
        return mod7(s, n);
    case CHECK_W11:
        return (char)('0' + weighted(c, s, n) % 11 % 10);
    case CHECK_S10:
        return s10(c, s, n);
    case CHECK_MOD37_36:
        return mod37_36(s, n);
    case CHECK_NONE:
    case CHECK_COUNT:
        break;
    }
    return 0;
}
