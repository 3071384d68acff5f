-- Settles where moves of items.stock_apply take place. Returns them with `place` (the layout),
-- `problem` ("location", "layout", "layout_location", "layout_required", or null) and the lot.
-- A layout that a move leaves to the server is the only one with stock of the item at the location,
-- else, when there is none, the default one. A layout that is named, or found so, is held until
-- the transaction ends: it can't be removed in between (items.layout_stock). What a removed layout
-- has can only be taken away.
CREATE OR REPLACE FUNCTION items.stock_places(organization text, moves jsonb) RETURNS jsonb
    LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    ret jsonb;
BEGIN
    SELECT jsonb_agg(v.move || jsonb_build_object(
        'place', coalesce(
            v.move ->> 'layout',
            CASE WHEN held.n = 1 THEN held.layout WHEN held.n > 1 THEN NULL
                ELSE l.default_layout_id END
        ),
        'default', l.default_layout_id,
        'problem', CASE WHEN l.id IS NULL THEN 'location' WHEN held.n > 1 THEN 'layout_required' END
    ))
    INTO ret
    FROM jsonb_array_elements(moves) v(move)
    LEFT JOIN locations.location l
        ON l.organization_id = organization AND l.id = v.move ->> 'location'
            AND l.deleted_at IS NULL
    LEFT JOIN LATERAL (
        SELECT count(DISTINCT k.layout_id) AS n, min(k.layout_id) AS layout
        FROM items.level k
        WHERE k.organization_id = organization AND k.item_id = v.move ->> 'item'
            AND k.location_id = v.move ->> 'location'
            AND (k.available <> 0 OR k.reserved <> 0 OR k.damaged <> 0 OR k.manifested <> 0)
    ) held ON (v.move ->> 'find')::boolean;

    PERFORM pg_advisory_xact_lock_shared(hashtextextended('items.layout:' || x.place, 0))
    FROM (
        SELECT DISTINCT v ->> 'place' AS place
        FROM jsonb_array_elements(ret) v
        WHERE v ->> 'place' <> v ->> 'default'
        ORDER BY 1
        OFFSET 0
    ) x;
    IF NOT FOUND THEN
        RETURN ret;
    END IF;
    SELECT jsonb_agg(CASE
        WHEN v ->> 'problem' IS NOT NULL OR v ->> 'place' = v ->> 'default' THEN v
        WHEN y.id IS NULL OR (y.deleted_at IS NOT NULL
            AND ((v ->> 'set')::boolean OR (v ->> 'quantity')::numeric > 0))
            THEN v || '{"problem": "layout"}'
        WHEN y.location_id <> v ->> 'location' THEN v || '{"problem": "layout_location"}'
        ELSE v
    END)
    INTO ret
    FROM jsonb_array_elements(ret) v
    LEFT JOIN locations.layout y
        ON y.organization_id = organization AND y.id = v ->> 'place';
    RETURN ret;
END
$$;
