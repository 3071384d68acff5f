-- Finds the items of new articles, and holds them: until the transaction ends nobody else changes
-- stock of them; with them those of the fulfillment $3. $1 array of {n, item_id, sku, gtin}, of
-- which one is said, $2 organization.
-- Columns: the places n, id, name, sku, gtin, is_asset, archived, attributes, value,
-- harmonized_code, origin_country.
WITH wanted AS MATERIALIZED (
    SELECT v.n, i.id
    FROM jsonb_to_recordset($1::jsonb) v(n integer, item_id text, sku text, gtin text)
    CROSS JOIN LATERAL (
        (
            SELECT t.id, 1 AS first
            FROM items.item t
            WHERE v.item_id IS NOT NULL AND t.organization_id = $2::text AND t.id = v.item_id
                AND t.deleted_at IS NULL
        ) UNION ALL (
            SELECT t.id, 2
            FROM items.item t
            WHERE v.item_id IS NULL AND v.sku IS NOT NULL AND t.organization_id = $2::text
                AND lower(t.sku) = lower(v.sku) AND t.deleted_at IS NULL
        ) UNION ALL (
            SELECT t.id, 3
            FROM items.item t
            WHERE v.item_id IS NULL AND v.sku IS NULL AND t.organization_id = $2::text
                AND t.gtin = v.gtin AND t.deleted_at IS NULL
            ORDER BY t.created_at, t.id
            LIMIT 1
        )
        LIMIT 1
    ) i
    UNION ALL
    SELECT NULL, a.item_id
    FROM fulfillments.article a
    WHERE a.organization_id = $2::text AND a.fulfillment_id = $3::text
)
SELECT (
        SELECT coalesce(json_agg(w.n), '[]')
        FROM wanted w
        WHERE w.id = i.id AND w.n IS NOT NULL
    ), i.id, i.name, i.sku, i.gtin, i.is_asset, i.status = 'archived', i.attributes, i.value,
    i.harmonized_code, i.origin_country
FROM items.item i
WHERE i.organization_id = $2::text AND i.id IN (SELECT w.id FROM wanted w)
    AND i.deleted_at IS NULL
ORDER BY i.id
FOR NO KEY UPDATE OF i
