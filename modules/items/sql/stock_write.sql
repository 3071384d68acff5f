-- Writes the moves of items.stock_apply, whose levels are there and locked; the same arguments and
-- answer. Of moves of one bucket the last [set] before a move is what its balance begins with.
CREATE OR REPLACE FUNCTION items.stock_write(org text, facts jsonb, moves jsonb) RETURNS jsonb
    LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    ret jsonb;
BEGIN
    WITH v AS (
        SELECT m.*, k.id AS level_id, k.lot_number AS lot_name, k.moves, CASE m.bucket
            WHEN 'available' THEN k.available WHEN 'reserved' THEN k.reserved
            WHEN 'damaged' THEN k.damaged ELSE k.manifested END AS was,
            greatest((facts ->> 'now')::timestamptz, max(k.moved_at) OVER ()) AS moment
        FROM jsonb_to_recordset(moves) m(
            n integer, item text, location text, place text, lot text, bucket text,
            quantity numeric, set boolean, keep boolean, id text, reason text, reason_code text,
            note text, unit text, unit_quantity numeric
        )
        JOIN items.level k
            ON k.organization_id = org AND k.item_id = m.item AND k.location_id = m.location
                AND k.layout_id = m.place AND k.lot_id IS NOT DISTINCT FROM m.lot
    ), g AS (
        SELECT v.*, count(*) FILTER (WHERE v.set) OVER (
            PARTITION BY v.level_id, v.bucket ORDER BY v.n
        ) AS begun
        FROM v
    ), b AS (
        SELECT g.*, CASE WHEN g.begun = 0 THEN g.was ELSE 0 END + sum(g.quantity) OVER (
            PARTITION BY g.level_id, g.bucket, g.begun ORDER BY g.n
        ) AS balance
        FROM g
    ), d AS (
        SELECT b.*, b.balance - lag(b.balance, 1, b.was) OVER (
            PARTITION BY b.level_id, b.bucket ORDER BY b.n
        ) AS delta
        FROM b
    ), f AS (
        SELECT d.level_id, d.bucket, d.was, (array_agg(d.balance ORDER BY d.n DESC))[1] AS now,
            bool_or(d.keep) AS keep
        FROM d
        GROUP BY d.level_id, d.bucket, d.was
    ), bad AS (
        SELECT d.n, CASE WHEN f.now < 0 THEN 'insufficient' WHEN f.now > f.was AND f.keep
            THEN 'archived' ELSE 'too_large' END AS problem, f.was, d.delta
        FROM f
        JOIN d ON d.level_id = f.level_id AND d.bucket = f.bucket
        WHERE (f.now < 0 AND d.delta < 0)
            OR (f.now > f.was AND d.delta > 0 AND (f.keep OR f.now > 99999999999.9999))
    ), p AS (
        SELECT d.level_id, min(d.moment) AS moment, count(*) AS moves,
            sum(d.delta) FILTER (WHERE d.bucket = 'available') AS available,
            sum(d.delta) FILTER (WHERE d.bucket = 'reserved') AS reserved,
            sum(d.delta) FILTER (WHERE d.bucket = 'damaged') AS damaged,
            sum(d.delta) FILTER (WHERE d.bucket = 'manifested') AS manifested
        FROM d
        WHERE d.delta <> 0 AND NOT EXISTS (SELECT 1 FROM bad)
        GROUP BY d.level_id
    ), u AS (
        UPDATE items.level k
        SET available = k.available + coalesce(p.available, 0),
            reserved = k.reserved + coalesce(p.reserved, 0),
            damaged = k.damaged + coalesce(p.damaged, 0),
            manifested = k.manifested + coalesce(p.manifested, 0), moves = k.moves + p.moves,
            moved_at = p.moment, updated_at = p.moment, updated_by = facts ->> 'actor',
            version = k.version + 1
        FROM p
        WHERE k.organization_id = org AND k.id = p.level_id
        RETURNING k.id, k.item_id, k.location_id
    ), net AS (
        SELECT d.item, sum(d.delta) = 0 AS zero FROM d WHERE d.delta <> 0 GROUP BY d.item
    ), i AS (
        INSERT INTO items.stock_movement (
            organization_id, id, item_id, level_id, location_id, layout_id, lot_id, lot_number,
            bucket, delta, balance_after, reason, source_type, source_id, group_id, reason_code_id,
            note, unit_id, unit_quantity, batch_id, position, created_at, updated_at, created_by
        )
        SELECT org, d.id, d.item, d.level_id, d.location, d.place, d.lot, d.lot_name, d.bucket,
            d.delta, d.balance,
            coalesce(d.reason, CASE WHEN facts ->> 'reason' = 'adjustment' AND net.zero
                THEN 'transfer' ELSE facts ->> 'reason' END),
            facts ->> 'source_type', facts ->> 'source_id', facts ->> 'group', d.reason_code,
            d.note, d.unit, d.unit_quantity, facts ->> 'batch',
            d.moves + row_number() OVER (PARTITION BY d.level_id ORDER BY d.n), d.moment, d.moment,
            facts ->> 'actor'
        FROM d
        JOIN net ON net.item = d.item
        WHERE d.delta <> 0 AND NOT EXISTS (SELECT 1 FROM bad)
        RETURNING id, reason
    )
    SELECT CASE
        WHEN EXISTS (SELECT 1 FROM bad) THEN (
            SELECT jsonb_build_object('problems', jsonb_agg(jsonb_build_object('n', bad.n,
                'problem', bad.problem, 'available', trim_scale(bad.was), 'quantity',
                trim_scale(abs(bad.delta))) ORDER BY bad.n))
            FROM bad
        )
        ELSE jsonb_build_object(
            'levels', coalesce((
                SELECT jsonb_agg(jsonb_build_object('id', u.id, 'item', u.item_id, 'location',
                    u.location_id) ORDER BY u.id)
                FROM u
            ), '[]'),
            'moves', (
                SELECT jsonb_agg(jsonb_build_object('n', d.n, 'id', i.id, 'level', d.level_id,
                    'delta', trim_scale(d.delta), 'balance', trim_scale(d.balance), 'reason',
                    i.reason, 'place', d.place) ORDER BY d.n)
                FROM d
                LEFT JOIN i ON i.id = d.id
            )
        )
    END
    INTO ret;
    RETURN ret;
END
$$;
