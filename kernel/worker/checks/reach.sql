-- Rights by location of users, devices and keys are those that their rows say.
-- rows: wharf.principal_location
-- Somebody reaches more or fewer locations than he is told to. Write the row anew: POST
-- /v1/users/:user, /v1/devices/:device or /v1/api-keys/:key with its locations.
WITH said AS (
    SELECT organization_id, 'user' AS type, id, locations AS list FROM wharf.user
    UNION ALL
    SELECT organization_id, 'device', id, locations FROM wharf.device
    UNION ALL
    SELECT organization_id, 'api_key', id, location_ids FROM wharf.api_key
), wanted AS (
    SELECT s.organization_id, s.type, s.id, x.location
    FROM said s
    CROSS JOIN LATERAL jsonb_array_elements_text(s.list) x(location)
)
SELECT coalesce(w.organization_id, l.organization_id), coalesce(w.id, l.principal_id),
    CASE WHEN w.id IS NULL
        THEN 'reaches ' || l.location_id || ', which its row does not say'
        ELSE 'does not reach ' || w.location || ', which its row says'
    END
FROM wanted w
FULL JOIN wharf.principal_location l
    ON l.organization_id = w.organization_id
        AND l.principal_type = w.type
        AND l.principal_id = w.id
        AND l.location_id = w.location
WHERE w.id IS NULL OR l.principal_id IS NULL
