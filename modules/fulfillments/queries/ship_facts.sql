-- Reads what a shipment takes from its fulfillment. $1 fulfillment, $2 organization, $3 array of
-- parcels, or null: all that are in no shipment. Columns: the facts, location, status.
SELECT json_build_object('sender', f.sender, 'recipient', f.recipient, 'location_id',
    f.location_id, 'order_number', f.order_number, 'purchase_order', f.purchase_order,
    'reference_number', f.reference_number, 'parcels', (
        SELECT coalesce(json_agg(json_build_object('parcel_id', p.id, 'name', p.name, 'type',
            p.type, 'length', trim_scale(p.length), 'width', trim_scale(p.width), 'height',
            trim_scale(p.height), 'weight', trim_scale(p.weight), 'tracking_number',
            p.tracking_number, 'special_handling_tags', p.special_handling_tags)
            ORDER BY p.created_at, p.id), '[]')
        FROM parcels.parcel p
        WHERE p.organization_id = $2::text AND p.fulfillment_id = f.id AND p.shipment_id IS NULL
            AND p.deleted_at IS NULL AND ($3::jsonb IS NULL OR $3::jsonb ? p.id)
    )), f.location_id, f.status
FROM fulfillments.fulfillment f
WHERE f.organization_id = $2::text AND f.id = $1::text AND f.deleted_at IS NULL
