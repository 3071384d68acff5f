-- Holds what approving an audit changes, and reads the moves of available stock that make of each
-- total what was counted: place of the task, from 0, the layout, the lot (its id, or a number that
-- the count named), the quantity, or what is missing of a deficit, which then can't be booked.
-- A deficit is taken from the lots in the order in which builds take them, then from expired ones;
-- a surplus goes to the newest lot that is there.
CREATE OR REPLACE FUNCTION items.audit_moves(audit text)
    RETURNS TABLE (
        place bigint, item text, location text, layout text, lot text, lot_number text,
        reason_code text, quantity numeric, missing numeric
    )
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    org CONSTANT text := current_setting('wharf.organization', true);
    moment CONSTANT timestamptz := wharf.now();
BEGIN
    PERFORM pg_advisory_xact_lock_shared(hashtextextended('items.layout:' || x.id, 0))
    FROM (
        SELECT DISTINCT t.layout_id AS id
        FROM items.audit_task t
        WHERE t.organization_id = org AND t.audit_id = audit AND t.counted <> t.total
        ORDER BY 1
        OFFSET 0
    ) x;
    PERFORM 1
    FROM items.level v
    WHERE v.organization_id = org AND (v.item_id, v.location_id, v.layout_id) IN (
        SELECT t.item_id, t.location_id, t.layout_id
        FROM items.audit_task t
        WHERE t.organization_id = org AND t.audit_id = audit AND t.counted <> t.total
    )
    ORDER BY v.item_id, v.location_id, v.layout_id, v.lot_id
    FOR UPDATE;
    RETURN QUERY
        SELECT k.n, k.item_id, k.location_id, k.layout_id, m.lot, m.number, k.reason_code_id,
            m.quantity, m.missing
        FROM (
            SELECT row_number() OVER (ORDER BY t.position, t.id) - 1 AS n, t.*,
                t.counted - t.total AS delta
            FROM items.audit_task t
            WHERE t.organization_id = org AND t.audit_id = audit
        ) k
        CROSS JOIN LATERAL (
            SELECT d.lot_id, NULL::text,
                -least(d.available, d.available - d.upto - k.delta), 0::numeric
            FROM (
                SELECT v.lot_id, v.available, sum(v.available) OVER (
                        ORDER BY coalesce(o.expires_at <= moment, false),
                            o.expires_at NULLS LAST, o.created_at NULLS LAST,
                            v.lot_id NULLS LAST
                        ROWS UNBOUNDED PRECEDING
                    ) AS upto
                FROM items.level v
                LEFT JOIN items.lot o ON o.organization_id = org AND o.id = v.lot_id
                WHERE v.organization_id = org AND v.item_id = k.item_id
                    AND v.location_id = k.location_id AND v.layout_id = k.layout_id
                    AND v.available > 0
                    AND (k.lot_number IS NULL OR v.lot_number = k.lot_number)
            ) d
            WHERE k.delta < 0 AND d.upto - d.available < -k.delta
            UNION ALL
            SELECT NULL, NULL, 0, -k.delta - s.there
            FROM (
                SELECT coalesce(sum(v.available), 0) AS there
                FROM items.level v
                WHERE v.organization_id = org AND v.item_id = k.item_id
                    AND v.location_id = k.location_id AND v.layout_id = k.layout_id
                    AND (k.lot_number IS NULL OR v.lot_number = k.lot_number)
            ) s
            WHERE k.delta < 0 AND s.there < -k.delta
            UNION ALL
            SELECT CASE WHEN k.lot_number IS NULL THEN (
                    SELECT v.lot_id
                    FROM items.level v
                    LEFT JOIN items.lot o ON o.organization_id = org AND o.id = v.lot_id
                    WHERE v.organization_id = org AND v.item_id = k.item_id
                        AND v.location_id = k.location_id AND v.layout_id = k.layout_id
                    ORDER BY v.available + v.reserved + v.damaged <> 0 DESC,
                        o.created_at DESC NULLS LAST, v.lot_id DESC NULLS LAST
                    LIMIT 1
                ) END, k.lot_number, k.delta, 0
            WHERE k.delta > 0
        ) m(lot, number, quantity, missing)
        WHERE k.delta <> 0
        ORDER BY k.n, m.quantity;
END
$$;
