-- Reads the parcels that shipments name, of those that name any. $1 shipments, $2 organization.
-- Columns: place in the array, from 1, shipment, parcels, location, layout,
-- fulfillment.
SELECT i.place, s.id, s.parcels, s.location_id, s.layout_id, s.fulfillment_id
FROM unnest((SELECT $1::text[])) WITH ORDINALITY AS i(id, place)
JOIN shipments.shipment s ON s.organization_id = $2::text AND s.id = i.id
WHERE s.parcels <> '[]'
ORDER BY i.place
