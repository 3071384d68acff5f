-- Notes the images of a reading that is to be read.
UPDATE inference.shipping_label SET images_kept = $3::jsonb, has_images = $4::boolean
WHERE organization_id = $2::text AND id = $1::text
