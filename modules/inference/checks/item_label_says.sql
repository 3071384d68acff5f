-- A reading of an item label is completed when it has no error, and else an error.
-- rows: inference.item_label
-- Update the reading with the fields that the label has.
SELECT t.organization_id, t.id, 'is ' || t.status || ', with the errors ' || t.errors::text
FROM inference.item_label t
WHERE t.deleted_at IS NULL AND (t.status = 'completed') <> (t.errors = '[]')
