-- Settles which items are low at the locations of some moves (spec 09 section 7.1): items and
-- locations are parallel.
-- Returns those that became low, [{item, location, available, quantity}], or null. The thresholds
-- are locked before the stock is summed, so that of two changes at one place the second one sees
-- what the first one left, and a crossing is told once.
CREATE OR REPLACE FUNCTION items.stock_low(organization text, item_ids text[], location_ids text[])
    RETURNS jsonb
    LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    ret jsonb;
BEGIN
    IF NOT EXISTS (
        SELECT 1
        FROM items.threshold h
        WHERE h.organization_id = organization AND h.item_id = ANY (item_ids)
    ) THEN
        RETURN NULL;
    END IF;
    PERFORM 1
    FROM items.threshold h
    WHERE h.organization_id = organization AND (h.item_id, h.location_id) IN (
        SELECT * FROM unnest(item_ids, location_ids)
    )
    ORDER BY h.item_id, h.location_id
    FOR UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    WITH s AS (
        SELECT h.item_id, h.location_id, h.low, h.quantity, (
            SELECT coalesce(sum(v.available), 0)
            FROM items.level v
            WHERE v.organization_id = organization AND v.item_id = h.item_id
                AND v.location_id = h.location_id
        ) AS available
        FROM items.threshold h
        WHERE h.organization_id = organization AND (h.item_id, h.location_id) IN (
            SELECT * FROM unnest(item_ids, location_ids)
        )
    ), u AS (
        UPDATE items.threshold h
        SET low = s.available < s.quantity
        FROM s
        WHERE h.organization_id = organization AND h.item_id = s.item_id
            AND h.location_id = s.location_id AND s.low <> (s.available < s.quantity)
        RETURNING h.item_id, h.location_id, h.low, s.available, s.quantity
    )
    SELECT jsonb_agg(jsonb_build_object(
        'item', u.item_id, 'location', u.location_id, 'available', trim_scale(u.available),
        'quantity', trim_scale(u.quantity)
    ) ORDER BY u.item_id, u.location_id)
    INTO ret
    FROM u
    WHERE u.low;
    RETURN ret;
END
$$;
