-- The items that have a word of :words, the most similar ones first, by the indexes of trigrams.
\set n random(1, :word_count)
SELECT
    t.id, t.name, t.item_type, t.base_uom, t.uom_category, t.item_transactional_unit_id,
    t.transactional_units, t.is_asset, t.lot_tracking, t.status, t.sku, t.gtin, t.upc,
    t.external_id, t.description, t.color, t.size, t.vendor, t.origin_country,
    t.harmonized_code, t.value, t.currency, t.length, t.width, t.height, t.weight,
    t.packaged_length, t.packaged_width, t.packaged_height, t.packaged_weight, t.attributes,
    t.images, t.metadata, t.last_audited_at, t.archived_at, t.created_at, t.updated_at,
    t.created_by, t.updated_by, w.available_qty, w.reserved_qty, w.damaged_qty, w.on_hand_qty,
    w.manifested_qty, w.levels > 20 AS levels_truncated, v.id AS "levels.id",
    v.location_id AS "levels.location_id", v.layout_id AS "levels.layout_id",
    v.lot_id AS "levels.lot_id", v.lot_number AS "levels.lot_number",
    v.available AS "levels.available_qty", v.reserved AS "levels.reserved_qty",
    v.damaged AS "levels.damaged_qty", v.manifested AS "levels.manifested_qty",
    v.updated_at AS "levels.updated_at", v.on_hand AS "levels.on_hand_qty",
    y.name AS "levels.layout_name"
FROM (
    SELECT *, similarity(lower(t.name), split_part(:words, ',', :n)) AS score
    FROM items.item t
    WHERE t.organization_id = :org AND t.deleted_at IS NULL AND t.status = 'active'
        AND (wharf.fold(t.name) LIKE '%' || split_part(:words, ',', :n) || '%'
        OR wharf.fold(t.sku) LIKE '%' || split_part(:words, ',', :n) || '%'
        OR wharf.fold(t.gtin) LIKE '%' || split_part(:words, ',', :n) || '%'
        OR wharf.fold(t.upc) LIKE '%' || split_part(:words, ',', :n) || '%'
        OR wharf.fold(t.external_id) LIKE '%' || split_part(:words, ',', :n) || '%'
        OR wharf.fold(t.description) LIKE '%' || split_part(:words, ',', :n) || '%')
    ORDER BY score DESC, t.id
    LIMIT 21
) t
CROSS JOIN LATERAL (
    SELECT
        coalesce(sum(z.available), 0) AS available_qty,
        coalesce(sum(z.reserved), 0) AS reserved_qty, coalesce(sum(z.damaged), 0) AS damaged_qty,
        coalesce(sum(z.available + z.reserved + z.damaged), 0) AS on_hand_qty,
        coalesce(sum(z.manifested), 0) AS manifested_qty,
        count(*) FILTER (WHERE z.available <> 0 OR z.reserved <> 0 OR z.damaged <> 0
            OR z.manifested <> 0) AS levels
    FROM items.level z
    WHERE z.organization_id = :org AND z.item_id = t.id
) w
LEFT JOIN LATERAL (
    SELECT z.*, z.available + z.reserved + z.damaged AS on_hand
    FROM items.level z
    WHERE z.organization_id = :org AND z.item_id = t.id
        AND (z.available <> 0 OR z.reserved <> 0 OR z.damaged <> 0 OR z.manifested <> 0)
    ORDER BY on_hand DESC, z.id
    LIMIT 20
) v ON true
LEFT JOIN locations.layout y ON y.organization_id = :org AND y.id = v.layout_id
ORDER BY t.score DESC, t.id, v.on_hand DESC, v.id;
