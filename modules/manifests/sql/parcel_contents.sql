-- Returns the lines of a parcel of a manifest as the module parcels keeps them: sku, gtin and name
-- are those that a request to it sent, so there are none.
CREATE OR REPLACE FUNCTION manifests.parcel_contents(org text, parcel text) RETURNS jsonb
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog AS $$
BEGIN
    RETURN (
        SELECT coalesce(jsonb_agg(jsonb_build_object('id', a.id, 'item_id', a.item_id,
            'sku', NULL, 'gtin', NULL, 'name', NULL, 'requested_qty', trim_scale(a.requested),
            'packed_qty', trim_scale(a.packed), 'received_qty', trim_scale(a.received),
            'defective_qty', trim_scale(a.defective), 'comment', a.comment,
            'special_handling_tags', a.special_handling_tags, 'is_asset', i.is_asset
        ) ORDER BY a.position, a.id), '[]')
        FROM manifests.article a
        JOIN items.item i ON i.organization_id = org AND i.id = a.item_id
        WHERE a.organization_id = org AND a.parcel_id = parcel AND a.deleted_at IS NULL
    );
END
$$;
