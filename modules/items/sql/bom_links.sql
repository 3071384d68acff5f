-- Reads the components of the newest versions of bills, bill by bill.
CREATE OR REPLACE FUNCTION items.bom_links(
    org text, boms text[]
) RETURNS TABLE (
    assembly_id text, component_id text, quantity numeric, factor numeric, place bigint
)
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog
    SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
BEGIN
    RETURN QUERY
        SELECT b.item_id, c.item_id, c.quantity, c.factor, w.place
        FROM unnest(bom_links.boms) WITH ORDINALITY w(bom_id, place)
        CROSS JOIN LATERAL (
            SELECT x.id, x.item_id, x.bom_version
            FROM items.bom x
            WHERE x.organization_id = bom_links.org AND x.id = w.bom_id
            LIMIT 1
        ) b
        CROSS JOIN LATERAL (
            SELECT *
            FROM items.bom_component x
            WHERE x.organization_id = bom_links.org AND x.bom_id = b.id
                AND x.bom_version = b.bom_version
            OFFSET 0
        ) c
        ORDER BY w.place, c.position, c.id;
END
$$;
