-- Returns the parcels of a fulfillment as it shows them.
CREATE OR REPLACE FUNCTION fulfillments.parcels_shown(organization text, fulfillment text)
    RETURNS json LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN coalesce((
        SELECT json_agg(json_build_object('id', p.id, 'name', p.name, 'type', p.type,
            'length', trim_scale(p.length), 'width', trim_scale(p.width),
            'height', trim_scale(p.height), 'weight', trim_scale(p.weight),
            'tracking_number', p.tracking_number, 'shipment_id', p.shipment_id,
            'contents', (
                SELECT coalesce(json_agg(json_build_object('article_id', c.article_id,
                    'lot_number', l.lot_number, 'quantity', trim_scale(c.quantity))
                    ORDER BY a.position, a.id, l.lot_number), '[]')
                FROM fulfillments.content c
                JOIN fulfillments.article a
                    ON a.organization_id = organization AND a.id = c.article_id
                LEFT JOIN items.lot l ON l.organization_id = organization AND l.id = c.lot_id
                WHERE c.organization_id = organization AND c.fulfillment_id = fulfillment
                    AND c.parcel_id = p.id AND c.quantity > 0
            )) ORDER BY p.created_at, p.id)
        FROM parcels.parcel p
        WHERE p.organization_id = organization AND p.fulfillment_id = fulfillment
            AND p.deleted_at IS NULL
    ), '[]');
END
$$;
