-- Takes lines and parcels of manifests to another layout. $1 removed layouts, $2 where their stock
-- goes, $3 organization.
WITH p AS (
    UPDATE manifests.parcel
    SET layout_id = $2::text
    WHERE organization_id = $3::text AND layout_id = ANY ((SELECT $1::text[])::text[])
)
UPDATE manifests.article
SET version = version + 1,
    layout_id = CASE WHEN layout_id = ANY ((SELECT $1::text[])::text[]) THEN $2::text
        ELSE layout_id END,
    expected_layout_id = CASE WHEN expected_layout_id = ANY ((SELECT $1::text[])::text[])
        THEN $2::text ELSE expected_layout_id END
WHERE organization_id = $3::text AND (layout_id = ANY ((SELECT $1::text[])::text[])
    OR expected_layout_id = ANY ((SELECT $1::text[])::text[]))
