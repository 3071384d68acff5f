/* lib_time.c - `wharf.time`, os.time and os.date. Moments are seconds since 1970 as floats with
 * milliseconds; without a zone all is UTC.
 *
 * Zones come from the host as the bytes of the system's files and stay in the state. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lua/sandbox/sandbox_inside.h"
#include "util/str.h"
#include "util/time.h"
#include "util/zone.h"
#include "wharf/civil.h"

static const double MOST = 253402300799.0; /* the end of year 9999 */

struct moment {
    int64_t s, ms;
};

static double lib_time_now(lua_State *lua)
{
    struct sandbox *sb = sandbox_of(lua);
    int64_t ms = sb->host.now_us(sb->host.arg) / 1000;

    return (double)ms / 1000.0;
}

static struct moment lib_time_split(lua_State *lua, int at, double t)
{
    struct moment m;

    luaL_argcheck(lua, t > -62135596801.0 && t <= MOST, at,
        "a moment of the years 1 to 9999, in seconds since 1970");
    m.s = (int64_t)floor(t);
    m.ms = (int64_t)llround((t - floor(t)) * 1000);
    m.s += m.ms / 1000;
    m.ms %= 1000;
    return m;
}

static struct moment moment_at(lua_State *lua, int at)
{
    return lib_time_split(
        lua, at, lua_isnoneornil(lua, at) ? lib_time_now(lua) : luaL_checknumber(lua, at));
}

/* ---- zones ---- */

/* Returns the bytes of the zone named at this index; n 0: UTC. They stay as long as the state. */
static wharf_str zone_bytes(lua_State *lua, int at)
{
    struct sandbox *sb = sandbox_of(lua);
    const char *name = luaL_optstring(lua, at, "UTC");
    wharf_str bytes = {"", 0};

    if (!strcmp(name, "UTC"))
        return bytes;
    slot_get(lua, SLOT_ZONES);
    if (lua_getfield(lua, -1, name) != LUA_TSTRING) {
        struct zone_offset o;

        if (!zone_name_good(name) || !sb->host.zone(sb->host.arg, name, &bytes) ||
            !zone_at(bytes.p, bytes.n, 0, &o))
            sandbox_raise(lua, "there is no time zone '%s'", name);
        lua_pop(lua, 1);
        lua_pushlstring(lua, bytes.p, bytes.n);
        lua_pushvalue(lua, -1);
        lua_setfield(lua, -3, name);
    }
    bytes.p = lua_tolstring(lua, -1, &bytes.n);
    lua_pop(lua, 2);
    return bytes;
}

static struct zone_offset offset_at(wharf_str zone, int64_t s)
{
    struct zone_offset o = {.name = "UTC"};

    if (zone.n)
        zone_at(zone.p, zone.n, s, &o);
    return o;
}

static int64_t to_utc(wharf_str zone, int64_t local)
{
    int64_t s = local;
    bool skipped;

    if (zone.n)
        zone_moment(zone.p, zone.n, local, &s, &skipped);
    return s;
}

static void push_moment(lua_State *lua, int64_t s, int64_t ms)
{
    lua_pushnumber(lua, (double)(s * 1000 + ms) / 1000.0);
}

/* ---- texts ---- */

static const char *const days[] = {
    "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
static const char *const months[] = {"January", "February", "March", "April", "May", "June", "July",
    "August", "September", "October", "November", "December"};

/* Computes week and year of ISO 8601. */
static int iso_week(const struct civil *c, int64_t *ret_year)
{
    int monday = (c->weekday + 6) % 7;
    int64_t thursday = wharf_days_of(c->year, c->month, c->day) - monday + 3;
    struct civil t = civil_of(thursday * 86400);

    *ret_year = t.year;
    return t.yearday / 7 + 1;
}

struct shown {
    struct civil c;
    int64_t s, ms;
    int32_t east;
    const char *zone;
};

static void add_number(luaL_Buffer *out, int64_t v, int width, char fill)
{
    char text[24];
    int n = snprintf(text, sizeof(text), "%lld", (long long)v);

    for (; n < width; width--)
        luaL_addchar(out, fill);
    luaL_addstring(out, text);
}

static void lib_time_text_of(
    luaL_Buffer *out, const struct shown *t, const char *format, const char *end);

static bool composed(luaL_Buffer *out, const struct shown *t, char c)
{
    static const struct {
        char c;
        const char *as;
    } all[] = {{'c', "%a %b %e %H:%M:%S %Y"}, {'D', "%m/%d/%y"}, {'x', "%m/%d/%y"},
        {'F', "%Y-%m-%d"}, {'R', "%H:%M"}, {'r', "%I:%M:%S %p"}, {'T', "%H:%M:%S"},
        {'X', "%H:%M:%S"}};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (all[i].c == c) {
            lib_time_text_of(out, t, all[i].as, all[i].as + strlen(all[i].as));
            return true;
        }
    }
    return false;
}

