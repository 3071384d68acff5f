-- Adds to the number of a key, which begins with 0, and returns it. No row: it is no whole number,
-- or would be none of 64 bits. $1 organization, $2 workflow, $3 key, $4 now, $5 by, $6 milliseconds
-- that it lives, or null.
INSERT INTO workflows.kv AS k (organization_id, workflow_id, key, value, expires_at)
VALUES (
    $1::text, $2::text, $3::text, to_jsonb($5::bigint),
    $4::timestamptz + $6::bigint * interval '1 millisecond'
)
ON CONFLICT (organization_id, workflow_id, key) DO UPDATE
SET value = CASE
        WHEN :kv_alive THEN to_jsonb((k.value #>> '{}')::numeric + $5::bigint)
        ELSE EXCLUDED.value
    END,
    expires_at = CASE
        WHEN :kv_alive AND $6::bigint IS NULL THEN k.expires_at
        ELSE EXCLUDED.expires_at
    END
WHERE NOT :kv_alive
    OR CASE
        WHEN :kv_whole
            THEN (k.value #>> '{}')::numeric + $5::bigint
                BETWEEN -9223372036854775808 AND 9223372036854775807
    END
RETURNING value
