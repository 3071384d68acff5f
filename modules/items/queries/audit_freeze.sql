-- Keeps what is on hand now as the totals of an audit. $1 audit, $2 organization.
UPDATE items.audit_task k
SET total = items.on_hand(k.organization_id, k.item_id, k.location_id, k.layout_id),
    version = k.version + 1
WHERE k.organization_id = $2::text AND k.audit_id = $1::text AND k.total IS NULL
