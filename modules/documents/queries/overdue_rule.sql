-- Locks a document that a retention rule deletes by now, and tells the rule: nothing when it is
-- not due any more, is on hold, or gone. $1 document, $2 organization, $3 now.
SELECT r.id, r.delete_after_days, r.category
FROM documents.document d
CROSS JOIN LATERAL (
    SELECT x.id, x.delete_after_days, x.category
    FROM documents.retention_rule x
    WHERE x.organization_id = d.organization_id AND x.deleted_at IS NULL
        AND (x.category = d.category OR x.category IS NULL)
    ORDER BY x.category NULLS LAST
    LIMIT 1
) r
WHERE d.organization_id = $2::text AND d.id = $1::text AND d.deleted_at IS NULL
    AND NOT d.legal_hold
    AND d.created_at <= $3::timestamptz - r.delete_after_days * interval '24 hours'
FOR UPDATE OF d
