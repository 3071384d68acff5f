-- Writes a value when the one of before is still there. A row: it was. $1 organization, $2
-- workflow, $3 key, $4 now, $5 the value of before, or null: none, $6 the new one.
WITH changed AS (
    UPDATE workflows.kv k
    SET value = $6::jsonb
    WHERE k.organization_id = $1::text
        AND k.workflow_id = $2::text
        AND k.key = $3::text
        AND $5::jsonb IS NOT NULL
        AND k.value = $5::jsonb
        AND :kv_alive
    RETURNING 1
), made AS (
    INSERT INTO workflows.kv AS k (organization_id, workflow_id, key, value)
    SELECT $1::text, $2::text, $3::text, $6::jsonb
    WHERE $5::jsonb IS NULL
    ON CONFLICT (organization_id, workflow_id, key) DO UPDATE
    SET value = EXCLUDED.value, expires_at = NULL
    WHERE NOT :kv_alive
    RETURNING 1
)
SELECT 1
FROM changed
UNION ALL
SELECT 1
FROM made
