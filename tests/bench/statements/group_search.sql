-- The groups that have a word of :words, the most similar ones first, by the indexes of trigrams.
\set n random(1, :word_count)
SELECT
    t.id, t.name, t.resource, t.location_id, t.members, t.external_id, t.metadata, t.created_at,
    t.updated_at, t.created_by, t.updated_by
FROM contacts.contact_group t
WHERE t.organization_id = :org AND t.deleted_at IS NULL
    AND wharf.fold(t.name) LIKE '%' || split_part(:words, ',', :n) || '%'
ORDER BY similarity(lower(t.name), split_part(:words, ',', :n)) DESC, t.id
LIMIT 21;
