-- Returns the lines of a manifest as it shows them, in their order: those of a parcel, or those
-- that are in none. named: who asks reads items, and so their names.
CREATE OR REPLACE FUNCTION manifests.articles_shown(
    org text, manifest text, parcel text, asked text, named boolean
) RETURNS json
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog AS $$
BEGIN
    RETURN (
        SELECT coalesce(json_agg(json_build_object(
            'object', 'manifest_article', 'id', a.id, 'item_id', a.item_id,
            'name', CASE WHEN named THEN i.name END, 'sku', CASE WHEN named THEN i.sku END,
            'is_asset', i.is_asset,
            'requested_qty', CASE WHEN NOT h.hidden THEN trim_scale(a.requested) END,
            'packed_qty', CASE WHEN NOT h.hidden THEN trim_scale(a.packed) END,
            'received_qty', trim_scale(a.received), 'defective_qty', trim_scale(a.defective),
            'remaining_qty', CASE WHEN NOT h.hidden
                THEN trim_scale(greatest(0, a.packed - a.received)) END,
            'item_transactional_unit_id', a.unit_id, 'layout_id', a.layout_id,
            'lot_number', a.lot_number,
            'expires_at', to_char(a.expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
            'serial_numbers', a.serial_numbers, 'reason_code_id', a.reason_code_id,
            'parcel_id', a.parcel_id, 'unexpected', a.unexpected, 'attributes', a.attributes,
            'special_handling_tags', a.special_handling_tags, 'value', a.value,
            'harmonized_code', a.harmonized_code, 'origin_country', a.origin_country,
            'comment', a.comment
        ) ORDER BY a.position, a.id), '[]')
        FROM manifests.article a
        CROSS JOIN (SELECT manifests.hidden(org, manifest, asked) AS hidden OFFSET 0) h
        LEFT JOIN items.item i ON i.organization_id = org AND i.id = a.item_id
        WHERE a.organization_id = org AND a.manifest_id = manifest AND a.deleted_at IS NULL
            AND a.parcel_id IS NOT DISTINCT FROM parcel
    );
END
$$;
