-- The first page of groups; one more row tells that there are others.
SELECT
    t.id, t.name, t.resource, t.location_id, t.members, t.external_id, t.metadata, t.created_at,
    t.updated_at, t.created_by, t.updated_by
FROM contacts.contact_group t
WHERE t.organization_id = :org AND t.deleted_at IS NULL
ORDER BY lower(t.name) COLLATE "C", t.id
LIMIT 21;
