-- wharf: order=last
-- Shows events with what processing added; nulls where an event was not processed yet. Columns are
-- named, so that one more of the table is one more at the end.
CREATE OR REPLACE VIEW wharf.event_state WITH (security_invoker = true) AS
    SELECT e.organization_id, e.id, e.created_at, e.type, e."timestamp", e.location_id,
        e.resource_type, e.resource_id, e.batch_id, e.actor_type, e.actor_id, e.actor_name,
        e.request_id, e.depth, e.data, e.previous_attributes, e.data_truncated, e.disable_webhooks,
        e.expires_at, e.traceparent, e.locations, e.audience, d.sequence, d.processed_at, d.head,
        d.steps, e.parts
    FROM wharf.event e
    LEFT JOIN wharf.event_done d ON d.organization_id = e.organization_id
        AND d.created_at = e.created_at AND d.event_id = e.id;
