-- Takes away of a reading that is deleted what it says of people.
UPDATE inference.shipping_label
SET raw_text = '', barcodes = '[]', recipient = NULL, sender = NULL, found = NULL,
    extraction = NULL, images_kept = NULL, has_images = false, custom_attributes = '{}',
    search_text = NULL
WHERE organization_id = $2::text AND id = $1::text
