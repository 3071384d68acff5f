-- A live organization and its test organization name each other.
-- rows: wharf.organization
-- Test keys of the live organization reach no data, or those of another. Set live_organization_id
-- and test_organization_id of wharf.organization to what a backup says.
SELECT o.id, o.id,
    CASE WHEN o.mode = 'live'
        THEN 'its test organization ' || o.test_organization_id || ' does not name it'
        ELSE 'its live organization ' || o.live_organization_id || ' does not name it'
    END
FROM wharf.organization o
LEFT JOIN wharf.organization p ON p.id = coalesce(o.test_organization_id, o.live_organization_id)
WHERE (o.test_organization_id IS NOT NULL AND p.live_organization_id IS DISTINCT FROM o.id)
    OR (o.live_organization_id IS NOT NULL AND p.test_organization_id IS DISTINCT FROM o.id)
