/* item_module.c - the module items: what it declares (docs/spec/09-items-and-assembly.md). */
#include "items.h"

#include "audits.h"
#include "bom_reads.h"
#include "bom_rules.h"
#include "build.h"
#include "items.gen.h"
#include "wharf/ext/contacts.h"

const wharf_host *W;
const wharf_events_api *items_events;
const wharf_keys_api *items_keys;
const wharf_many_api *items_many;
const wharf_locations_directory_api *items_places;
const wharf_locations_layouts_api *items_layouts;
const wharf_org_directory_api *items_org;
const wharf_reasons_lookup_api *items_reasons;
wharf_str items_shipped_units = EMBEDDED;

static const wharf_route routes[] = {
    {ROUTE_WHERE_USED, .handler = bom_where_used_get},
    {ROUTE_BOM_DELETE, .handler = bom_delete_handler},
    {ROUTE_BOM_VERSIONS, .handler = bom_versions_get},
    {ROUTE_BOM_EXPLOSION, .handler = bom_explosion_get},
    {ROUTE_BOM_COST, .handler = bom_cost_get},
    {ROUTE_BUILD, .handler = build_handler},
    {ROUTE_UNBUILD, .handler = unbuild_handler},
    {ROUTE_AUDIT_TASK, .handler = audit_task_post},
};

static void item_declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    MIGRATIONS(api, d);
    api->errors(d, (wharf_str)ERRORS);
    declare_resource(
        d, api, "uom", (wharf_str)UOM_DEFINITION, UOM_DEFINITION_HASH, &items_uom_hooks);
    declare_resource(
        d, api, "item", (wharf_str)ITEM_DEFINITION, ITEM_DEFINITION_HASH, &items_item_hooks);
    declare_resource(
        d, api, "level", (wharf_str)LEVEL_DEFINITION, LEVEL_DEFINITION_HASH, &items_level_hooks);
    declare_resource(
        d, api, "lot", (wharf_str)LOT_DEFINITION, LOT_DEFINITION_HASH, &items_lot_hooks);
    declare_resource(
        d, api, "bom", (wharf_str)BOM_DEFINITION, BOM_DEFINITION_HASH, &items_bom_hooks);
    declare_resource(d, api, "assembly_order", (wharf_str)ASSEMBLY_ORDER_DEFINITION,
        ASSEMBLY_ORDER_DEFINITION_HASH, NULL);
    ROUTES(api, d, routes);
    declare_resource(d, api, "stock_movement", (wharf_str)STOCK_MOVEMENT_DEFINITION,
        STOCK_MOVEMENT_DEFINITION_HASH, NULL);
    declare_resource(
        d, api, "audit", (wharf_str)AUDIT_DEFINITION, AUDIT_DEFINITION_HASH, &items_audit_hooks);
    declare_resource(
        d, api, "audit_task", (wharf_str)AUDIT_TASK_DEFINITION, AUDIT_TASK_DEFINITION_HASH, NULL);
    api->job(d, "audit_overdue", audit_overdue_run, NULL,
        WHARF_S("{\"retries\": 1000, \"crashes\": 100, \"backoff\": {\"first\": \"1s\", "
                "\"max\": \"30s\"}}"));
    api->hook(d, "location", &items_location_hooks, 0);
    api->hook(d, "layout", &items_layout_hooks, 0);
    api->provide(d, "items.stock", 1, 1, &items_stock);
    api->provide(d, "items.catalog", 1, 1, &items_catalog);
    CHECKS(api, d);
}

static wharf_status item_start(wharf_plugin *self, wharf_req *req)
{
    const wharf_contacts_merge_api *merge = W->service(self, "contacts.merge", 1, 0);
    const wharf_exports_sources_api *exports;

    (void)req;
    if (merge)
        merge->on_merge(audits_contacts_merged);
    items_events = W->service(self, "wharf.events", 1, 3);
    items_keys = W->service(self, "wharf.keys", 1, 0);
    items_many = W->service(self, "wharf.many", 1, 3);
    items_places = W->service(self, "locations.directory", 1, 1);
    items_layouts = W->service(self, "locations.layouts", 1, 2);
    items_org = W->service(self, "org.directory", 1, 1);
    items_reasons = W->service(self, "reasons.lookup", 1, 0);
    exports = W->service(self, "exports.sources", 1, 0);
    return exports ? exports->add(&bom_export_source) : WHARF_OK;
}

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *host)
{
    static const wharf_plugin_desc desc = {.head = WHARF_HEAD(wharf_plugin_desc),
        DESCRIBED,
        .declare = item_declare,
        .start = item_start};

    W = host;
    return &desc;
}
