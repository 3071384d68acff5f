-- Every API key has the hash that it is found by, and every such hash has its key.
-- rows: wharf.api_key
-- A key without its hash opens nothing: make its holder a new one (`wharf key create`), and revoke
-- it. A hash without its key is harmless, and may be deleted from wharf.token.
SELECT k.organization_id, k.id, 'has no hash in wharf.token'
FROM wharf.api_key k
WHERE k.deleted_at IS NULL
    AND NOT EXISTS (
        SELECT FROM wharf.token t
        WHERE t.kind = 'api_key' AND t.organization_id = k.organization_id AND t.id = k.id
    )
UNION ALL
SELECT t.organization_id, t.id, 'has a hash in wharf.token, and is no key'
FROM wharf.token t
WHERE t.kind = 'api_key'
    AND NOT EXISTS (
        SELECT FROM wharf.api_key k
        WHERE k.organization_id = t.organization_id AND k.id = t.id
    )
