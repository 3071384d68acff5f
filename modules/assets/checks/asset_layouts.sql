-- Each asset at a location that is there stands in a layout of that location.
-- rows: assets.asset
-- Move the asset to a layout of its location (POST /v1/assets/:asset with layout_id).
SELECT a.organization_id, a.id,
    'stands in the layout ' || coalesce(a.layout_id, 'null')
    || ', which is none of ' || a.location_id
FROM assets.asset a
JOIN locations.location p ON p.organization_id = a.organization_id AND p.id = a.location_id
    AND p.deleted_at IS NULL
LEFT JOIN locations.layout l ON l.organization_id = a.organization_id AND l.id = a.layout_id
    AND l.location_id = a.location_id AND l.deleted_at IS NULL
WHERE a.deleted_at IS NULL AND l.id IS NULL
