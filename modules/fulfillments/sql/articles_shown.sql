-- Returns the articles of a fulfillment as they are shown.
CREATE OR REPLACE FUNCTION fulfillments.articles_shown(organization text, fulfillment text)
    RETURNS json LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN coalesce((
        SELECT json_agg(json_build_object('id', a.id, 'item_id', a.item_id, 'sku', a.sku,
            'gtin', a.gtin, 'name', a.name, 'requested_qty', trim_scale(a.requested),
            'reserved_qty', trim_scale(a.reserved), 'backordered_qty', trim_scale(a.waiting),
            'manifested_qty', trim_scale(coalesce((
                SELECT sum(c.quantity)
                FROM fulfillments.content c
                JOIN parcels.parcel p ON p.organization_id = organization AND p.id = c.parcel_id
                WHERE c.organization_id = organization AND c.fulfillment_id = fulfillment
                    AND c.article_id = a.id AND p.shipment_id IS NOT NULL
                    AND p.deleted_at IS NULL
            ), 0)),
            'picked_qty', trim_scale(a.picked), 'packed_qty', trim_scale(a.packed),
            'shipped_qty', trim_scale(a.shipped), 'received_qty', trim_scale(a.received),
            'defective_qty', trim_scale(a.defective), 'layout_id', a.layout_id,
            'lot_number', a.lot_number, 'comment', a.comment, 'attributes', a.attributes,
            'special_handling_tags', a.special_handling_tags, 'is_asset', a.is_asset,
            'assets', (
                SELECT coalesce(json_agg(json_build_object('id', p.asset_id, 'serial_number',
                    p.serial_number, 'manufacturer_number', NULL)
                    ORDER BY p.serial_number, p.asset_id), '[]')
                FROM fulfillments.piece p
                WHERE p.organization_id = organization AND p.article_id = a.id
            ),
            'value', a.value, 'harmonized_code', a.harmonized_code,
            'origin_country', a.origin_country) ORDER BY a.position, a.id)
        FROM fulfillments.article a
        WHERE a.organization_id = organization AND a.fulfillment_id = fulfillment
    ), '[]');
END
$$;
