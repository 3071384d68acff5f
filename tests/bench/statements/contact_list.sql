-- The first page of contacts with the names of their groups; one more row tells that there are
-- others.
SELECT
    t.id, t.name, t.email, t.phone, t.address, t.alternate_names, t.alternate_emails,
    t.alternate_phones, t.alternate_addresses, t.id_number, t.external_id, t.is_primary, t.notes,
    t.locations, t.checksum, t.metadata, t.created_at, t.updated_at, t.created_by, t.updated_by,
    g.id AS "groups.id", g.name AS "groups.name", g.location_id AS "groups.location_id"
FROM (
    SELECT *
    FROM contacts.contact t
    WHERE t.organization_id = :org AND t.deleted_at IS NULL
    ORDER BY lower(t.name) COLLATE "C", t.id
    LIMIT 21
) t
LEFT JOIN LATERAL jsonb_array_elements_text(t.groups) WITH ORDINALITY m(id, n) ON t.groups <> '[]'
LEFT JOIN contacts.contact_group g ON g.organization_id = :org AND g.id = m.id
    AND g.deleted_at IS NULL
ORDER BY lower(t.name) COLLATE "C", t.id, m.n;
