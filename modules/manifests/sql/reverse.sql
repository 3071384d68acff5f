-- Takes a receipt of a manifest back, whose row the caller has locked. facts: now, actor, by (the
-- receipt that does it). Returns {problem}, or {parts, parcel}: what was booked, to be booked the
-- other way round, and the parcel that it took as a whole: one that was stored before is stored
-- again, another one has not come.
CREATE OR REPLACE FUNCTION manifests.reverse(manifest text, receipt text, facts jsonb)
    RETURNS jsonb
    LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
    org CONSTANT text := current_setting('wharf.organization', true);
    moment CONSTANT timestamptz := facts ->> 'now';
    r record;
    parts jsonb;
    parcel text;
    again boolean;
BEGIN
    SELECT * INTO r
    FROM manifests.receipt x
    WHERE x.organization_id = org AND x.id = receipt AND x.manifest_id = manifest
        AND x.deleted_at IS NULL
    FOR UPDATE;
    IF NOT FOUND THEN
        RETURN '{"problem": "receipt"}';
    ELSIF r.type = 'reversal' OR r.reversed_by_receipt_id IS NOT NULL THEN
        RETURN '{"problem": "reversed"}';
    END IF;
    SELECT coalesce(jsonb_agg(jsonb_build_object('n', 0, 'article', l.article_id,
        'item', l.item_id, 'asset', false,
        'received', l.received_qty, 'defective', l.defective_qty, 'over', 0,
        'layout', y.id, 'lot', l.lot_number, 'serials', l.serial_numbers,
        'assets', l.asset_ids, 'parcel', a.parcel_id
    ) ORDER BY l.o), '[]')
    INTO parts
    FROM ROWS FROM (jsonb_to_recordset(r.lines) AS (
        article_id text, item_id text, received_qty numeric,
        defective_qty numeric, layout_id text, lot_number text, serial_numbers jsonb,
        asset_ids jsonb
    )) WITH ORDINALITY l(
        article_id, item_id, received_qty, defective_qty, layout_id, lot_number,
        serial_numbers, asset_ids, o
    )
    LEFT JOIN manifests.article a ON a.organization_id = org AND a.id = l.article_id
    LEFT JOIN locations.layout y ON y.organization_id = org AND y.id = l.layout_id
        AND y.deleted_at IS NULL;
    UPDATE manifests.article a
    SET received = a.received - v.received, booked = a.booked - v.received,
        defective = a.defective - v.defective, booked_defective = a.booked_defective - v.defective,
        serials_received = coalesce((
            SELECT jsonb_agg(s) FROM jsonb_array_elements(a.serials_received) s
            WHERE NOT EXISTS (
                SELECT 1
                FROM jsonb_to_recordset(parts) z(article text, serials jsonb)
                WHERE z.article = a.id AND z.serials @> jsonb_build_array(s)
            )
        ), '[]'), updated_at = moment, updated_by = facts ->> 'actor', version = a.version + 1
    FROM (
        SELECT x.article, sum(x.received) AS received, sum(x.defective) AS defective
        FROM jsonb_to_recordset(parts) x(article text, received numeric, defective numeric)
        GROUP BY x.article
    ) v
    WHERE a.organization_id = org AND a.id = v.article;
    UPDATE manifests.receipt x
    SET reversed_by_receipt_id = facts ->> 'by', updated_at = moment, version = x.version + 1
    WHERE x.organization_id = org AND x.id = receipt;
    IF r.type = 'parcel' AND NOT EXISTS (
        SELECT 1
        FROM manifests.article a
        WHERE a.organization_id = org AND a.parcel_id = r.parcel_id AND a.booked > 0
            AND a.deleted_at IS NULL
    ) THEN
        again := parts <> '[]' AND EXISTS (
            SELECT 1
            FROM manifests.receipt x
            WHERE x.organization_id = org AND x.manifest_id = manifest
                AND x.reversed_by_receipt_id IS NULL AND (x.type = 'completion'
                    OR (x.type = 'parcel' AND x.parcel_id = r.parcel_id AND x.lines = '[]'))
        );
        UPDATE manifests.parcel p
        SET received = again, stored = again, unpacked = false
        WHERE p.organization_id = org AND p.id = r.parcel_id AND (p.stored OR parts <> '[]')
        RETURNING p.id INTO parcel;
    END IF;
    RETURN jsonb_build_object('parts', parts, 'parcel', parcel);
END
$$;
