-- Each level has as much reserved as open fulfillments are promised there.
-- rows: fulfillments.reservation
-- Something was reserved or released past the fulfillments. Find the level's last movements; a
-- level with too much is put right by an adjustment, a promise without stock by canceling it.
SELECT coalesce(v.organization_id, k.organization_id), coalesce(v.id, k.layout_id),
    'has ' || coalesce(v.reserved, 0) || ' reserved of ' || coalesce(v.item_id, k.item_id)
    || ', and fulfillments are promised ' || coalesce(k.quantity, 0)
FROM (
    SELECT r.organization_id, a.item_id, a.location_id, r.layout_id, r.lot_id,
        sum(r.quantity) AS quantity
    FROM fulfillments.reservation r
    JOIN fulfillments.article a
        ON a.organization_id = r.organization_id AND a.id = r.article_id
    WHERE r.quantity <> 0
    GROUP BY r.organization_id, a.item_id, a.location_id, r.layout_id, r.lot_id
) k
FULL JOIN (SELECT l.* FROM items.level l WHERE l.reserved <> 0) v
    ON v.organization_id = k.organization_id AND v.item_id = k.item_id
        AND v.location_id = k.location_id AND v.layout_id = k.layout_id
        AND coalesce(v.lot_id, '') = coalesce(k.lot_id, '')
WHERE coalesce(v.reserved, 0) <> coalesce(k.quantity, 0)
