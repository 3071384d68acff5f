-- Reads the active bills that use an item, at most so many; with deep also those that use what
-- these build, over all levels, each assembly by its default bill.
CREATE OR REPLACE FUNCTION items.bom_up(
    org text, item text, deep boolean, most bigint
) RETURNS TABLE (
    bom_id text, item_id text, is_default boolean, output_qty numeric, bom_name text, name text,
    sku text, base_uom text
)
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog
    SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
BEGIN
    RETURN QUERY
        WITH RECURSIVE up(bom_id, item_id, is_default) AS (
            SELECT e.bom_id, e.assembly_id, b.is_default
            FROM items.bom_edge e
            JOIN items.bom b ON b.organization_id = e.organization_id AND b.id = e.bom_id
            WHERE e.organization_id = bom_up.org AND e.component_id = bom_up.item
            UNION
            SELECT e.bom_id, e.assembly_id, b.is_default
            FROM up u
            CROSS JOIN LATERAL (
                SELECT *
                FROM items.bom_edge x
                WHERE x.organization_id = bom_up.org AND x.component_id = u.item_id
                OFFSET 0
            ) e
            CROSS JOIN LATERAL (
                SELECT x.is_default
                FROM items.bom x
                WHERE x.organization_id = bom_up.org AND x.id = e.bom_id
                LIMIT 1
            ) b
            WHERE bom_up.deep AND u.is_default
        )
        SELECT u.bom_id, u.item_id, u.is_default, b.output_qty, b.name, i.name, i.sku, i.base_uom
        FROM (SELECT * FROM up LIMIT bom_up.most) u
        JOIN items.bom b ON b.organization_id = bom_up.org AND b.id = u.bom_id
        JOIN items.item i ON i.organization_id = bom_up.org AND i.id = u.item_id
        ORDER BY i.name COLLATE "C", u.bom_id;
END
$$;
