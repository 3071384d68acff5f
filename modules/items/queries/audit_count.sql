-- Writes what a request says of tasks. $1 audit, $2 organization, $3 [{id, has_count, counted,
-- has_reason, reason, has_lot, lot}], $4 now, $5 who.
UPDATE items.audit_task k
SET counted = CASE WHEN v.has_count THEN v.counted ELSE k.counted END,
    total_at_count = CASE WHEN NOT v.has_count THEN k.total_at_count
        WHEN v.counted IS NOT NULL
        THEN items.on_hand($2::text, k.item_id, k.location_id, k.layout_id) END,
    counted_by = CASE WHEN NOT v.has_count THEN k.counted_by
        WHEN v.counted IS NOT NULL THEN $5::text END,
    counted_at = CASE WHEN NOT v.has_count THEN k.counted_at
        WHEN v.counted IS NOT NULL THEN $4::timestamptz END,
    reason_code_id = CASE WHEN v.has_reason THEN v.reason ELSE k.reason_code_id END,
    lot_number = CASE WHEN v.has_lot THEN v.lot ELSE k.lot_number END,
    updated_at = $4::timestamptz, updated_by = $5::text, version = k.version + 1
FROM jsonb_to_recordset($3::jsonb) v(
    id text, has_count boolean, counted numeric, has_reason boolean, reason text,
    has_lot boolean, lot text
)
WHERE k.organization_id = $2::text AND k.audit_id = $1::text AND k.id = v.id
