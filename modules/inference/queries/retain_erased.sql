-- Notes of readings that the files of their images are gone. $1 organization, $2 their ids.
UPDATE inference.shipping_label t
SET has_images = false, images_kept = (
    SELECT jsonb_agg(x.image || '{"file": null}' ORDER BY x.place)
    FROM jsonb_array_elements(t.images_kept) WITH ORDINALITY AS x(image, place)
)
WHERE t.organization_id = $1::text AND t.id = ANY((SELECT $2::text[])::text[])
