-- Writes the moves of items.stock_apply, whose levels are there, unless a bucket would end below
-- zero; the same arguments and answer. The
-- levels are locked in the order of their keys and read as they are then: of two transactions that
-- change the same ones, the second waits here and reads what the first one left. The balances are
-- reckoned move by move, of one bucket after the other, and judged at the end of each.
CREATE OR REPLACE FUNCTION items.stock_write(org text, facts jsonb, moves jsonb) RETURNS jsonb
    LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    most CONSTANT numeric := 99999999999.9999;
    m record;
    moment timestamptz := facts ->> 'now';
    balance numeric;
    delta numeric;
    level text := '';
    place bigint;
    begun integer := 1;
    ns integer[];
    levels text[];
    buckets text[];
    deltas numeric[];
    balances numeric[];
    positions bigint[];
    problem text;
    problems jsonb := '[]';
    written jsonb;
    ledger jsonb;
BEGIN
    FOR m IN
        SELECT v.n, v.bucket, v.quantity, v.set, v.at_most, v.keep, k.id, k.moves, k.moved_at,
            CASE v.bucket
            WHEN 'available' THEN k.available WHEN 'reserved' THEN k.reserved
            WHEN 'damaged' THEN k.damaged ELSE k.manifested END AS was,
            row_number() OVER w = 1 AS first, lead(v.n) OVER w IS NULL AS last
        FROM jsonb_to_recordset(moves) v(
            n integer, item text, location text, place text, lot text, bucket text,
            quantity numeric, set boolean, at_most boolean, keep boolean
        )
        JOIN (
            SELECT l.*
            FROM items.level l
            JOIN (
                SELECT DISTINCT d.item, d.location, d.place, d.lot
                FROM jsonb_to_recordset(moves) d(item text, location text, place text, lot text)
            ) d ON l.organization_id = org AND l.item_id = d.item AND l.location_id = d.location
                AND l.layout_id = d.place AND l.lot_id IS NOT DISTINCT FROM d.lot
            ORDER BY l.item_id, l.location_id, l.layout_id, l.lot_id
            FOR UPDATE OF l
        ) k ON k.item_id = v.item AND k.location_id = v.location AND k.layout_id = v.place
            AND k.lot_id IS NOT DISTINCT FROM v.lot
        WINDOW w AS (PARTITION BY k.id, v.bucket ORDER BY v.n)
        ORDER BY k.id, v.bucket, v.n
    LOOP
        IF m.id <> level THEN
            level := m.id;
            place := m.moves;
            moment := greatest(moment, m.moved_at);
        END IF;
        IF m.first THEN
            balance := m.was;
            begun := coalesce(array_length(ns, 1), 0) + 1;
        END IF;
        delta := CASE WHEN m.set THEN m.quantity - balance
            WHEN m.at_most THEN greatest(m.quantity, -balance) ELSE m.quantity END;
        balance := balance + delta;
        place := place + (delta <> 0)::integer;
        ns := ns || m.n;
        levels := levels || m.id;
        buckets := buckets || m.bucket;
        deltas := deltas || delta;
        balances := balances || balance;
        positions := positions || place;
        CONTINUE WHEN NOT m.last OR (balance >= 0 AND balance <= least(most, m.was))
            OR (balance >= 0 AND balance <= most AND NOT m.keep);
        problem := CASE WHEN balance < 0 THEN 'insufficient' WHEN balance > most THEN 'too_large'
            ELSE 'archived' END;
        FOR i IN begun .. array_length(ns, 1) LOOP
            IF (deltas[i] < 0) = (balance < 0) AND deltas[i] <> 0 THEN
                problems := problems || jsonb_build_object('n', ns[i], 'problem', problem,
                    'available', trim_scale(m.was), 'quantity', trim_scale(abs(deltas[i])));
            END IF;
        END LOOP;
    END LOOP;
    IF problems <> '[]' THEN
        RETURN jsonb_build_object('problems', (
            SELECT jsonb_agg(p ORDER BY (p ->> 'n')::integer) FROM jsonb_array_elements(problems) p
        ));
    END IF;

    WITH u AS (
        UPDATE items.level k
        SET available = k.available + p.available, reserved = k.reserved + p.reserved,
            damaged = k.damaged + p.damaged, manifested = k.manifested + p.manifested,
            moves = k.moves + p.moves, moved_at = moment, updated_at = moment,
            updated_by = facts ->> 'actor', version = k.version + 1
        FROM (
            SELECT x.level, count(*) AS moves,
                sum(CASE x.bucket WHEN 'available' THEN x.delta ELSE 0 END) AS available,
                sum(CASE x.bucket WHEN 'reserved' THEN x.delta ELSE 0 END) AS reserved,
                sum(CASE x.bucket WHEN 'damaged' THEN x.delta ELSE 0 END) AS damaged,
                sum(CASE x.bucket WHEN 'manifested' THEN x.delta ELSE 0 END) AS manifested
            FROM unnest(levels, buckets, deltas) x(level, bucket, delta)
            WHERE x.delta <> 0
            GROUP BY x.level
        ) p
        WHERE k.organization_id = org AND k.id = p.level
        RETURNING k.id, k.item_id, k.location_id
    )
    SELECT coalesce(jsonb_agg(jsonb_build_object('id', u.id, 'item', u.item_id, 'location',
        u.location_id) ORDER BY u.id), '[]')
    INTO written
    FROM u;

    WITH d AS (
        SELECT x.*, v.*, sum(x.delta) OVER (PARTITION BY v.item) = 0 AS zero
        FROM unnest(ns, levels, deltas, balances, positions) x(
            place_of, level_id, delta, balance, position
        )
        JOIN jsonb_to_recordset(moves) v(
            n integer, item text, location text, place text, lot text, bucket text, id text,
            reason text, source text, reason_code text, note text, unit text, unit_quantity numeric,
            together text
        ) ON v.n = x.place_of
    ), i AS (
        INSERT INTO items.stock_movement (
            organization_id, id, item_id, level_id, location_id, layout_id, lot_id, lot_number,
            bucket, delta, balance_after, reason, source_type, source_id, group_id, reason_code_id,
            note, unit_id, unit_quantity, batch_id, position, created_at, updated_at, created_by
        )
        SELECT org, d.id, d.item, d.level_id, d.location, d.place, d.lot, (
                SELECT l.lot_number
                FROM items.lot l
                WHERE l.organization_id = org AND l.id = d.lot
            ), d.bucket, d.delta, d.balance,
            coalesce(d.reason, CASE WHEN facts ->> 'reason' = 'adjustment' AND d.zero
                THEN 'transfer' ELSE facts ->> 'reason' END),
            facts ->> 'source_type', coalesce(d.source, facts ->> 'source_id'),
            d.together, d.reason_code, d.note, d.unit, d.unit_quantity, facts ->> 'batch',
            d.position, moment, moment, facts ->> 'actor'
        FROM d
        WHERE d.delta <> 0
        RETURNING id, reason
    )
    SELECT jsonb_agg(jsonb_build_object('n', d.n, 'id', i.id, 'level', d.level_id, 'delta',
        trim_scale(d.delta), 'balance', trim_scale(d.balance), 'reason', i.reason, 'place',
        d.place))
    INTO ledger
    FROM d
    LEFT JOIN i ON i.id = d.id;
    RETURN jsonb_build_object('levels', written, 'moves', ledger);
END
$$;
