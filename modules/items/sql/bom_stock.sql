-- Reads what is available of items at a location, in the order in which builds take it.
CREATE OR REPLACE FUNCTION items.bom_stock(
    org text, items text[], location text, moment timestamptz
) RETURNS TABLE (id text, total numeric, layouts json)
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog
    SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
BEGIN
    RETURN QUERY
        SELECT i.id, s.total, s.layouts
        FROM unnest(bom_stock.items) i(id)
        CROSS JOIN LATERAL (
            SELECT coalesce(sum(v.available), 0) AS total, coalesce(
                json_agg(
                    json_build_object('layout_id', v.layout_id, 'layout_name', v.name,
                        'lot_number', v.lot_number, 'available_qty', trim_scale(v.available))
                    ORDER BY v.place
                ) FILTER (WHERE v.place <= 50), '[]') AS layouts
            FROM (
                SELECT k.available, k.layout_id, y.name, t.lot_number, row_number() OVER (
                    ORDER BY t.expires_at NULLS LAST, t.created_at, k.available DESC, k.layout_id
                ) AS place
                FROM items.level k
                LEFT JOIN items.lot t ON t.organization_id = k.organization_id AND t.id = k.lot_id
                LEFT JOIN locations.layout y
                    ON y.organization_id = k.organization_id AND y.id = k.layout_id
                WHERE k.organization_id = bom_stock.org AND k.item_id = i.id
                    AND k.location_id = bom_stock.location AND k.available > 0
                    AND (t.expires_at IS NULL OR t.expires_at > bom_stock.moment)
            ) v
        ) s;
END
$$;
