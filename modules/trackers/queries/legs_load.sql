-- Loads the legs of a tracker in their order, one more than there may be. $1 tracker, $2
-- organization. Columns: id, status, what follows for the tracker.
SELECT s.id, s.status,
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
FROM shipments.shipment s
WHERE s.organization_id = $2::text AND s.tracker_id = $1::text AND s.deleted_at IS NULL
ORDER BY s.leg, s.created_at, s.id
LIMIT 26
