-- Reads the tasks of an audit as they are shown, the first `most` of them (null: all).
CREATE OR REPLACE FUNCTION items.audit_rows(organization text, audit text, most integer)
    RETURNS TABLE (place bigint, item text, layout text, task json)
    LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN QUERY
        SELECT row_number() OVER (ORDER BY t.position, t.id), t.item_id, t.layout_id,
            json_build_object(
                'object', 'audit_task', 'id', t.id, 'audit_id', t.audit_id, 'item_id', t.item_id,
                'item_name', i.name, 'sku', i.sku, 'base_uom', i.base_uom,
                'layout_id', t.layout_id, 'layout_name', y.nested_name,
                'total_qty', trim_scale(v.total), 'counted_qty', trim_scale(t.counted),
                'discrepancy', trim_scale(abs(t.counted - v.total)),
                'total_at_count', trim_scale(t.total_at_count),
                'reason_code_id', t.reason_code_id, 'lot_number', t.lot_number,
                'counted_by', t.counted_by,
                'counted_at', to_char(t.counted_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
                'position', t.position
            )
        FROM (
            SELECT t.*
            FROM items.audit_task t
            WHERE t.organization_id = organization AND t.audit_id = audit
            ORDER BY t.position, t.id
            LIMIT most
        ) t
        CROSS JOIN LATERAL (
            SELECT CASE WHEN t.total IS NULL THEN (
                SELECT coalesce(sum(v.available + v.reserved + v.damaged), 0)
                FROM items.level v
                WHERE v.organization_id = organization AND v.item_id = t.item_id
                    AND v.location_id = t.location_id AND v.layout_id = t.layout_id
            ) ELSE t.total END AS total
            OFFSET 0
        ) v
        LEFT JOIN items.item i ON i.organization_id = organization AND i.id = t.item_id
        LEFT JOIN locations.layout y ON y.organization_id = organization AND y.id = t.layout_id;
END
$$;

-- Returns the tasks of an audit as an array.
CREATE OR REPLACE FUNCTION items.audit_tasks(organization text, audit text, most integer)
    RETURNS json
    LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN coalesce((
        SELECT json_agg(r.task ORDER BY r.place) FROM items.audit_rows(organization, audit, most) r
    ), '[]');
END
$$;

-- Returns the tasks of an audit as an object: id of an item, or of a layout, to its tasks.
CREATE OR REPLACE FUNCTION items.audit_grouped(
    organization text, audit text, of_items boolean, most integer
) RETURNS json
    LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN coalesce((
        SELECT json_object_agg(g.key, g.tasks ORDER BY g.first)
        FROM (
            SELECT CASE WHEN of_items THEN r.item ELSE r.layout END AS key,
                json_agg(r.task ORDER BY r.place) AS tasks, min(r.place) AS first
            FROM items.audit_rows(organization, audit, most) r
            GROUP BY 1
        ) g
    ), '{}');
END
$$;
