-- Returns the levels of an item as the item shows them, largest on-hand first: those with stock, or
-- all with zero ("true"), at the locations that the caller reaches, or at those of location (ids
-- with commas), at most `most` of them.
CREATE OR REPLACE FUNCTION items.levels_shown(
    organization text, item text, reaches_all boolean, reached text[], location text, zero text,
    most integer
) RETURNS json
    LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN coalesce((
        SELECT json_agg(json_build_object(
            'object', 'level', 'id', x.id, 'location_id', x.location_id, 'layout_id', x.layout_id,
            'layout_name', (
                SELECT y.name
                FROM locations.layout y
                WHERE y.organization_id = organization AND y.id = x.layout_id
            ),
            'lot_id', x.lot_id, 'lot_number', x.lot_number,
            'available_qty', trim_scale(x.available), 'reserved_qty', trim_scale(x.reserved),
            'damaged_qty', trim_scale(x.damaged),
            'on_hand_qty', trim_scale(x.available + x.reserved + x.damaged),
            'manifested_qty', trim_scale(x.manifested),
            'updated_at', to_char(x.updated_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
        ) ORDER BY x.available + x.reserved + x.damaged DESC, x.id)
        FROM (
            SELECT v.*
            FROM items.level v
            WHERE v.organization_id = organization AND v.item_id = item
                AND (reaches_all OR v.location_id = ANY (reached))
                AND (location IS NULL OR v.location_id = ANY (string_to_array(location, ',')))
                AND (lower(zero) IN ('true', '1', 'yes') OR v.available <> 0 OR v.reserved <> 0
                    OR v.damaged <> 0 OR v.manifested <> 0)
            ORDER BY v.available + v.reserved + v.damaged DESC, v.id
            LIMIT most
        ) x
    ), '[]');
END
$$;
