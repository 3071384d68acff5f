-- Loads the legs of trackers in their order, of each one more than there may be. $1 trackers, $2
-- organization. Columns: place of the tracker in the array, from 1, id, status, what follows for
-- the tracker (concerns_tracker() of tracker_rules.c names what of a shipment is read here).
SELECT i.place, s.id, s.status,
    jsonb_build_object(
        'tracking_number', s.tracking_number, 'provider_id', s.provider_id, 'provider', s.provider,
        'tracking_url', s.tracking_url,
        'estimated_delivery_at', (extract(epoch FROM s.estimated_delivery_at) * 1000)::bigint,
        'pickup_at', (extract(epoch FROM s.pickup_at) * 1000)::bigint,
        'delivered_at', (extract(epoch FROM s.delivered_at) * 1000)::bigint,
        'coordinates', s.coordinates, 'sender', s.sender, 'recipient', s.recipient,
        'fulfillment_id', s.fulfillment_id, 'tags', s.tags, 'search_text', s.search_text,
        'history_count', s.history_count, 'is_parent', s.is_parent, 'type', s.type,
        'sender_contact_id', s.sender_contact_id, 'recipient_contact_id', s.recipient_contact_id,
        'version_text',
        concat_ws('|', s.id, s.status, s.tracking_number, s.provider_id, s.is_parent)
    )
FROM unnest((SELECT $1::text[])) WITH ORDINALITY AS i(id, place)
CROSS JOIN LATERAL (
    SELECT *
    FROM shipments.shipment x
    WHERE x.organization_id = $2::text AND x.tracker_id = i.id AND x.deleted_at IS NULL
    ORDER BY x.leg, x.created_at, x.id
    LIMIT 26
) s
ORDER BY i.place, s.leg, s.created_at, s.id
