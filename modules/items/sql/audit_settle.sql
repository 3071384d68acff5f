-- Takes tasks of an audit whose layouts were removed to where their stock went: the layout that the
-- ledger says, else the default one. A task of the same item there takes the count in. Where totals
-- still follow the stock, a task leaves the audit when its new layout is none of those that the
-- audit is about: what else lies there was not to be counted.
CREATE OR REPLACE FUNCTION items.audit_settle(audit text) RETURNS void
    LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    org CONSTANT text := current_setting('wharf.organization', true);
    k record;
    other record;
    target text;
    hops integer;
BEGIN
    FOR k IN
        SELECT t.*, l.default_layout_id, a.layout_ids
        FROM items.audit_task t
        JOIN items.audit a ON a.organization_id = org AND a.id = t.audit_id
        JOIN locations.location l ON l.organization_id = org AND l.id = t.location_id
        WHERE t.organization_id = org AND t.audit_id = audit AND NOT EXISTS (
            SELECT 1
            FROM locations.layout y
            WHERE y.organization_id = org AND y.id = t.layout_id AND y.deleted_at IS NULL
        )
        ORDER BY t.position, t.id
    LOOP
        target := k.layout_id;
        hops := 0;
        WHILE hops < 64 AND NOT EXISTS (
            SELECT 1
            FROM locations.layout y
            WHERE y.organization_id = org AND y.id = target AND y.deleted_at IS NULL
        ) LOOP
            target := coalesce((
                SELECT p.layout_id
                FROM items.stock_movement m
                JOIN items.stock_movement p
                    ON p.organization_id = org AND p.group_id = m.group_id
                        AND p.item_id = m.item_id AND p.delta > 0
                WHERE m.organization_id = org AND m.item_id = k.item_id AND m.layout_id = target
                    AND m.reason = 'layout_removed' AND m.delta < 0
                    AND p.location_id = k.location_id
                ORDER BY m.created_at DESC, m.position DESC
                LIMIT 1
            ), k.default_layout_id);
            hops := hops + 1;
        END LOOP;
        SELECT t.* INTO other
        FROM items.audit_task t
        WHERE t.organization_id = org AND t.audit_id = audit AND t.item_id = k.item_id
            AND t.layout_id = target;
        IF other.id IS NOT NULL THEN
            UPDATE items.audit_task t
            SET total = t.total + k.total, counted = t.counted + k.counted,
                total_at_count = t.total_at_count + k.total_at_count,
                counted_by = CASE WHEN k.counted IS NOT NULL THEN t.counted_by END,
                counted_at = CASE WHEN k.counted IS NOT NULL THEN t.counted_at END,
                reason_code_id = coalesce(t.reason_code_id, k.reason_code_id),
                lot_number = CASE WHEN t.lot_number = k.lot_number THEN t.lot_number END,
                version = t.version + 1
            WHERE t.organization_id = org AND t.id = other.id;
        ELSIF k.total IS NOT NULL OR k.layout_ids = '[]' OR EXISTS (
            WITH RECURSIVE up AS (
                SELECT y.id, y.path, 0 AS n
                FROM locations.layout y
                WHERE y.organization_id = org AND y.id = target
                UNION ALL
                SELECT y.id, y.path, up.n + 1
                FROM up
                JOIN locations.layout y ON y.organization_id = org AND y.id = up.path
                WHERE up.n < 64
            )
            SELECT 1 FROM up WHERE k.layout_ids ? up.id
        ) THEN
            UPDATE items.audit_task t
            SET layout_id = target, version = t.version + 1
            WHERE t.organization_id = org AND t.id = k.id;
            CONTINUE;
        END IF;
        DELETE FROM items.audit_task t WHERE t.organization_id = org AND t.id = k.id;
    END LOOP;
END
$$;
