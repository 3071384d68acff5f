-- Writes the orders of one build or unbuild, children first, and marks their bills as built.
-- orders: [{id, type, item, bom, version, location, quantity, unit, unit_quantity, layout,
-- lot_number, assembly_picks, build_order, parent, group, note, metadata, lines: [{place, item,
-- required, picks}]}]. Takes the next numbers, which is the last lock that a build takes.
CREATE OR REPLACE FUNCTION items.orders_write(orders jsonb, moment timestamptz, actor text)
    RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    org CONSTANT text := current_setting('wharf.organization', true);
    n CONSTANT integer := jsonb_array_length(orders);
    last bigint;
BEGIN
    UPDATE items.bom b
    SET has_build_history = true, version = b.version + 1
    WHERE b.organization_id = org AND NOT b.has_build_history
        AND b.id IN (SELECT o ->> 'bom' FROM jsonb_array_elements(orders) o);
    INSERT INTO items.assembly_order_line (
        organization_id, order_id, place, item_id, required, picks
    )
    SELECT org, o.id, l.place, l.item, l.required, l.picks
    FROM jsonb_to_recordset(orders) o(id text, lines jsonb)
    CROSS JOIN LATERAL jsonb_to_recordset(o.lines) l(
        place integer, item text, required numeric, picks jsonb
    );
    INSERT INTO items.assembly_number AS c (organization_id, last)
    VALUES (org, n)
    ON CONFLICT (organization_id) DO UPDATE SET last = c.last + n
    RETURNING c.last INTO last;
    INSERT INTO items.assembly_order (
        organization_id, id, number, type, item_id, bom_id, bom_version, location_id, quantity,
        unit_id, unit_quantity, layout_id, lot_number, assembly_picks, build_order_id,
        parent_order_id, group_id, note, metadata, created_at, updated_at, created_by, updated_by
    )
    SELECT org, o.e ->> 'id', 'ASM-' || last - n + o.place, o.e ->> 'type', o.e ->> 'item',
        o.e ->> 'bom', (o.e ->> 'version')::integer, o.e ->> 'location',
        (o.e ->> 'quantity')::numeric, o.e ->> 'unit', (o.e ->> 'unit_quantity')::numeric,
        o.e ->> 'layout', o.e ->> 'lot_number', o.e -> 'assembly_picks', o.e ->> 'build_order',
        o.e ->> 'parent', o.e ->> 'group', o.e ->> 'note',
        coalesce(nullif(o.e -> 'metadata', 'null'), '{}'),
        moment, moment, actor, actor
    FROM jsonb_array_elements(orders) WITH ORDINALITY o(e, place);
END
$$;
