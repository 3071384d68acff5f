/* host_text.c - the service wharf.text (plugin-api/wharf/service/text.h). */
#include <openssl/sha.h>
#include <sodium.h>

#include "plugin/host.h"
#include "util/search_form.h"
#include "wharf/service/text.h"

static wharf_str t_search_form(wharf_req *req, wharf_str text, const char *keep)
{
    return search_form(req->arena, text, keep);
}

static wharf_str t_sha256(wharf_req *req, wharf_str bytes)
{
    unsigned char hash[SHA256_DIGEST_LENGTH];
    char *hex = arena_alloc(req->arena, 2 * sizeof(hash) + 1);

    SHA256((const unsigned char *)bytes.p, bytes.n, hash);
    sodium_bin2hex(hex, 2 * sizeof(hash) + 1, hash, sizeof(hash));
    return (wharf_str){hex, 2 * sizeof(hash)};
}

const wharf_text_api host_text = {WHARF_HEAD(wharf_text_api), t_search_form, t_sha256};
