-- Writes a version of a bill. parts: [{id, item, quantity, unit, factor, position, reference,
-- notes}]; a part keeps the id that its item has in an earlier version.
CREATE OR REPLACE FUNCTION items.bom_version_add(
    bom text, number integer, output numeric, parts jsonb, note text, moment timestamptz,
    actor text
) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    org CONSTANT text := current_setting('wharf.organization', true);
BEGIN
    INSERT INTO items.bom_version (
        organization_id, bom_id, bom_version, output_qty, change_note, created_at, created_by
    )
    VALUES (org, bom, number, output, note, moment, actor);
    INSERT INTO items.bom_component (
        organization_id, bom_id, bom_version, item_id, id, quantity, item_transactional_unit_id,
        factor, position, reference, notes
    )
    SELECT org, bom, number, p.item, coalesce((
            SELECT c.id
            FROM items.bom_component c
            WHERE c.organization_id = org AND c.bom_id = bom AND c.bom_version < number
                AND c.item_id = p.item
            LIMIT 1
        ), p.id), p.quantity, p.unit, p.factor, p.position, p.reference, p.notes
    FROM jsonb_to_recordset(parts) p(
        id text, item text, quantity numeric, unit text, factor numeric, position integer,
        reference text, notes text
    );
END
$$;
