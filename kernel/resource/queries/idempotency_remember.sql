-- Keeps the answer of a request for its Idempotency-Key. $1 organization, $2 key, $3 fingerprint of
-- the request, $4 now, $5 status, $6 body, $7 resource, $8 resource_id, $9 location header, $10
-- format of moments, $11 to $13 who may get it again: by locations, areas, users.
INSERT INTO wharf.idempotency (
    organization_id, key, fingerprint, created_at, status, body, resource, resource_id, location,
    datetime_format, reach, areas, audience
)
VALUES (
    $1::text, $2::text, $3::bytea, $4::timestamptz, $5::smallint, $6::text, $7::text, $8::text,
    $9::text, $10::smallint, $11::jsonb, $12::jsonb, $13::jsonb
)
ON CONFLICT (organization_id, key) DO UPDATE
SET fingerprint = EXCLUDED.fingerprint, status = EXCLUDED.status, body = EXCLUDED.body,
    resource = EXCLUDED.resource, resource_id = EXCLUDED.resource_id, location = EXCLUDED.location,
    datetime_format = EXCLUDED.datetime_format, created_at = EXCLUDED.created_at,
    reach = EXCLUDED.reach, areas = EXCLUDED.areas, audience = EXCLUDED.audience
