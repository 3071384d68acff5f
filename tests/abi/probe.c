/* probe.c - reaches every table, descriptor and enum of the plugin header, so that abidiff sees
 * all of it. */
#include "wharf/plugin.h"

WHARF_EXPORT const void *wharf_abi_probe(const wharf_host *host, const wharf_plugin_desc *desc,
    const wharf_decl_api *decl, const wharf_resource *resource, const wharf_route *route,
    const wharf_hooks *hooks, const wharf_check *check, wharf_val value,
    enum wharf_status_kind status, enum wharf_val_type type, enum wharf_json_type json_type,
    enum wharf_log_level level, enum wharf_op op, enum wharf_fetch_flag fetch,
    enum wharf_route_flag flag);

const void *wharf_abi_probe(const wharf_host *host, const wharf_plugin_desc *desc,
    const wharf_decl_api *decl, const wharf_resource *resource, const wharf_route *route,
    const wharf_hooks *hooks, const wharf_check *check, wharf_val value,
    enum wharf_status_kind status, enum wharf_val_type type, enum wharf_json_type json_type,
    enum wharf_log_level level, enum wharf_op op, enum wharf_fetch_flag fetch,
    enum wharf_route_flag flag)
{
    const void *all[] = {host, desc, decl, resource, route, hooks, check, &value};

    return all[(unsigned)(status + (int)type + (int)json_type + (int)level + (int)op + (int)fetch +
                          (int)flag) %
               8];
}
