-- Adds tracking updates to the histories of many shipments, unless the same one is there. $1
-- organization, $2 the updates, $3 now, $4 actor.
INSERT INTO shipments.tracking_update (
    organization_id, id, shipment_id, status, comment, occurred_at, location_id, layout_id,
    container_id, contact_id, user_id, vehicle_id, address, coordinates, images, provider_status,
    comment_only, source, event, hash, position, created_at, created_by, quiet
)
SELECT $1::text, x.id, x.shipment_id, x.status, x.comment,
    'epoch'::timestamptz + x.occurred_ms * interval '1 millisecond', x.location_id, x.layout_id,
    x.container_id, x.contact_id, x.user_id, x.vehicle_id, x.address, x.coordinates,
    coalesce(x.images, '[]'), x.provider_status, x.comment_only, x.source, x.event,
    encode(sha256(convert_to(x.hashed, 'UTF8')), 'hex'), x.position, $3::timestamptz, $4::text,
    x.quiet
FROM jsonb_to_recordset($2::jsonb) AS x(
    id text, shipment_id text, status text, comment text, occurred_ms bigint, location_id text,
    layout_id text, container_id text, contact_id text, user_id text, vehicle_id text,
    address jsonb, coordinates jsonb, images jsonb, provider_status jsonb, comment_only boolean,
    source text, event text, hashed text, position bigint, quiet boolean
)
ON CONFLICT (organization_id, shipment_id, hash) DO NOTHING
