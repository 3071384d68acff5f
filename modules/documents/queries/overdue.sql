-- Finds documents that a retention rule deletes by now, oldest first. Goes from category to
-- category by the index document_retention, so what is not due costs nothing. CASE, as row-level
-- security keeps coalesce() from an index. $1 organization, $2 now, $3 how many at most.
WITH RECURSIVE category (name) AS (
    (
        SELECT (CASE WHEN d.category IS NULL THEN '' ELSE d.category END) COLLATE "C"
        FROM documents.document d
        WHERE d.organization_id = $1::text AND d.deleted_at IS NULL AND NOT d.legal_hold
        ORDER BY (CASE WHEN d.category IS NULL THEN '' ELSE d.category END) COLLATE "C"
        LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT (CASE WHEN d.category IS NULL THEN '' ELSE d.category END) COLLATE "C"
        FROM documents.document d
        WHERE d.organization_id = $1::text AND d.deleted_at IS NULL AND NOT d.legal_hold
            AND (CASE WHEN d.category IS NULL THEN '' ELSE d.category END) COLLATE "C" > c.name
        ORDER BY (CASE WHEN d.category IS NULL THEN '' ELSE d.category END) COLLATE "C"
        LIMIT 1
    )
    FROM category c
    WHERE c.name IS NOT NULL
), due (name, before) AS (
    SELECT c.name, (SELECT $2::timestamptz) - r.delete_after_days * interval '24 hours'
    FROM category c
    CROSS JOIN LATERAL (
        SELECT x.delete_after_days
        FROM documents.retention_rule x
        WHERE x.organization_id = $1::text AND x.deleted_at IS NULL
            AND (x.category = c.name OR x.category IS NULL)
        ORDER BY x.category NULLS LAST
        LIMIT 1
    ) r
    WHERE c.name IS NOT NULL
)
SELECT f.id
FROM due c
CROSS JOIN LATERAL (
    SELECT d.id, d.created_at
    FROM documents.document d
    WHERE d.organization_id = $1::text AND d.deleted_at IS NULL AND NOT d.legal_hold
        AND (CASE WHEN d.category IS NULL THEN '' ELSE d.category END) COLLATE "C" = c.name
        AND d.created_at <= c.before
    ORDER BY d.created_at
    LIMIT $3::bigint
) f
ORDER BY f.created_at
LIMIT $3::bigint
