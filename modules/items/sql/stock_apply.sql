-- Changes stock: the only writer of items.level and items.stock_movement (spec 09 sections 7 and
-- 9). All moves take effect, or none. facts, an object: now, actor, batch, reason, source_type,
-- source_id. moves, an array in the order in which they take effect, of objects: n (its number,
-- from 0), together (the id of its group), item, location, layout (null: the default one, or with
-- find the one that items.stock_places finds), lot (an id) or lot_number (made when it is new,
-- with the id new_lot), bucket, quantity, set (quantity is what shall be there), at_most (no more
-- is taken than is there), keep (the balance may not rise), id (of its row in the ledger), level
-- (the id of its level, when that is new), reason_code, note, unit, unit_quantity, source (instead
-- of source_id).
-- Returns {problems: [{n, problem, available, quantity}]}, or {levels: [{id, item, location}],
-- moves: [{n, level, delta, balance, reason}], lots: [ids of new ones], low: items.stock_low}.
CREATE OR REPLACE FUNCTION items.stock_apply(facts jsonb, moves jsonb) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    org CONSTANT text := current_setting('wharf.organization', true);
    moment timestamptz := facts ->> 'now';
    placed jsonb := items.stock_places(org, moves);
    lots jsonb;
    ret jsonb;
BEGIN
    IF EXISTS (SELECT 1 FROM jsonb_array_elements(placed) v WHERE v ->> 'problem' IS NOT NULL) THEN
        RETURN jsonb_build_object('problems', (
            SELECT jsonb_agg(jsonb_build_object('n', v -> 'n', 'problem', v ->> 'problem'))
            FROM jsonb_array_elements(placed) v
            WHERE v ->> 'problem' IS NOT NULL
        ));
    END IF;

    IF EXISTS (SELECT 1 FROM jsonb_array_elements(placed) v
            WHERE v ->> 'lot_number' IS NOT NULL) THEN
        WITH i AS (
            INSERT INTO items.lot (
                organization_id, id, item_id, lot_number, created_at, updated_at, created_by,
                updated_by
            )
            SELECT DISTINCT ON (v.item, v.lot_number) org, v.new_lot, v.item, v.lot_number, moment,
                moment, facts ->> 'actor', facts ->> 'actor'
            FROM jsonb_to_recordset(placed) v(item text, lot_number text, new_lot text)
            WHERE v.lot_number IS NOT NULL AND NOT EXISTS (
                SELECT 1
                FROM items.lot l
                WHERE l.organization_id = org AND l.item_id = v.item
                    AND l.lot_number = v.lot_number
            )
            ORDER BY v.item, v.lot_number, v.new_lot
            ON CONFLICT (organization_id, item_id, lot_number) DO NOTHING
            RETURNING id
        )
        SELECT jsonb_agg(i.id) INTO lots FROM i;
        SELECT jsonb_agg(v || coalesce((
            SELECT jsonb_build_object('lot', l.id)
            FROM items.lot l
            WHERE l.organization_id = org AND l.item_id = v ->> 'item'
                AND l.lot_number = v ->> 'lot_number'
        ), '{}'))
        INTO placed
        FROM jsonb_array_elements(placed) v;
    END IF;

    INSERT INTO items.level (
        organization_id, id, item_id, location_id, layout_id, lot_id, lot_number, moved_at,
        created_at, updated_at, created_by, updated_by
    )
    SELECT DISTINCT ON (v.item, v.location, v.place, v.lot) org, v.level, v.item, v.location,
        v.place, v.lot, (
            SELECT l.lot_number FROM items.lot l WHERE l.organization_id = org AND l.id = v.lot
        ), moment, moment, moment, facts ->> 'actor', facts ->> 'actor'
    FROM jsonb_to_recordset(placed) v(
        item text, location text, place text, lot text, level text, n integer
    )
    WHERE NOT EXISTS (
        SELECT 1
        FROM items.level k
        WHERE k.organization_id = org AND k.item_id = v.item AND k.location_id = v.location
            AND k.layout_id = v.place AND k.lot_id IS NOT DISTINCT FROM v.lot
    )
    ORDER BY v.item, v.location, v.place, v.lot, v.n
    ON CONFLICT (organization_id, item_id, location_id, layout_id, lot_id) DO NOTHING;

    ret := items.stock_write(org, facts, placed);
    IF ret -> 'problems' IS NOT NULL THEN
        RETURN ret;
    END IF;
    RETURN ret || jsonb_build_object('lots', lots, 'low', items.stock_low(org,
        ARRAY(SELECT v ->> 'item' FROM jsonb_array_elements(ret -> 'levels') v),
        ARRAY(SELECT v ->> 'location' FROM jsonb_array_elements(ret -> 'levels') v)));
END
$$;
