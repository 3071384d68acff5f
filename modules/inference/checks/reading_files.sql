-- The images that a reading names are there, and those of one that is deleted are gone.
-- rows: inference.shipping_label
-- Delete the reading, and read the label again; of a deleted one tell who maintains the server.
SELECT t.organization_id, t.id,
    CASE WHEN t.deleted_at IS NULL THEN 'its image ' || n.id || ' is not there'
        ELSE 'it is deleted, and names its image ' || n.id END
FROM inference.shipping_label t
CROSS JOIN LATERAL (
    SELECT i ->> 'file' FROM jsonb_array_elements(coalesce(t.images_kept, '[]')) i
) n(id)
LEFT JOIN wharf.file f
    ON f.organization_id = t.organization_id AND f.id = n.id AND f.state = 'stored'
WHERE n.id IS NOT NULL AND (f.id IS NULL OR t.deleted_at IS NOT NULL)
