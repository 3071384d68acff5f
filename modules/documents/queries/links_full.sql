-- Tells how many links the document has, and which of the resources have so many documents that
-- they take no more. $1 organization, $2 document, $3 types and $4 ids of the resources, in one
-- order, $5 how many documents a resource may have.
SELECT (
    SELECT count(*)
    FROM documents.link l
    WHERE l.organization_id = $1::text AND l.document_id = $2::text
), (
    SELECT coalesce(jsonb_agg(r.place - 1 ORDER BY r.place), '[]')
    FROM unnest((SELECT $3::text[]), (SELECT $4::text[])) WITH ORDINALITY r(type, id, place)
    WHERE (
        SELECT count(*)
        FROM documents.link l
        WHERE l.organization_id = $1::text AND l.resource_id = r.id
            AND l.resource_type = r.type
    ) >= $5::bigint
)
