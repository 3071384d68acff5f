/* blob_part.c - the store of big bytes as a part of the server (resource/part.h). */
#include "parts.h"

#include "blob/blob.h"
#include "blob/blob_check.h"
#include "blob/blob_file.h"
#include "blob/file_direct.h"
#include "blob/files_route.h"
#include "blob/host_blob.h"

static const struct offered_service services[] = {{{"wharf.blob", 1, 4}, &host_blob}};
static const struct part_job jobs[] = {{"collect_files", file_collect_job, file_collect_policy},
    {"erase_object", file_erase_job, file_erase_policy},
    {"scrub_files", file_scrub_job, file_scrub_policy},
    {"take_uploads", file_fetch_job, file_fetch_policy}};

static int storage_probe(const struct engine *e)
{
    return blob_probe(e->blobs);
}

static void blob_link(struct engine *e)
{
    e->uploads = &file_uploads;
    e->storage_probe = storage_probe;
}

static bool blob_begin(struct engine *e, const struct worker_boot *boot, wharf_str *ret_error)
{
    e->blobs = blob_open(e->config, e->net, e->arena, ret_error);
    return e->blobs != NULL;
}

static const struct part_check checks[] = {
    {"files", &blob_checksums}, {"files", &blob_damaged}, {"files", &blob_objects}};

const struct part blob_part = {.name = "blob",
    .services = services,
    .n_services = sizeof(services) / sizeof(*services),
    .jobs = jobs,
    .n_jobs = sizeof(jobs) / sizeof(*jobs),
    .checks = checks,
    .n_checks = sizeof(checks) / sizeof(*checks),
    .routes = files_routes_add,
    .link = blob_link,
    .open = blob_begin};
