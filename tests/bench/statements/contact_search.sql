-- The contacts that have a word of :words, the most similar ones first, by the indexes of
-- trigrams.
\set n random(1, :word_count)
SELECT
    t.id, t.name, t.email, t.phone, t.address, t.alternate_names, t.alternate_emails,
    t.alternate_phones, t.alternate_addresses, t.id_number, t.external_id, t.is_primary, t.notes,
    t.locations, t.checksum, t.metadata, t.created_at, t.updated_at, t.created_by, t.updated_by,
    g.id AS "groups.id", g.name AS "groups.name", g.location_id AS "groups.location_id"
FROM (
    SELECT *, similarity(lower(t.name), split_part(:words, ',', :n)) AS score
    FROM contacts.contact t
    WHERE t.organization_id = :org AND t.deleted_at IS NULL
        AND t.search_text LIKE '%' || split_part(:words, ',', :n) || '%'
    ORDER BY score DESC, t.id
    LIMIT 21
) t
LEFT JOIN LATERAL jsonb_array_elements_text(t.groups) WITH ORDINALITY m(id, n) ON t.groups <> '[]'
LEFT JOIN contacts.contact_group g ON g.organization_id = :org AND g.id = m.id
    AND g.deleted_at IS NULL
ORDER BY t.score DESC, t.id, m.n;
