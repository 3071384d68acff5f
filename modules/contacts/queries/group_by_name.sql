-- Finds the group with a name, unless the external_id is another group's. $1 organization, $2
-- resource, $3 name, $4 external_id.
SELECT g.id
FROM contacts.contact_group g
WHERE g.organization_id = $1::text
    AND g.resource = $2::text
    AND lower(g.name) = lower(btrim($3::text))
    AND g.deleted_at IS NULL
    AND NOT EXISTS (
        SELECT 1
        FROM contacts.contact_group x
        WHERE x.organization_id = $1::text
            AND lower(x.external_id) = lower($4::text)
            AND x.deleted_at IS NULL
            AND x.id <> g.id
    )
