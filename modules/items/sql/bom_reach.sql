-- Reads what items are made of, over all levels, by their default bills, at most so many. One row
-- for each item; the bill is null for what is not built. links: the components of the bill, each as
-- "item quantity factor", with spaces between. Each item's bill is looked up once on the way down:
-- what one level uses is made distinct before, and UNION drops what an upper level had. Plans are
-- made while tables are empty, and each row is looked up by itself and by index, whatever they say.
CREATE OR REPLACE FUNCTION items.bom_reach(
    org text, items text[], most bigint
) RETURNS TABLE (
    id text, is_asset boolean, counted boolean, archived boolean, name text, sku text,
    base_uom text, bom_id text, output_qty numeric, min_build_qty numeric, value bigint,
    currency text, bom_version integer, links text
)
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog
    SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
BEGIN
    RETURN QUERY
        WITH RECURSIVE reach(item_id, bom_id, output_qty, min_build_qty, bom_version, links, used)
        AS (
            SELECT NULL COLLATE "C", NULL COLLATE "C", NULL::numeric, NULL::numeric, NULL::integer,
                NULL COLLATE "C", bom_reach.items COLLATE "C"
            UNION
            SELECT u.item_id, b.id, b.output_qty, b.min_build_qty, b.bom_version, c.links, c.used
            FROM (SELECT DISTINCT unnest(r.used) COLLATE "C" AS item_id FROM reach r) u
            LEFT JOIN LATERAL (
                SELECT *
                FROM items.bom x
                WHERE x.organization_id = bom_reach.org AND x.item_id = u.item_id
                    AND x.deleted_at IS NULL AND x.status = 'active' AND x.is_default
                LIMIT 1
            ) b ON true
            LEFT JOIN LATERAL (
                SELECT string_agg(x.item_id || ' ' || x.quantity || ' ' || x.factor, ' ') AS links,
                    array_agg(x.item_id) AS used
                FROM items.bom_component x
                WHERE x.organization_id = bom_reach.org AND x.bom_id = b.id
                    AND x.bom_version = b.bom_version
            ) c ON b.id IS NOT NULL
        )
        SELECT i.id, i.is_asset, i.is_asset OR i.uom_category = 'count',
            i.status = 'archived' OR i.deleted_at IS NOT NULL, i.name, i.sku, i.base_uom, r.bom_id,
            r.output_qty, r.min_build_qty, i.value, i.currency, r.bom_version, r.links
        FROM (
            SELECT * FROM reach r WHERE r.item_id IS NOT NULL LIMIT bom_reach.most
        ) r
        CROSS JOIN LATERAL (
            SELECT *
            FROM items.item x
            WHERE x.organization_id = bom_reach.org AND x.id = r.item_id
            LIMIT 1
        ) i
        ORDER BY i.id;
END
$$;
