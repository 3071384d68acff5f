/* codes.c - the platform's error codes and what status they answer with (docs/spec/01-platform.md section 3.1). Modules bring their
 * own in errors.json; engine_link() merges both. */
#include "resource/codes.h"

const struct error_code platform_codes[] = {
    {"api_key.expired", 401, "The API key has expired; ask for a new one", NULL},
    {"api_key.invalid", 401, "The API key is not known here; check that it was copied whole", NULL},
    {"api_key.missing", 401, "Send an API key in the header SVC-API-KEY", NULL},
    {"api_key.revoked", 401, "The API key was revoked; ask for a new one", NULL},
    {"body.malformed", 400, "The body is not the JSON this route takes", NULL},
    {"body.too_large", 413, "The body is larger than this route takes", NULL},
    {"conflict", 409, "Somebody else changed the same data at the same time; send the request again", NULL},
    {"content_encoding.unsupported", 415, "Send the body as it is or with Content-Encoding: gzip", NULL},
    {"cursor.invalid", 400, "The cursor belongs to another list or was changed; start again with cursor=start", NULL},
    {"file.download", 502, "The file could not be fetched from its host", NULL},
    {"headers.too_large", 431, "The headers are larger than 32 KiB", NULL},
    {"http.malformed", 400, "The request is not HTTP as this server reads it", NULL},
    {"internal", 500, "Something went wrong on our side", NULL},
    {"ip_access", 403, "The API key may not be used from this address", NULL},
    {"location_access", 403, "The API key has no access to a location of this request", NULL},
    {"media_type.unsupported", 415, "Send the body as application/json in UTF-8", NULL},
    {"method.not_allowed", 405, "This path does not take this method; see the header Allow", NULL},
    {"module.unavailable", 503, "The module of this route is out of service at the moment; try again later", NULL},
    {"not_acceptable", 406, "This server answers in application/json; accept that", NULL},
    {"not_found", 404, "There is nothing with this id", NULL},
    {"overloaded", 503, "The server has no room for this request at the moment; try again", NULL},
    {"pagination.too_deep", 400, "Pages end at row 100,000; walk on with cursor=start", NULL},
    {"param.invalid", 400, "A parameter was not understood", NULL},
    {"principal.disabled", 401, "The user or device of this API key is disabled", NULL},
    {"rate_limited", 429, "Too many requests; wait as Retry-After says", NULL},
    {"request.timeout", 408, "The request was not sent within the time limit", NULL},
    {"role_access", 403, "Your role does not allow this", NULL},
    {"route.not_found", 404, "There is no such path; GET /v1/openapi.json lists them", NULL},
    {"scope_access", 403, "The API key lacks a scope for this request", NULL},
    {"timeout", 504, "The request took longer than its time limit and was given up", NULL},
    {"uri.too_long", 414, "The address is longer than 16 KiB", NULL},
    {"validation.failed", 400, "A field of the body was not accepted", NULL},
};
const size_t platform_codes_count = sizeof(platform_codes) / sizeof(platform_codes[0]);
