-- Finds the row that a token that still holds stands for, in an organization that is active. $1
-- hash of the token, $2 its kind, $3 now. Columns: organization, id, how long its events are kept,
-- the live organization.
SELECT x.organization_id, x.id,
    o.settings #>> '{events,expire_after}',
    COALESCE(o.live_organization_id, o.id)
FROM wharf.token x
JOIN wharf.organization o ON o.organization_id = x.organization_id AND o.id = x.organization_id
WHERE x.hash = $1::bytea
    AND x.kind = $2
    AND x.expires_at > $3::timestamptz
    AND o.active
    AND o.deleted_at IS NULL
