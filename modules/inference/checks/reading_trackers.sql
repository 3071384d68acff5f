-- A reading that has a tracker is completed.
-- rows: inference.shipping_label
-- Update the reading with status completed.
SELECT t.organization_id, t.id, 'has the tracker ' || t.tracker_id || ', and is ' || t.status
FROM inference.shipping_label t
WHERE t.deleted_at IS NULL AND t.tracker_id IS NOT NULL AND t.status <> 'completed'
