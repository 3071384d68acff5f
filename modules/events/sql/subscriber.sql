-- wharf: order=last
-- Who is written to also by workflows and hooks.
CREATE OR REPLACE VIEW wharf.subscriber AS
    SELECT organization_id, email FROM events.subscriber WHERE status = 'active' AND deleted_at IS NULL;
