-- Reads tasks of an audit that a request names, by id, with what their counts have to keep to.
-- $1 audit, $2 organization, $3 ids of tasks.
SELECT k.id, coalesce(i.is_asset, false), coalesce(i.lot_tracking, 'none'), k.counted
FROM items.audit_task k
LEFT JOIN items.item i ON i.organization_id = k.organization_id AND i.id = k.item_id
WHERE k.organization_id = $2::text AND k.audit_id = $1::text
    AND k.id = ANY ((SELECT $3::text[])::text[])
ORDER BY k.id
