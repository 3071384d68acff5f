-- Writes the thresholds of an item (spec 09 section 7.1): list, [{n, location, quantity, level}],
-- is the whole list of those at the locations reached (null: all). Returns those that make the
-- item low which was not low there before, with a level of the place (the one with the given id is
-- made when there is none), and with `unknown` the numbers n of locations that are not there; then
-- nothing is written.
CREATE OR REPLACE FUNCTION items.thresholds_set(
    item text, list jsonb, reached jsonb, moment timestamptz, actor text
) RETURNS TABLE (level_id text, available numeric, quantity numeric, unknown integer)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    org CONSTANT text := current_setting('wharf.organization', true);
BEGIN
    RETURN QUERY
        SELECT NULL::text, NULL::numeric, NULL::numeric, v.n
        FROM jsonb_to_recordset(list) v(n integer, location text)
        WHERE NOT EXISTS (
            SELECT 1
            FROM locations.location l
            WHERE l.organization_id = org AND l.id = v.location AND l.deleted_at IS NULL
        );
    IF FOUND THEN
        RETURN;
    END IF;
    DELETE FROM items.threshold h
    WHERE h.organization_id = org AND h.item_id = item
        AND (reached IS NULL OR reached ? h.location_id)
        AND NOT EXISTS (
            SELECT 1
            FROM jsonb_to_recordset(list) v(location text)
            WHERE v.location = h.location_id
        );
    RETURN QUERY
        WITH v AS (
            SELECT x.*, coalesce((
                SELECT sum(k.available)
                FROM items.level k
                WHERE k.organization_id = org AND k.item_id = item AND k.location_id = x.location
            ), 0) AS available
            FROM jsonb_to_recordset(list) x(location text, quantity numeric, level text)
        ), o AS (
            SELECT h.location_id
            FROM items.threshold h
            WHERE h.organization_id = org AND h.item_id = item AND h.low
        ), w AS (
            INSERT INTO items.threshold AS h (
                organization_id, item_id, location_id, quantity, low
            )
            SELECT org, item, v.location, v.quantity, v.available < v.quantity
            FROM v
            ORDER BY v.location
            ON CONFLICT (organization_id, item_id, location_id)
                DO UPDATE SET quantity = excluded.quantity, low = excluded.low
            RETURNING h.location_id, h.low
        ), fresh AS (
            SELECT v.*
            FROM w
            JOIN v ON v.location = w.location_id
            WHERE w.low AND w.location_id NOT IN (SELECT o.location_id FROM o)
        ), made AS (
            INSERT INTO items.level (
                organization_id, id, item_id, location_id, layout_id, moved_at, created_at,
                updated_at, created_by, updated_by
            )
            SELECT org, f.level, item, f.location, l.default_layout_id, moment, moment, moment,
                actor, actor
            FROM fresh f
            JOIN locations.location l ON l.organization_id = org AND l.id = f.location
            WHERE NOT EXISTS (
                SELECT 1
                FROM items.level k
                WHERE k.organization_id = org AND k.item_id = item AND k.location_id = f.location
            )
            ON CONFLICT DO NOTHING
        )
        SELECT coalesce((
            SELECT min(k.id)
            FROM items.level k
            WHERE k.organization_id = org AND k.item_id = item AND k.location_id = f.location
        ), f.level), trim_scale(f.available), trim_scale(f.quantity), NULL::integer
        FROM fresh f
        ORDER BY f.location;
END
$$;
