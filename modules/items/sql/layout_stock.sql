-- Reads the levels with stock in layouts that are being removed, locked: no stock comes into one of
-- these layouts any more (items.stock_places), and none of what is there changes. The items come
-- before the layouts, as everywhere; those that came in between are locked behind them.
CREATE OR REPLACE FUNCTION items.layout_stock(layouts text[]) RETURNS SETOF items.level
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    org CONSTANT text := current_setting('wharf.organization', true);
BEGIN
    PERFORM 1
    FROM items.item t
    WHERE t.organization_id = org AND t.id IN (
        SELECT v.item_id
        FROM items.level v
        WHERE v.organization_id = org AND v.layout_id = ANY (layouts)
    )
    ORDER BY t.id
    FOR SHARE;
    PERFORM pg_advisory_xact_lock(hashtextextended('items.layout:' || x.id, 0))
    FROM (SELECT DISTINCT y AS id FROM unnest(layouts) y ORDER BY 1 OFFSET 0) x;
    PERFORM 1
    FROM items.item t
    WHERE t.organization_id = org AND t.id IN (
        SELECT v.item_id
        FROM items.level v
        WHERE v.organization_id = org AND v.layout_id = ANY (layouts)
    )
    ORDER BY t.id
    FOR SHARE;
    RETURN QUERY
        SELECT v.*
        FROM items.level v
        WHERE v.organization_id = org AND v.layout_id = ANY (layouts)
            AND (v.available <> 0 OR v.reserved <> 0 OR v.damaged <> 0 OR v.manifested <> 0)
        ORDER BY v.item_id, v.location_id, v.layout_id, v.lot_id
        FOR UPDATE;
END
$$;
