/* wharf/ext/carriers.h - services of the module carriers: whose tracking number is this, and
 * where is it followed.
 *
 * Same rules as wharf/plugin.h. Calls run in the caller's request. Source:
 * docs/spec/03-shipments-and-trackers.md sections 8 and 9. */
#ifndef WHARF_EXT_CARRIERS_H
#define WHARF_EXT_CARRIERS_H

#include "wharf/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A code of this module that others answer with. */
#define ERR_PROVIDER_UNKNOWN "provider.unknown"

/* A carrier and a service that a number was recognized as. The caller sets head; texts live in
 * the request. */
typedef struct wharf_detection {
    wharf_head head;
    wharf_str normalized; /* white space removed, upper case */
    wharf_str provider_id; /* of the best candidate; "unknown" when there is none */
    bool ambiguous; /* candidates name two or more providers */
    /* as in the answer of POST /v1/utils/providers/detect; an empty array when there are none */
    const wharf_json *candidates;
} wharf_detection;

/* The providers that an organization knows: its own ones and all others. Lives in the request. */
typedef struct wharf_carriers_table wharf_carriers_table;

/* Service "carriers.detect", version 1.1. */
typedef struct wharf_carriers_detect_api {
    wharf_head head;
    wharf_status (*detect)(wharf_req *req, wharf_str number, wharf_detection *ret);
    /* {id, name, support_url, support_phone, support_email, logo_url, marketplace} of a
     * provider, the organization's own ones included. NULL in *ret_provider: there is no such
     * provider. "unknown" is {"id": "unknown"} with nulls. */
    wharf_status (*provider)(
        wharf_req *req, wharf_str provider_id, const wharf_json **ret_provider);
    /* Where the number of a provider is followed; empty: nowhere (no number, unknown provider,
     * internal numbers). */
    wharf_status (*tracking_url)(
        wharf_req *req, wharf_str provider_id, wharf_str number, wharf_str *ret_url);
    /* A new internal number: prefix, dash, seven characters, dash, seven characters. Random; the
     * caller keeps it unique. */
    wharf_str (*internal_number)(wharf_req *req);
    /* For internal numbers: *ret_code is their first group of seven. False: it is none. */
    bool (*is_internal)(wharf_str normalized, wharf_str *ret_code);
    /* The number as it is kept and compared: white space removed, upper case. */
    wharf_str (*normalize)(wharf_req *req, wharf_str number);
    /* 1.1: the same for many numbers, or for one that is asked about more than once: open asks
     * the database for the organization's providers, the others ask it nothing. */
    wharf_status (*open)(wharf_req *req, const wharf_carriers_table **ret_table);
    wharf_status (*detect_in)(wharf_req *req, const wharf_carriers_table *table, wharf_str number,
        wharf_detection *ret);
    wharf_status (*provider_in)(wharf_req *req, const wharf_carriers_table *table,
        wharf_str provider_id, const wharf_json **ret_provider);
    wharf_str (*tracking_url_in)(wharf_req *req, const wharf_carriers_table *table,
        wharf_str provider_id, wharf_str number);
} wharf_carriers_detect_api;

#ifdef __cplusplus
}
#endif
#endif
