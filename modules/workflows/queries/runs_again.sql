-- Lists runs that may be done again and were not yet, the oldest first; none of a workflow that was
-- deleted meanwhile. $1 organization, $2 states, $3 workflow or '', $4 type of trigger or '', $5
-- and $6 from when on and until before when or null, $7 only those behind this run, or '', $8 how
-- many.
SELECT r.id
FROM workflows.run r
WHERE r.organization_id = $1::text
    AND r.deleted_at IS NULL
    AND r.retried_as IS NULL
    AND EXISTS (
        SELECT FROM workflows.workflow w
        WHERE w.organization_id = $1::text AND w.id = r.workflow_id AND w.deleted_at IS NULL
    )
    AND r.status IN ('failed', 'rejected', 'canceled', 'skipped')
    AND r.status = ANY (($2::text[])::text[])
    AND ($3::text = '' OR r.workflow_id = $3::text)
    AND ($4::text = '' OR r.trigger_type = $4::text)
    AND r.created_at >= COALESCE($5::timestamptz, '-infinity')
    AND r.created_at < COALESCE($6::timestamptz, 'infinity')
    AND (
        $7::text = ''
        OR (r.created_at, r.id) > (
            SELECT p.created_at, p.id
            FROM workflows.run p
            WHERE p.organization_id = $1::text AND p.id = $7::text
        )
    )
ORDER BY r.created_at, r.id
LIMIT $8::bigint
