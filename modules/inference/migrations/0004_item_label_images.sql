-- wharf: phase=expand

-- Readings of item labels whose images are kept, by age: those whose days are over are erased.
CREATE INDEX item_label_images
    ON inference.item_label (organization_id, created_at) WHERE image_file IS NOT NULL;