static bool counted(luaL_Buffer *out, const struct shown *t, char c)
{
    const struct civil *d = &t->c;
    int64_t year;
    int week = iso_week(d, &year);
    const struct {
        char c;
        int64_t v;
        int width;
        char fill;
    } all[] = {{'C', d->year / 100, 2, '0'}, {'d', d->day, 2, '0'}, {'e', d->day, 2, ' '},
        {'g', year % 100, 2, '0'}, {'G', year, 4, '0'}, {'H', d->hour, 2, '0'},
        {'I', (d->hour + 11) % 12 + 1, 2, '0'}, {'j', d->yearday + 1, 3, '0'}, {'L', t->ms, 3, '0'},
        {'m', d->month, 2, '0'}, {'M', d->minute, 2, '0'}, {'s', t->s, 1, '0'},
        {'S', d->second, 2, '0'}, {'u', (d->weekday + 6) % 7 + 1, 1, '0'},
        {'U', (d->yearday + 7 - d->weekday) / 7, 2, '0'}, {'V', week, 2, '0'},
        {'w', d->weekday, 1, '0'}, {'W', (d->yearday + 7 - (d->weekday + 6) % 7) / 7, 2, '0'},
        {'y', d->year % 100, 2, '0'}, {'Y', d->year, 4, '0'}};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (all[i].c == c) {
            add_number(out, all[i].v, all[i].width, all[i].fill);
            return true;
        }
    }
    return false;
}

static void offset_text(luaL_Buffer *out, int32_t east)
{
    int32_t minutes = abs(east) / 60;

    luaL_addchar(out, east < 0 ? '-' : '+');
    add_number(out, minutes / 60, 2, '0');
    add_number(out, minutes % 60, 2, '0');
}

static void lib_time_text_of(
    luaL_Buffer *out, const struct shown *t, const char *format, const char *end)
{
    for (const char *p = format; p < end; p++) {
        if (*p != '%' || p + 1 == end) {
            luaL_addchar(out, *p);
            continue;
        }
        p++;
        if ((*p == 'E' || *p == 'O') && p + 1 < end)
            p++;
        switch (*p) {
        case 'a':
            luaL_addlstring(out, days[t->c.weekday], 3);
            break;
        case 'A':
            luaL_addstring(out, days[t->c.weekday]);
            break;
        case 'b':
        case 'h':
            luaL_addlstring(out, months[t->c.month - 1], 3);
            break;
        case 'B':
            luaL_addstring(out, months[t->c.month - 1]);
            break;
        case 'p':
            luaL_addstring(out, t->c.hour < 12 ? "AM" : "PM");
            break;
        case 'n':
            luaL_addchar(out, '\n');
            break;
        case 't':
            luaL_addchar(out, '\t');
            break;
        case '%':
            luaL_addchar(out, '%');
            break;
        case 'z':
            offset_text(out, t->east);
            break;
        case 'Z':
            luaL_addstring(out, t->zone);
            break;
        default:
            if (!composed(out, t, *p) && !counted(out, t, *p))
                luaL_error(out->L, "there is no conversion '%%%c'", *p);
        }
    }
}

void time_text(lua_State *lua, int64_t s, int64_t ms, int32_t offset, const char *zone,
    const char *format, size_t n)
{
    struct shown t = {.c = civil_of(s + offset), .s = s, .ms = ms, .east = offset, .zone = zone};
    luaL_Buffer out;

    luaL_buffinit(lua, &out);
    lib_time_text_of(&out, &t, format, format + n);
    luaL_pushresult(&out);
}

/* ---- os ---- */

/* Reads a field. less: what C's struct tm keeps less of it, an int, which is what bounds it in
 * stock Lua. */
static int64_t field(lua_State *lua, const char *name, int otherwise, int less)
{
    int64_t v = otherwise;
    int good = 1;

    if (lua_getfield(lua, 1, name) != LUA_TNIL) {
        lua_Integer i = lua_tointegerx(lua, -1, &good);

        if (!good)
            return luaL_error(lua, "field '%s' is not an integer", name);
        if (i < (lua_Integer)INT32_MIN + less || i > (lua_Integer)INT32_MAX + less)
            return luaL_error(lua, "field '%s' is out-of-bound", name);
        v = i;
    } else if (otherwise == INT32_MIN) {
        return luaL_error(lua, "field '%s' missing in date table", name);
    }
    lua_pop(lua, 1);
    return v;
}

