/* lib_bytes.c - hex, base64 and the primitives of `wharf.crypto` (lib/crypto.lua), by libsodium. */
#include <sodium.h>
#include <string.h>

#include "lua/sandbox/sandbox_inside.h"

enum { RANDOM_MAX = 1024 }; /* bytes of random_bytes */

static int hex_encode(lua_State *lua)
{
    size_t n;
    const char *p = luaL_checklstring(lua, 1, &n);
    luaL_Buffer out;
    char *to;

    if (n > SIZE_MAX / 4)
        return luaL_error(lua, "too long");
    to = luaL_buffinitsize(lua, &out, n * 2 + 1);
    sodium_bin2hex(to, n * 2 + 1, (const unsigned char *)p, n);
    luaL_pushresultsize(&out, n * 2);
    return 1;
}

static int lib_bytes_refused(lua_State *lua, const char *code, const char *message)
{
    lua_pushnil(lua);
    lua_createtable(lua, 0, 2);
    lua_pushstring(lua, code);
    lua_setfield(lua, -2, "code");
    lua_pushstring(lua, message);
    lua_setfield(lua, -2, "message");
    return 2;
}

static int hex_decode(lua_State *lua)
{
    size_t n, made;
    const char *p = luaL_checklstring(lua, 1, &n);
    luaL_Buffer out;
    char *to = luaL_buffinitsize(lua, &out, n / 2 + 1);

    if (sodium_hex2bin((unsigned char *)to, n / 2 + 1, p, n, NULL, &made, NULL) != 0 ||
        made * 2 != n)
        return lib_bytes_refused(lua, "hex.syntax", "the text is not hexadecimal");
    luaL_pushresultsize(&out, made);
    return 1;
}

static bool url_form(lua_State *lua)
{
    bool url = false;

    if (lua_istable(lua, 2)) {
        lua_getfield(lua, 2, "url");
        url = lua_toboolean(lua, -1);
        lua_pop(lua, 1);
    }
    return url;
}

static int base64_encode(lua_State *lua)
{
    int variant = url_form(lua) ? sodium_base64_VARIANT_URLSAFE_NO_PADDING
                                : sodium_base64_VARIANT_ORIGINAL;
    size_t n, size;
    const char *p = luaL_checklstring(lua, 1, &n);
    luaL_Buffer out;
    char *to;

    size = sodium_base64_encoded_len(n, variant);
    to = luaL_buffinitsize(lua, &out, size);
    sodium_bin2base64(to, size, (const unsigned char *)p, n, variant);
    luaL_pushresultsize(&out, strlen(to));
    return 1;
}

/* Decodes base64; padding is optional when it is read. */
static int base64_decode(lua_State *lua)
{
    bool url = url_form(lua);
    size_t n, made;
    const char *p = luaL_checklstring(lua, 1, &n), *end;
    luaL_Buffer out;
    char *to = luaL_buffinitsize(lua, &out, n + 1);

    for (int padding = 0; padding < 2 && n > 0 && p[n - 1] == '='; padding++)
        n--;
    if (sodium_base642bin((unsigned char *)to, n + 1, p, n, NULL, &made, &end,
            url ? sodium_base64_VARIANT_URLSAFE_NO_PADDING
                : sodium_base64_VARIANT_ORIGINAL_NO_PADDING) != 0 ||
        end != p + n)
        return lib_bytes_refused(lua, "base64.syntax", "the text is not base64");
    luaL_pushresultsize(&out, made);
    return 1;
}

static int sha256(lua_State *lua)
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    size_t n;
    const char *p = luaL_checklstring(lua, 1, &n);

    crypto_hash_sha256(hash, (const unsigned char *)p, n);
    lua_pushlstring(lua, (const char *)hash, sizeof(hash));
    return 1;
}

static int hmac_sha256(lua_State *lua)
{
    unsigned char hash[crypto_auth_hmacsha256_BYTES];
    crypto_auth_hmacsha256_state state;
    size_t n_key, n;
    const char *key = luaL_checklstring(lua, 1, &n_key), *p = luaL_checklstring(lua, 2, &n);

    crypto_auth_hmacsha256_init(&state, (const unsigned char *)key, n_key);
    crypto_auth_hmacsha256_update(&state, (const unsigned char *)p, n);
    crypto_auth_hmacsha256_final(&state, hash);
    lua_pushlstring(lua, (const char *)hash, sizeof(hash));
    return 1;
}

/* Compares two texts; the time tells the length at most. */
static int lib_bytes_equal(lua_State *lua)
{
    size_t n, m;
    const char *a = luaL_checklstring(lua, 1, &n), *b = luaL_checklstring(lua, 2, &m);

    lua_pushboolean(lua, n == m && sodium_memcmp(a, b, n) == 0);
    return 1;
}

static int random_bytes(lua_State *lua)
{
    struct sandbox *sb = sandbox_of(lua);
    lua_Integer n = luaL_checkinteger(lua, 1);
    char bytes[RANDOM_MAX];

    luaL_argcheck(lua, n >= 0 && n <= RANDOM_MAX, 1, "0 to 1024 bytes");
    sb->host.random(sb->host.arg, bytes, (size_t)n);
    lua_pushlstring(lua, bytes, (size_t)n);
    return 1;
}

void lib_bytes(lua_State *lua)
{
    static const luaL_Reg hex[] = {{"encode", hex_encode}, {"decode", hex_decode}, {NULL, NULL}};
    static const luaL_Reg base64[] = {
        {"encode", base64_encode}, {"decode", base64_decode}, {NULL, NULL}};
    static const luaL_Reg crypto[] = {{"sha256", sha256}, {"hmac_sha256", hmac_sha256},
        {"equal", lib_bytes_equal}, {"random_bytes", random_bytes}, {NULL, NULL}};

    luaL_newlib(lua, crypto);
    luaL_newlib(lua, hex);
    lua_setfield(lua, -2, "hex");
    luaL_newlib(lua, base64);
    lua_setfield(lua, -2, "base64");
}
