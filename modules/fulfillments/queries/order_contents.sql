-- Reads what is in the parcels of a fulfillment, those of the newest parcel last. $1 fulfillment,
-- $2 organization. Quantities are whole ten-thousandths.
SELECT c.parcel_id, c.article_id, c.lot_id, l.lot_number, (c.quantity * 10000)::bigint
FROM fulfillments.content c
LEFT JOIN items.lot l ON l.organization_id = $2::text AND l.id = c.lot_id
WHERE c.organization_id = $2::text AND c.fulfillment_id = $1::text
ORDER BY c.parcel_id, c.article_id, l.lot_number
