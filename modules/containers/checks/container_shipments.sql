-- The container that a shipment is in is there.
-- rows: shipments.shipment
-- Put the shipment into a container that is there (POST /v1/containers/:container with add), and
-- take it out of that again (remove).
SELECT s.organization_id, s.id, 'is in ' || s.container_id || ', which is not there'
FROM shipments.shipment s
LEFT JOIN containers.container c
    ON c.organization_id = s.organization_id AND c.id = s.container_id AND c.deleted_at IS NULL
WHERE s.deleted_at IS NULL AND s.container_id IS NOT NULL AND c.id IS NULL
