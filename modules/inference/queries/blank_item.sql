-- Takes away of a reading of an item label that is deleted what it says.
UPDATE inference.item_label
SET raw_text = '', barcodes = '[]', supplier = NULL, image_file = NULL, search_text = NULL
WHERE organization_id = $2::text AND id = $1::text
