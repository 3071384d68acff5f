-- Notes that keys were used, and the devices that they are of seen, at most once a minute for each.
-- A request that changes a device now waits for nobody here, and is not waited for: the next minute
-- writes it again. $1 and $2: organization and id of each key.
WITH used AS (
    UPDATE wharf.api_key AS k
    SET last_used_at = wharf.now()
    FROM (
        SELECT *
        FROM unnest((SELECT $1::text[]), (SELECT $2::text[])) AS u(organization_id, id)
        ORDER BY 2
    ) AS u
    WHERE k.organization_id = u.organization_id
        AND k.id = u.id
        AND (k.last_used_at IS NULL OR k.last_used_at <= wharf.now() - interval '60 seconds')
    RETURNING k.organization_id, k.device_id
), seen AS (
    SELECT d.organization_id, d.id
    FROM wharf.device AS d
    WHERE (d.organization_id, d.id) IN (SELECT organization_id, device_id FROM used)
    FOR UPDATE SKIP LOCKED
)
UPDATE wharf.device AS d
SET last_seen_at = wharf.now()
FROM seen AS s
WHERE d.organization_id = s.organization_id AND d.id = s.id
