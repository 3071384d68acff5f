-- Disables a user, unless it is the last active owner. $1 user, $2 id of the log line.
WITH r AS (
    UPDATE wharf.user u
    SET status = 'disabled', updated_at = wharf.now(), version = version + 1
    WHERE u.id = $1
        AND u.deleted_at IS NULL
        AND u.status <> 'disabled'
        AND (
            u.role <> 'owner'
            OR EXISTS (
                SELECT 1
                FROM wharf.user o
                WHERE o.organization_id = u.organization_id
                    AND o.id <> u.id
                    AND o.role = 'owner'
                    AND o.status = 'active'
                    AND o.deleted_at IS NULL
            )
        )
    RETURNING organization_id, id
), l AS (
    INSERT INTO wharf.change_log (
        organization_id, id, created_at, resource, resource_id, action, changes, actor_type,
        actor_name
    )
    SELECT organization_id, $2, wharf.now(), 'user', id, 'updated',
        '[{"field": "status", "new": "disabled"}]'::jsonb, 'system', 'command line'
    FROM r
    RETURNING organization_id, created_at, id
)
INSERT INTO wharf.outbox (organization_id, created_at, log_id)
SELECT *
FROM l
RETURNING 1
