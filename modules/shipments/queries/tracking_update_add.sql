-- Adds a tracking update to the history of a shipment, unless the same one is there. $1
-- organization, $2 its id, $3 shipment, $4 status, $5 comment, $6 when it happened, $7 location, $8
-- layout, $9 container, $10 contact, $11 user, $12 vehicle, $13 address, $14 coordinates, $15
-- images, $16 status of the provider, $17 has it a comment only, $18 source, $19 event, $20 what is
-- hashed, $21 position in the history, $22 now, $23 actor, $24 nobody is told.
INSERT INTO shipments.tracking_update (
    organization_id, id, shipment_id, status, comment, occurred_at, location_id, layout_id,
    container_id, contact_id, user_id, vehicle_id, address, coordinates, images, provider_status,
    comment_only, source, event, hash, position, created_at, created_by, quiet
)
VALUES (
    $1::text, $2::text, $3::text, $4::text, $5::text, $6::timestamptz, $7::text, $8::text, $9::text,
    $10::text, $11::text, $12::text, $13::jsonb, $14::jsonb, coalesce($15::jsonb, '[]'), $16::jsonb,
    $17::boolean, $18::text, $19::text, encode(sha256(convert_to($20::text, 'UTF8')), 'hex'),
    $21::bigint, $22::timestamptz, $23::text, $24::boolean
)
ON CONFLICT (organization_id, shipment_id, hash) DO NOTHING
