/* push_part.c - pushing as a part of the server (resource/part.h). */
#include "parts.h"

#include "push/host_push.h"
#include "push/vapid.h"
#include "util/str.h"

static const struct offered_service services[] = {{{"wharf.push", 1, 0}, &host_push}};

static bool push_start(struct engine *e, const struct worker_boot *boot, wharf_str *ret_error)
{
    if (vapid_load(boot->database))
        return true;
    *ret_error = str_z("the key of Web Push can't be read from the database, or it is none: "
                       "wharf.setting 'push.key'");
    return false;
}

const struct part push_part = {.name = "push",
    .services = services,
    .n_services = sizeof(services) / sizeof(*services),
    .start = push_start};
