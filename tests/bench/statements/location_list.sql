-- The first page of locations with their groups and the number of their layouts; one more row
-- tells that there are others.
SELECT
    t.id, t.name, t.code, t.address, t.email, t.phone, t.active, t.timezone, t.operating_hours,
    t.operating_hours_display, t.holidays, t.service_levels, t.provider_instructions,
    t.kiosk_message, t.pickup_types, t.settings, t.default_layout_id, t.metadata, t.created_at,
    t.updated_at, t.created_by, t.updated_by, l.layouts_count, g.id AS "groups.id",
    g.name AS "groups.name"
FROM (
    SELECT *
    FROM locations.location t
    WHERE t.organization_id = :org AND t.deleted_at IS NULL
    ORDER BY lower(t.name) COLLATE "C", t.id
    LIMIT 21
) t
CROSS JOIN LATERAL (SELECT count(*)::integer AS layouts_count FROM locations.layout x
    WHERE x.organization_id = :org AND x.location_id = t.id AND x.deleted_at IS NULL) l
LEFT JOIN contacts.contact_group g ON g.organization_id = :org AND g.resource = 'location'
    AND g.children @> to_jsonb(t.id) AND g.deleted_at IS NULL
ORDER BY lower(t.name) COLLATE "C", t.id, lower(g.name);
