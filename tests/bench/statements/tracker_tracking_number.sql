-- The first page of trackers of one tracking_number.
\set n random(1, :rows)
SELECT
    t.id, t.type, t.tracking_number, t.provider_id, t.provider, t.tracking_url,
    t.current_shipment_id, t.status, t.filters, t.chained_status, t.auto_close_shipments_option,
    t.has_parent_shipment, t.estimated_delivery_at, t.pickup_at, t.delivered_at, t.coordinates,
    t.sender, t.recipient, t.fulfillment_id, t.location_id, t.layout_id, t.destination,
    t.sender_contact_id, t.recipient_contact_id, t.inference_id, t.tags, t.provider_candidates,
    t.metadata, t.created_at, t.updated_at, t.created_by, t.updated_by, s.id AS "shipments.id",
    s.status AS "shipments.status", s.filters AS "shipments.filters", s.type AS "shipments.type",
    s.tracking_number AS "shipments.tracking_number", s.provider_id AS "shipments.provider_id",
    s.provider AS "shipments.provider", s.tracking_url AS "shipments.tracking_url",
    s.sender AS "shipments.sender", s.recipient AS "shipments.recipient",
    s.estimated_delivery_at AS "shipments.estimated_delivery_at",
    s.pickup_at AS "shipments.pickup_at", s.delivered_at AS "shipments.delivered_at",
    s.container_id AS "shipments.container_id", s.tracker_id AS "shipments.tracker_id",
    s.fulfillment_id AS "shipments.fulfillment_id", s.location_id AS "shipments.location_id",
    s.layout_id AS "shipments.layout_id", s.coordinates AS "shipments.coordinates",
    s.parent_id AS "shipments.parent_id", s.is_parent AS "shipments.is_parent",
    s.order_number AS "shipments.order_number", s.tags AS "shipments.tags",
    s.metadata AS "shipments.metadata", s.created_at AS "shipments.created_at",
    s.updated_at AS "shipments.updated_at", u.id AS "tracking_updates.id",
    u.shipment_id AS "tracking_updates.shipment_id", u.status AS "tracking_updates.status",
    u.comment AS "tracking_updates.comment", u.occurred_at AS "tracking_updates.occurred_at",
    u.location_id AS "tracking_updates.location_id", u.layout_id AS "tracking_updates.layout_id",
    u.container_id AS "tracking_updates.container_id",
    u.contact_id AS "tracking_updates.contact_id", u.user_id AS "tracking_updates.user_id",
    u.vehicle_id AS "tracking_updates.vehicle_id", u.address AS "tracking_updates.address",
    u.coordinates AS "tracking_updates.coordinates", u.images AS "tracking_updates.images",
    u.provider_status AS "tracking_updates.provider_status",
    u.comment_only AS "tracking_updates.comment_only", u.source AS "tracking_updates.source",
    u.event AS "tracking_updates.event", u.hash AS "tracking_updates.hash",
    u.created_at AS "tracking_updates.created_at", u.created_by AS "tracking_updates.created_by"
FROM (
    SELECT *
    FROM trackers.tracker t
    WHERE t.organization_id = :org AND t.deleted_at IS NULL
        AND lower(t.tracking_number) = lower('TN' || :n)
    ORDER BY t.created_at DESC, t.id DESC
    LIMIT 21
) t
LEFT JOIN shipments.shipment s ON s.organization_id = :org AND s.tracker_id = t.id
    AND s.deleted_at IS NULL
LEFT JOIN shipments.tracking_update u ON u.organization_id = :org AND u.shipment_id = s.id
ORDER BY t.created_at DESC, t.id DESC, s.leg, s.created_at, u.occurred_at, u.position;