/* Sets the date in the table on top. */
static void set_date(lua_State *lua, const struct civil *c)
{
    const struct {
        const char *name;
        lua_Integer v;
    } all[] = {{"year", c->year}, {"month", c->month}, {"day", c->day}, {"hour", c->hour},
        {"min", c->minute}, {"sec", c->second}, {"wday", c->weekday + 1}, {"yday", c->yearday + 1}};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        lua_pushinteger(lua, all[i].v);
        lua_setfield(lua, -2, all[i].name);
    }
    lua_pushboolean(lua, 0);
    lua_setfield(lua, -2, "isdst");
}

static int os_time(lua_State *lua)
{
    struct civil c;
    int64_t s, month;

    if (lua_isnoneornil(lua, 1)) {
        lua_pushinteger(lua, (lua_Integer)floor(lib_time_now(lua)));
        return 1;
    }
    luaL_checktype(lua, 1, LUA_TTABLE);
    c.year = field(lua, "year", INT32_MIN, 1900);
    month = field(lua, "month", INT32_MIN, 1) - 1;
    c.day = (int)field(lua, "day", INT32_MIN, 0);
    c.hour = (int)field(lua, "hour", 12, 0);
    c.minute = (int)field(lua, "min", 0, 0);
    c.second = (int)field(lua, "sec", 0, 0);
    c.year += month / 12;
    c.month = (int)(month % 12) + 1;
    s = civil_seconds(&c);
    c = civil_of(s);
    lua_settop(lua, 1);
    if (c.year < (int64_t)INT32_MIN + 1900 || c.year > (int64_t)INT32_MAX + 1900 || s == -1)
        /* -1: as mktime says it */
        return luaL_error(lua, "time result cannot be represented in this installation");
    set_date(lua, &c); /* 32 January is told as 1 February */
    lua_pushinteger(lua, s);
    return 1;
}

/* Raises unless all conversions are Lua's or wharf.time's. Of those with E and O the plain ones
 * are meant, as everywhere without a language. */
static void check_conversions(lua_State *lua, const char *p, const char *end)
{
    while (p < end) {
        const char *known = "aAbBcCdDeFgGhHIjLmMnprRsStTuUVwWxXyYzZ%";
        const char *conversion;

        if (*p++ != '%')
            continue;
        conversion = p;
        if (p < end && (*p == 'E' || *p == 'O'))
            known = *p++ == 'E' ? "cCxXyY" : "deHImMSuUVwWy";
        if (p == end || !*p || !strchr(known, *p))
            luaL_argerror(
                lua, 1, lua_pushfstring(lua, "there is no conversion '%%%s'", conversion));
        p++;
    }
}

static int os_date(lua_State *lua)
{
    size_t n;
    const char *format = luaL_optlstring(lua, 1, "%c", &n);
    struct moment m = moment_at(lua, 2);
    struct civil c = civil_of(m.s);

    if (n && *format == '!') {
        format++;
        n--;
    }
    if (n >= 2 && format[0] == '*' && format[1] == 't') {
        lua_createtable(lua, 0, 9);
        set_date(lua, &c);
        return 1;
    }
    check_conversions(lua, format, format + n);
    time_text(lua, m.s, m.ms, 0, "UTC", format, n);
    return 1;
}

/* ---- wharf.time ---- */

static int time_now(lua_State *lua)
{
    lua_pushnumber(lua, lib_time_now(lua));
    return 1;
}

static int time_now_ms(lua_State *lua)
{
    struct sandbox *sb = sandbox_of(lua);

    lua_pushinteger(lua, sb->host.now_us(sb->host.arg) / 1000);
    return 1;
}

static int time_iso_text(lua_State *lua)
{
    struct moment m = moment_at(lua, 1);
    char text[ISO_MS_LEN + 1];

    time_format_iso(m.s * 1000000 + m.ms * 1000, text);
    lua_pushstring(lua, text);
    return 1;
}

static int time_parse_text(lua_State *lua)
{
    wharf_str s;
    int64_t us;

    s.p = luaL_checklstring(lua, 1, &s.n);
    if (time_parse(s, false, &us)) {
        push_moment(lua, us / 1000000, us % 1000000 / 1000);
        return 1;
    }
    lua_pushnil(lua);
    lua_createtable(lua, 0, 2);
    lua_pushliteral(lua, "time.syntax");
    lua_setfield(lua, -2, "code");
    lua_pushliteral(lua, "a moment is 2025-01-31T12:00:00Z, with an offset, or seconds since 1970");
    lua_setfield(lua, -2, "message");
    return 2;
}

static int time_format(lua_State *lua)
{
    struct moment m = moment_at(lua, 1);
    size_t n;
    const char *format = luaL_checklstring(lua, 2, &n);
    struct zone_offset o = offset_at(zone_bytes(lua, 3), m.s);

    time_text(lua, m.s, m.ms, o.east, o.name, format, n);
    return 1;
}

