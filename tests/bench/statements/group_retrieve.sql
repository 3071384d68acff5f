-- One group, by its id.
\set n random(1, :rows)
SELECT
    t.id, t.name, t.resource, t.location_id, t.members, t.external_id, t.metadata, t.created_at,
    t.updated_at, t.created_by, t.updated_by
FROM contacts.contact_group t
WHERE t.organization_id = :org AND t.id = 'grp_' || lpad(:n::text, 22, '0')
    AND t.deleted_at IS NULL;
