-- The image that a reading of an item label names is there, and that of a deleted one is gone.
-- rows: inference.item_label
-- Delete the reading, and read the label again; of a deleted one tell who maintains the server.
SELECT t.organization_id, t.id,
    CASE WHEN t.deleted_at IS NULL THEN 'its image ' || t.image_file || ' is not there'
        ELSE 'it is deleted, and names its image ' || t.image_file END
FROM inference.item_label t
LEFT JOIN wharf.file f
    ON f.organization_id = t.organization_id AND f.id = t.image_file AND f.state = 'stored'
WHERE t.image_file IS NOT NULL AND (f.id IS NULL OR t.deleted_at IS NOT NULL)
