-- Makes the templates that come with the server and are not there yet, each with its only version.
-- $1 organization, $2 ids, at least as many as templates, $3 the templates as JSON (type, name,
-- dimensions), $4 microseconds of now.
WITH made AS (
    INSERT INTO templates.template (
        organization_id, id, name, type, template_data, status, builtin, dimensions, created_at,
        updated_at
    )
    SELECT $1::text, i.id, s.one ->> 'name', s.one ->> 'type',
        jsonb_build_object('type', s.one ->> 'type'),
        CASE WHEN EXISTS (
            SELECT FROM templates.template d
            WHERE d.organization_id = $1::text AND d.type = s.one ->> 'type'
                AND d.location_id IS NULL AND d.status = 'default' AND d.deleted_at IS NULL
        ) THEN 'custom' ELSE 'default' END,
        true, s.one ->> 'dimensions', t.now, t.now
    FROM jsonb_array_elements($3::jsonb) WITH ORDINALITY s(one, place)
    JOIN unnest((SELECT $2::text[])) WITH ORDINALITY i(id, place) ON i.place = s.place,
        (SELECT to_timestamp($4::bigint / 1000 / 1000.0) AS now) t
    ON CONFLICT DO NOTHING
    RETURNING organization_id, id, number, template_data, created_at
)
INSERT INTO templates.template_version (
    organization_id, template_id, number, template_data, created_at
)
SELECT organization_id, id, number, template_data, created_at FROM made
