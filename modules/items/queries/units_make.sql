-- Makes the units that come with the server. $1 organization, $2 ids, at least as many as units,
-- $3 the units as JSON, $4 microseconds of now.
INSERT INTO items.uom (
    organization_id, id, code, name, uom_category, factor, unece_code, is_system, created_at,
    updated_at
)
SELECT $1::text, i.id, u.unit ->> 'code', u.unit ->> 'name', u.unit ->> 'uom_category',
    (u.unit ->> 'factor')::numeric, u.unit ->> 'unece_code', true, t.now, t.now
FROM jsonb_array_elements($3::jsonb) WITH ORDINALITY u(unit, place)
JOIN unnest((SELECT $2::text[])) WITH ORDINALITY i(id, place) ON i.place = u.place,
    (SELECT to_timestamp($4::bigint / 1000 / 1000.0) AS now) t
ON CONFLICT DO NOTHING
