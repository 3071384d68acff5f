-- wharf: order=last
-- Tells the kernel which addresses outside of an organization may be written to by workflows and
-- hooks too.
CREATE OR REPLACE VIEW wharf.subscriber AS
    SELECT organization_id, email FROM events.subscriber
        WHERE status = 'active' AND deleted_at IS NULL;