static int64_t lib_time_part(lua_State *lua, const char *name)
{
    int64_t v = 0;
    int good = 1;

    if (lua_getfield(lua, 2, name) != LUA_TNIL)
        v = lua_tointegerx(lua, -1, &good);
    lua_pop(lua, 1);
    if (!good || v > 1000000000000 || v < -1000000000000)
        sandbox_raise(lua, "'%s' is not a whole number", name);
    return v;
}

static void known_parts(lua_State *lua)
{
    static const char known[] = " years months weeks days hours minutes seconds ms ";
    int at_table = frozen_under(lua, 2) ? lua_gettop(lua) : 2;

    for (lua_pushnil(lua); lua_next(lua, at_table); lua_pop(lua, 1)) {
        const char *name = lua_type(lua, -2) == LUA_TSTRING ? lua_tostring(lua, -2) : "?";
        const char *at = strstr(known, name);

        if (!at || at == known || at[-1] != ' ' || at[strlen(name)] != ' ')
            sandbox_raise(lua,
                "years, months, weeks, days, hours, minutes, seconds and ms can be added; not '%s'",
                name);
    }
}

/* Adds to a moment. Years to days are added to what the clock there shows, hours and less to the
 * moment. A day that its month does not have becomes the last one. */
static int time_add(lua_State *lua)
{
    struct moment m = moment_at(lua, 1);
    wharf_str zone = zone_bytes(lua, 3);
    int64_t months_more, days_more, ms;
    struct civil c;

    luaL_checktype(lua, 2, LUA_TTABLE);
    known_parts(lua);
    months_more = lib_time_part(lua, "years") * 12 + lib_time_part(lua, "months");
    days_more = lib_time_part(lua, "weeks") * 7 + lib_time_part(lua, "days");
    luaL_argcheck(
        lua, llabs(months_more) < 120000 && llabs(days_more) < 4000000, 2, "too far away");
    if (months_more || days_more) {
        int64_t n;
        int last;

        c = civil_of(m.s + offset_at(zone, m.s).east);
        n = c.year * 12 + c.month - 1 + months_more;
        luaL_argcheck(lua, n >= 12 && n < 120000, 2, "too far away");
        c.year = n / 12;
        c.month = (int)(n % 12) + 1;
        last = wharf_days_in_month(c.year, c.month);
        c.day = c.day > last ? last : c.day;
        m.s = to_utc(zone, civil_seconds(&c) + days_more * 86400);
    }
    ms = lib_time_part(lua, "hours") * 3600000 + lib_time_part(lua, "minutes") * 60000 +
         lib_time_part(lua, "seconds") * 1000 + lib_time_part(lua, "ms") + m.ms;
    push_moment(lua, m.s, ms);
    lib_time_split(lua, 2, lua_tonumber(lua, -1));
    return 1;
}

static int time_diff(lua_State *lua)
{
    double d = luaL_checknumber(lua, 1) - luaL_checknumber(lua, 2);

    lua_pushnumber(lua, round(d * 1000) / 1000);
    return 1;
}

static int time_start_of(lua_State *lua)
{
    static const char *const units[] = {
        "minute", "hour", "day", "week", "month", "quarter", "year", NULL};
    struct moment m = moment_at(lua, 1);
    int unit = luaL_checkoption(lua, 2, NULL, units);
    wharf_str zone = zone_bytes(lua, 3);
    struct civil c = civil_of(m.s + offset_at(zone, m.s).east);

    /* minutes and hours are counted from the moment: a repeated hour stays its own */
    if (unit < 2) {
        push_moment(lua, m.s - c.second - (unit == 1 ? c.minute * 60 : 0), 0);
        return 1;
    }
    c.hour = c.minute = c.second = 0;
    if (unit == 3)
        c.day -= (c.weekday + 6) % 7;
    if (unit >= 4)
        c.day = 1;
    if (unit == 5)
        c.month -= (c.month - 1) % 3;
    if (unit == 6)
        c.month = 1;
    push_moment(lua, to_utc(zone, civil_seconds(&c)), 0);
    return 1;
}

void lib_time(lua_State *lua)
{
    static const luaL_Reg of_os[] = {{"time", os_time}, {"date", os_date}, {NULL, NULL}};
    static const luaL_Reg functions[] = {{"now", time_now}, {"now_ms", time_now_ms},
        {"iso", time_iso_text}, {"parse", time_parse_text}, {"format", time_format},
        {"add", time_add}, {"diff", time_diff}, {"start_of", time_start_of}, {NULL, NULL}};

    lua_getglobal(lua, LUA_OSLIBNAME);
    luaL_setfuncs(lua, of_os, 0);
    lua_pop(lua, 1);
    luaL_newlib(lua, functions);
}
