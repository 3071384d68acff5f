-- Makes an API key. $1 organization, $2 id of the log line, $3 key, $4 name, $5 hash of its token,
-- $6 its last characters, $7 mode, $8 scopes, $9 user, $10 locations with commas between, or null:
-- all.
WITH r AS (
    INSERT INTO wharf.api_key (
        organization_id, id, name, last4, mode, scopes, user_id, allow_all_locations, location_ids,
        created_at, updated_at
    )
    SELECT $1, $3, $4, $6, $7, $8::jsonb, $9, $10::text IS NULL,
        COALESCE(
            (SELECT jsonb_agg(DISTINCT l) FROM unnest(string_to_array($10::text, ',')) AS l), '[]'
        ),
        wharf.now(), wharf.now()
    RETURNING organization_id, id, created_at
), t AS (
    INSERT INTO wharf.token (hash, organization_id, kind, id, created_at)
    SELECT $5::bytea, organization_id, 'api_key', id, created_at
    FROM r
), l AS (
    INSERT INTO wharf.change_log (
        organization_id, id, created_at, resource, resource_id, action, actor_type, actor_name
    )
    SELECT organization_id, $2, created_at, 'api_key', id, 'created', 'system', 'command line'
    FROM r
    RETURNING organization_id, created_at, id
)
INSERT INTO wharf.outbox (organization_id, created_at, log_id)
SELECT *
FROM l
RETURNING 1
