-- Adds a tracking update to the history of a container. $1 organization, $2 its id, $3 container,
-- $4 status, $5 comment, $6 when it happened, $7 location, $8 layout, $9 user, $10 vehicle, $11
-- address, $12 coordinates, $13 images, $14 source, $15 position in the history, $16 now, $17
-- actor.
INSERT INTO containers.tracking_update (
    organization_id, id, owner_id, status, comment, occurred_at, location_id, layout_id, user_id,
    vehicle_id, address, coordinates, images, source, position, created_at, created_by
)
VALUES (
    $1::text, $2::text, $3::text, $4::text, $5::text, $6::timestamptz, $7::text, $8::text, $9::text,
    $10::text, $11::jsonb, $12::jsonb, coalesce($13::jsonb, '[]'), $14::text, $15::bigint,
    $16::timestamptz, $17::text
)
