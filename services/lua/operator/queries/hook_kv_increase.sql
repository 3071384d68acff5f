-- Adds to the number of a key, which begins with 0, and returns it. No row: it is no whole number,
-- or would be none of 64 bits. $1 organization, $2 key, $3 now, $4 by, $5 milliseconds that it
-- lives, or null.
INSERT INTO wharf.hook_kv AS k (organization_id, key, value, expires_at)
VALUES (
    $1::text, $2::text, to_jsonb($4::bigint),
    $3::timestamptz + $5::bigint * interval '1 millisecond'
)
ON CONFLICT (organization_id, key) DO UPDATE
SET value = CASE
        WHEN :hook_kv_alive THEN to_jsonb((k.value #>> '{}')::numeric + $4::bigint)
        ELSE EXCLUDED.value
    END,
    expires_at = CASE
        WHEN :hook_kv_alive AND $5::bigint IS NULL THEN k.expires_at
        ELSE EXCLUDED.expires_at
    END
WHERE NOT :hook_kv_alive
    OR CASE
        WHEN :hook_kv_whole
            THEN (k.value #>> '{}')::numeric + $4::bigint
                BETWEEN -9223372036854775808 AND 9223372036854775807
    END
RETURNING value
