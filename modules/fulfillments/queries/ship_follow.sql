-- Finds fulfillments that move on because of shipments: packed ones with a shipment that is bought,
-- and of these and of shipping ones whether all of it is on its way: every packed parcel is in a
-- shipment, and all of these have a status beyond created. $1 shipments, $2 organization. Columns:
-- fulfillment, status, location, whether it is completed.
SELECT f.id, f.status, f.location_id, EXISTS (
    SELECT 1
    FROM fulfillments.content c
    WHERE c.organization_id = $2::text AND c.fulfillment_id = f.id AND c.quantity > 0
) AND NOT EXISTS (
    SELECT 1
    FROM fulfillments.content c
    LEFT JOIN parcels.parcel p ON p.organization_id = $2::text AND p.id = c.parcel_id
        AND p.deleted_at IS NULL
    LEFT JOIN shipments.shipment s ON s.organization_id = $2::text AND s.id = p.shipment_id
        AND s.deleted_at IS NULL
    WHERE c.organization_id = $2::text AND c.fulfillment_id = f.id AND c.quantity > 0
        AND coalesce(s.status, 'created') IN ('rates_generated', 'created', 'canceled')
)
FROM fulfillments.fulfillment f
WHERE f.organization_id = $2::text AND f.status IN ('packed', 'shipping') AND f.id IN (
    SELECT s.fulfillment_id
    FROM shipments.shipment s
    WHERE s.organization_id = $2::text AND s.id = ANY ((SELECT $1::text[])::text[])
        AND s.deleted_at IS NULL AND s.status NOT IN ('rates_generated', 'canceled')
)
ORDER BY f.id
