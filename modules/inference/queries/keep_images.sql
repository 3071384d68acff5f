-- Notes the images of a reading that is to be read.
UPDATE inference.shipping_label SET images_kept = $3::jsonb
WHERE organization_id = $2::text AND id = $1::text
