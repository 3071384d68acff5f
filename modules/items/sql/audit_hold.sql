-- Locks the items of an audit in the order of their ids, and marks them as counted at a moment: no
-- stock of them changes until the transaction ends.
CREATE OR REPLACE FUNCTION items.audit_hold(audit text, moment timestamptz) RETURNS void
    LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    org CONSTANT text := current_setting('wharf.organization', true);
    ids text[];
BEGIN
    ids := ARRAY(
        SELECT i.id
        FROM items.item i
        WHERE i.organization_id = org AND i.deleted_at IS NULL AND i.id IN (
            SELECT t.item_id
            FROM items.audit_task t
            WHERE t.organization_id = org AND t.audit_id = audit
        )
        ORDER BY i.id
        FOR NO KEY UPDATE
    );
    UPDATE items.item i
    SET last_audited_at = moment, version = i.version + 1
    WHERE i.organization_id = org AND i.id = ANY (ids);
END
$$;

-- Marks the levels that an audit counted, which its moves have locked where they change.
CREATE OR REPLACE FUNCTION items.audit_mark(audit text, moment timestamptz) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    org CONSTANT text := current_setting('wharf.organization', true);
    ids text[];
BEGIN
    ids := ARRAY(
        SELECT v.id
        FROM items.level v
        WHERE v.organization_id = org AND (v.item_id, v.location_id, v.layout_id) IN (
            SELECT t.item_id, t.location_id, t.layout_id
            FROM items.audit_task t
            WHERE t.organization_id = org AND t.audit_id = audit
        )
        ORDER BY v.item_id, v.location_id, v.layout_id, v.lot_id
        FOR UPDATE
    );
    UPDATE items.level v
    SET last_audited_at = moment, version = v.version + 1
    WHERE v.organization_id = org AND v.id = ANY (ids);
END
$$;
