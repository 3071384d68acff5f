-- Returns a tracking update as it is shown; as json, as trackers.leg_shown.
CREATE OR REPLACE FUNCTION shipments.tracking_update_shown(u shipments.tracking_update) RETURNS json
LANGUAGE sql STABLE
AS $$
SELECT json_build_object(
    'object', 'tracking_update', 'id', u.id, 'shipment_id', u.shipment_id, 'status', u.status,
    'comment', u.comment,
    'occurred_at', to_char(u.occurred_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'location_id', u.location_id, 'layout_id', u.layout_id, 'container_id', u.container_id,
    'contact_id', u.contact_id, 'user_id', u.user_id, 'vehicle_id', u.vehicle_id,
    'address', u.address, 'coordinates', u.coordinates, 'images', u.images,
    'provider_status', u.provider_status, 'comment_only', u.comment_only, 'source', u.source,
    'event', u.event, 'hash', u.hash,
    'created_at', to_char(u.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'created_by', u.created_by
)
$$;
