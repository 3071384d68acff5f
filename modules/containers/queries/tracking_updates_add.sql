-- Adds tracking updates to the histories of containers. $1 organization, $2 the updates, $3 now, $4
-- actor.
INSERT INTO containers.tracking_update (
    organization_id, id, owner_id, status, comment, occurred_at, location_id, layout_id, user_id,
    vehicle_id, address, coordinates, images, source, position, created_at, created_by
)
SELECT $1::text, x.id, x.owner_id, x.status, x.comment,
    'epoch'::timestamptz + x.occurred_ms * interval '1 millisecond', x.location_id, x.layout_id,
    x.user_id, x.vehicle_id, x.address, x.coordinates, coalesce(x.images, '[]'), 'api',
    x.position, $3::timestamptz, $4::text
FROM jsonb_to_recordset($2::jsonb) AS x(
    id text, owner_id text, status text, comment text, occurred_ms bigint, location_id text,
    layout_id text, user_id text, vehicle_id text, address jsonb, coordinates jsonb, images jsonb,
    position bigint
)
