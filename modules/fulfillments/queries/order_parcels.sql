-- Reads the parcels of a fulfillment, the newest first. $1 fulfillment, $2 organization.
SELECT p.id, p.name, p.shipment_id
FROM parcels.parcel p
WHERE p.organization_id = $2::text AND p.fulfillment_id = $1::text AND p.deleted_at IS NULL
ORDER BY p.created_at DESC, p.id DESC
