-- The locations that have a word of :words, the most similar ones first, by the indexes of
-- trigrams.
\set n random(1, :word_count)
SELECT
    t.id, t.name, t.code, t.address, t.email, t.phone, t.active, t.timezone, t.operating_hours,
    t.operating_hours_display, t.holidays, t.service_levels, t.provider_instructions,
    t.kiosk_message, t.pickup_types, t.settings, t.default_layout_id, t.metadata, t.created_at,
    t.updated_at, t.created_by, t.updated_by, l.layouts_count, g.id AS "groups.id",
    g.name AS "groups.name"
FROM (
    SELECT *, similarity(lower(t.name), split_part(:words, ',', :n)) AS score
    FROM locations.location t
    WHERE t.organization_id = :org AND t.deleted_at IS NULL
        AND (wharf.fold(t.name) LIKE '%' || split_part(:words, ',', :n) || '%'
        OR wharf.fold(t.code) LIKE '%' || split_part(:words, ',', :n) || '%'
        OR wharf.fold(t.formatted_address) LIKE '%' || split_part(:words, ',', :n) || '%'
        OR wharf.fold(t.email) LIKE '%' || split_part(:words, ',', :n) || '%')
    ORDER BY score DESC, t.id
    LIMIT 21
) t
CROSS JOIN LATERAL (SELECT count(*)::integer AS layouts_count FROM locations.layout x
    WHERE x.organization_id = :org AND x.location_id = t.id AND x.deleted_at IS NULL) l
LEFT JOIN contacts.contact_group g ON g.organization_id = :org AND g.resource = 'location'
    AND g.children @> to_jsonb(t.id) AND g.deleted_at IS NULL
ORDER BY t.score DESC, t.id, lower(g.name);
