-- Writes what may change of a version: position, reference and notes of its components.
CREATE OR REPLACE FUNCTION items.bom_notes_set(bom text, number integer, parts jsonb) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    org CONSTANT text := current_setting('wharf.organization', true);
BEGIN
    UPDATE items.bom_component c
    SET position = p.position, reference = p.reference, notes = p.notes
    FROM jsonb_to_recordset(parts) p(item text, position integer, reference text, notes text)
    WHERE c.organization_id = org AND c.bom_id = bom AND c.bom_version = number
        AND c.item_id = p.item;
END
$$;
