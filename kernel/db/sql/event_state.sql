-- wharf: order=last
-- Shows events with what processing added; nulls where an event was not processed yet.
CREATE OR REPLACE VIEW wharf.event_state WITH (security_invoker = true) AS
    SELECT e.*, d.sequence, d.processed_at, d.head, d.steps FROM wharf.event e
    LEFT JOIN wharf.event_done d ON d.organization_id = e.organization_id
        AND d.created_at = e.created_at AND d.event_id = e.id;
