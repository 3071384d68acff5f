-- Revokes an API key. $1 key, $2 id of the log line.
WITH r AS (
    UPDATE wharf.api_key
    SET revoked_at = wharf.now(), updated_at = wharf.now(), version = version + 1
    WHERE id = $1 AND revoked_at IS NULL
    RETURNING organization_id, id
), l AS (
    INSERT INTO wharf.change_log (
        organization_id, id, created_at, resource, resource_id, action, changes, actor_type,
        actor_name
    )
    SELECT organization_id, $2, wharf.now(), 'api_key', id, 'updated',
        '[{"field": "status", "new": "revoked"}]'::jsonb, 'system', 'command line'
    FROM r
    RETURNING organization_id, created_at, id
)
INSERT INTO wharf.outbox (organization_id, created_at, log_id)
SELECT *
FROM l
RETURNING 1
