/* paper_sizes.c - GET /v1/cloud-printing/paper-sizes: the table of spec 04 section 4, as built in. */
#include "stations.h"

wharf_status paper_sizes(wharf_req *req, void *text)
{
    const wharf_json *table;
    wharf_status s = stations_host->json->parse(req, *(const wharf_str *)text, &table);

    if (s == WHARF_OK)
        stations_host->json->put(stations_host->req->respond(req, 200, "39 paper sizes retrieved"), NULL,
            (wharf_val){.type = WHARF_V_JSON, .u.j = table});
    return s;
}
