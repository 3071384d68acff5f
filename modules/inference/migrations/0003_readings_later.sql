-- wharf: phase=expand

-- Readings that are made later, and what of a label is asked for by name. tries: workers that began
-- to read it and have not ended; has_images: files of its images are kept.
ALTER TABLE inference.shipping_label
    ADD COLUMN custom_attributes jsonb NOT NULL DEFAULT '{}',
    ADD COLUMN destination_location jsonb,
    ADD COLUMN child_shipments jsonb NOT NULL DEFAULT '[]',
    ADD COLUMN has_images boolean NOT NULL DEFAULT false,
    ADD COLUMN tries integer NOT NULL DEFAULT 0;
UPDATE inference.shipping_label SET has_images = true WHERE images_kept @? '$[*].file ? (@ != null)';
CREATE INDEX shipping_label_images
    ON inference.shipping_label (organization_id, created_at) WHERE has_images;
