-- Finds up to 64 objects of files that are there: the ones that were stored or read last, and those
-- behind the hash $1.
SELECT DISTINCT hash, size
FROM (
    (
        SELECT hash, size
        FROM wharf.file
        WHERE state = 'stored' AND (expires_at IS NULL OR expires_at > wharf.now())
        ORDER BY coalesce(read_at, stored_at) DESC, hash DESC
        LIMIT 32
    )
    UNION ALL
    (
        SELECT hash, size
        FROM wharf.file
        WHERE state = 'stored'
            AND hash > $1
            AND (expires_at IS NULL OR expires_at > wharf.now())
        ORDER BY hash
        LIMIT 32
    )
) AS picked
