-- Reads the articles of a fulfillment. $1 fulfillment, $2 organization. Quantities are whole
-- ten-thousandths.
SELECT a.id, a.item_id, a.name, a.sku, a.gtin, a.is_asset, a.position,
    (a.requested * 10000)::bigint, (a.reserved * 10000)::bigint, (a.picked * 10000)::bigint,
    (a.packed * 10000)::bigint, (a.shipped * 10000)::bigint, (a.received * 10000)::bigint,
    (a.defective * 10000)::bigint, a.layout_id, a.lot_number, a.comment, a.attributes,
    a.special_handling_tags, a.value, a.harmonized_code, a.origin_country, i.base_uom, i.codes,
    i.transactional_units
FROM fulfillments.article a
LEFT JOIN items.item i ON i.organization_id = $2::text AND i.id = a.item_id
WHERE a.organization_id = $2::text AND a.fulfillment_id = $1::text
ORDER BY a.position, a.id
