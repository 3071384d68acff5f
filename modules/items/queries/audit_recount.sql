-- Opens an audit again: totals follow the stock, counts that differ are taken away. $1 audit,
-- $2 organization.
UPDATE items.audit_task k
SET counted = CASE WHEN k.counted = k.total THEN k.counted END,
    counted_by = CASE WHEN k.counted = k.total THEN k.counted_by END,
    counted_at = CASE WHEN k.counted = k.total THEN k.counted_at END,
    total_at_count = CASE WHEN k.counted = k.total THEN k.total_at_count END,
    total = NULL, version = k.version + 1
WHERE k.organization_id = $2::text AND k.audit_id = $1::text
