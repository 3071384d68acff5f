-- Returns what is promised to whom of what is available: of the items at the location, or with
-- level_ids of these levels. Back-ordered articles are served in the order of spec 03 section 6.4;
-- of the stock the first to expire goes first, then in the order in which one walks. Articles are
-- locked one after the other, in that order; stock is held by the caller (items.stock hold, or the
-- moves that brought it). Ends after `most` rows, and the caller asks again
-- later; and when nothing is left, so that it locks none of those that get nothing.
CREATE OR REPLACE FUNCTION fulfillments.reserve_plan(
    items_of text[], location text, level_ids text[], moment timestamptz, most integer
) RETURNS TABLE (
    fulfillment_id text, article_id text, item_id text, location_id text, layout_id text,
    lot_id text, quantity numeric
) LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    org CONSTANT text := current_setting('wharf.organization', true);
    d record;
    i integer;
    key text := '';
    first integer := 1;
    want numeric;
    take numeric;
    n integer;
    given integer := 0;
    items text[];
    spots text[];
    layouts text[];
    lots text[];
    numbers text[];
    free numeric[];
    remaining numeric;
BEGIN
    SELECT array_agg(v.item_id), array_agg(v.location_id), array_agg(v.layout_id),
        array_agg(v.lot_id), array_agg(v.lot_number), array_agg(v.available),
        sum(v.available)
    INTO items, spots, layouts, lots, numbers, free, remaining
    FROM (
        SELECT k.*
        FROM items.level k
        LEFT JOIN items.lot t ON t.organization_id = org AND t.id = k.lot_id
        WHERE k.organization_id = org AND k.available > 0
            AND (t.expires_at IS NULL OR t.expires_at > moment)
            AND CASE WHEN level_ids IS NULL
                THEN k.item_id = ANY (items_of) AND k.location_id = location
                ELSE k.id = ANY (level_ids) END
        ORDER BY k.item_id, k.location_id, t.expires_at NULLS LAST, t.created_at NULLS LAST,
            k.lot_id, fulfillments.way(org, k.layout_id), k.id
    ) v;
    n := coalesce(array_length(items, 1), 0);
    IF n = 0 THEN
        RETURN;
    END IF;

    FOR d IN
        SELECT a.*
        FROM fulfillments.article a
        JOIN fulfillments.fulfillment f ON f.organization_id = org AND f.id = a.fulfillment_id
        WHERE a.organization_id = org AND a.waiting > 0 AND a.item_id = ANY (items)
            AND a.location_id = ANY (spots)
        ORDER BY a.item_id, a.location_id, f.priority DESC, f.ship_by NULLS LAST, f.created_at,
            f.id, a.position, a.id
        FOR NO KEY UPDATE OF a
    LOOP
        IF key <> d.item_id || ' ' || d.location_id THEN
            key := d.item_id || ' ' || d.location_id;
            first := 1;
            WHILE first <= n
                AND NOT (items[first] = d.item_id AND spots[first] = d.location_id) LOOP
                first := first + 1;
            END LOOP;
        END IF;
        want := d.waiting;
        i := first;
        WHILE want > 0 AND i <= n AND items[i] = d.item_id AND spots[i] = d.location_id LOOP
            IF free[i] > 0 AND (d.layout_id IS NULL OR d.layout_id = layouts[i])
                AND (d.lot_number IS NULL OR d.lot_number = numbers[i]) THEN
                take := least(want, free[i]);
                want := want - take;
                free[i] := free[i] - take;
                remaining := remaining - take;
                fulfillment_id := d.fulfillment_id;
                article_id := d.id;
                item_id := d.item_id;
                location_id := d.location_id;
                layout_id := layouts[i];
                lot_id := lots[i];
                quantity := take;
                RETURN NEXT;
                given := given + 1;
                IF given = most OR remaining = 0 THEN
                    RETURN;
                END IF;
            END IF;
            IF free[first] = 0 AND first = i THEN
                first := first + 1;
            END IF;
            i := i + 1;
        END LOOP;
    END LOOP;
END
$$;
