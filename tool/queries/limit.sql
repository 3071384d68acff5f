-- Gives an organization or an API key limits of its own. $1 organization or key, $2 id of the log
-- line, $3 those that are set, $4 whether what it had of before goes, $5 whether it is an
-- organization.
WITH o AS (
    UPDATE wharf.organization
    SET limits = CASE WHEN $4::boolean THEN '{}'::jsonb ELSE limits END || $3::jsonb,
        updated_at = wharf.now(), version = version + 1
    WHERE $5::boolean AND id = $1 AND deleted_at IS NULL
    RETURNING organization_id, id, limits
), k AS (
    UPDATE wharf.api_key
    SET limits = CASE WHEN $4::boolean THEN '{}'::jsonb ELSE limits END || $3::jsonb,
        updated_at = wharf.now(), version = version + 1
    WHERE NOT $5::boolean AND id = $1 AND deleted_at IS NULL AND revoked_at IS NULL
    RETURNING organization_id, id, limits
), r AS (
    SELECT o.*, 'organization' AS resource
    FROM o
    UNION ALL
    SELECT k.*, 'api_key'
    FROM k
), l AS (
    INSERT INTO wharf.change_log (
        organization_id, id, created_at, resource, resource_id, action, changes, actor_type,
        actor_name
    )
    SELECT organization_id, $2, wharf.now(), resource, id, 'updated',
        jsonb_build_array(jsonb_build_object('field', 'limits', 'new', limits)), 'system',
        'command line'
    FROM r
    RETURNING organization_id, created_at, id
)
INSERT INTO wharf.outbox (organization_id, created_at, log_id)
SELECT *
FROM l
RETURNING 1
