-- Notes of readings of item labels that the files of their images are gone. $1 organization, $2
-- their ids.
UPDATE inference.item_label t SET image_file = NULL
WHERE t.organization_id = $1::text AND t.id = ANY((SELECT $2::text[])::text[])
