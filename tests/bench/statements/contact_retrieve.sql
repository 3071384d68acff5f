-- One contact with the names of its groups, by its id. Children come as rows of a join: who reads
-- them puts them together.
\set n random(1, :rows)
SELECT
    t.id, t.name, t.email, t.phone, t.address, t.alternate_names, t.alternate_emails,
    t.alternate_phones, t.alternate_addresses, t.id_number, t.external_id, t.is_primary, t.notes,
    t.locations, t.checksum, t.metadata, t.created_at, t.updated_at, t.created_by, t.updated_by,
    g.id AS "groups.id", g.name AS "groups.name", g.location_id AS "groups.location_id"
FROM contacts.contact t
LEFT JOIN LATERAL jsonb_array_elements_text(t.groups) WITH ORDINALITY m(id, n) ON t.groups <> '[]'
LEFT JOIN contacts.contact_group g ON g.organization_id = :org AND g.id = m.id
    AND g.deleted_at IS NULL
WHERE t.organization_id = :org AND t.id = 'ctct_' || lpad(:n::text, 22, '0')
    AND t.deleted_at IS NULL
ORDER BY m.n;
