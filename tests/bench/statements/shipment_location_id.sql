-- The first page of shipments of one location_id.
\set n random(1, :places)
SELECT
    t.id, t.status, t.filters, t.type, t.tracking_number, t.provider_id, t.provider,
    t.tracking_url, t.service_level_id, t.sender, t.recipient, t.sender_contact_id,
    t.recipient_contact_id, t.parcels, t.weight, t.dimensions, t.rates, t.recommended_rate,
    t.purchased_rate, t.rates_generated_at, t.amount, t.billed_amount, t.currency, t.paid,
    t.payment_reference, t.label_url, t.refund_status, t.rma_number, t.invoice_number,
    t.order_number, t.purchase_order, t.reference_number, t.account_id, t.estimated_delivery_at,
    t.pickup_at, t.delivered_at, t.container_id, t.tracker_id, t.fulfillment_id, t.manifest_id,
    t.location_id, t.layout_id, t.coordinates, t.parent_id, t.is_parent, t.children_count, t.tags,
    t.notes, t.customs, t.options, t.metadata, t.created_at, t.updated_at, t.created_by,
    t.updated_by, u.id AS "tracking_updates.id", u.shipment_id AS "tracking_updates.shipment_id",
    u.status AS "tracking_updates.status", u.comment AS "tracking_updates.comment",
    u.occurred_at AS "tracking_updates.occurred_at",
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
    FROM shipments.shipment t
    WHERE t.organization_id = :org AND t.deleted_at IS NULL
        AND t.location_id = 'loc_' || lpad(:n::text, 22, '0')
    ORDER BY t.created_at DESC, t.id DESC
    LIMIT 21
) t
LEFT JOIN shipments.tracking_update u ON u.organization_id = :org AND u.shipment_id = t.id
ORDER BY t.created_at DESC, t.id DESC, u.occurred_at, u.position;
