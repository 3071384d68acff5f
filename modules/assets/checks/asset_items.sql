-- Each asset that is not archived is one of an item that is there and is an asset.
-- rows: assets.asset
-- Set is_asset on the item again, or archive the asset (DELETE /v1/assets/:asset).
SELECT a.organization_id, a.id,
    CASE WHEN i.id IS NULL THEN 'names the item ' || a.item_id || ', which is not there'
         ELSE 'is of the item ' || a.item_id || ', which is no asset' END
FROM assets.asset a
LEFT JOIN items.item i ON i.organization_id = a.organization_id AND i.id = a.item_id
    AND i.deleted_at IS NULL
WHERE a.deleted_at IS NULL AND a.archived_at IS NULL AND i.is_asset IS NOT TRUE
