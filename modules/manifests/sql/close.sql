-- Ends the counting of a manifest that is completed: what its lines say and no receipt has booked
-- is counted as booked. facts: now, over and under (most percent of difference, or null), reason
-- (the manifest has one), receipts (there are some).
-- Returns {problems: [{article, problem}]}, or {parts, store}: what is to be booked, and the
-- parcels that are stored unopened.
CREATE OR REPLACE FUNCTION manifests.close(manifest text, facts jsonb) RETURNS jsonb
    LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
    org CONSTANT text := current_setting('wharf.organization', true);
    moment CONSTANT timestamptz := facts ->> 'now';
    came CONSTANT boolean := facts ->> 'receipts';
    announced CONSTANT boolean := manifests.announced(org, manifest);
    stored jsonb := '[]';
    problems jsonb;
    parts jsonb;
BEGIN
    IF came THEN
        UPDATE manifests.parcel p SET missing = true
        WHERE p.organization_id = org AND p.manifest_id = manifest AND NOT p.received;
    ELSE
        WITH s AS (
            UPDATE manifests.parcel p SET received = true, stored = true, made = true
            WHERE p.organization_id = org AND p.manifest_id = manifest AND NOT p.received
                AND NOT p.unpacked AND NOT p.missing AND NOT EXISTS (
                    SELECT 1
                    FROM manifests.article a
                    WHERE a.organization_id = org AND a.parcel_id = p.id AND a.received > 0
                        AND a.deleted_at IS NULL
                )
            RETURNING p.id, p.position
        )
        SELECT coalesce(jsonb_agg(s.id ORDER BY s.position, s.id), '[]') INTO stored FROM s;
        UPDATE manifests.parcel p SET received = NOT p.missing, unpacked = NOT p.missing
        WHERE p.organization_id = org AND p.manifest_id = manifest AND NOT p.received;
    END IF;

    SELECT jsonb_agg(jsonb_build_object('article', x.id, 'problem', x.problem)
        ORDER BY x.position, x.id)
    INTO problems
    FROM (
        SELECT a.id, a.position, CASE
                WHEN a.received < a.packed * (1 - (facts ->> 'under')::numeric / 100)
                    AND a.reason_code_id IS NULL AND NOT (facts ->> 'reason')::boolean
                    AND NOT coalesce(p.stored, false) THEN 'under'
                WHEN a.received > a.booked
                    AND a.received > a.packed * (1 + (facts ->> 'over')::numeric / 100)
                    AND a.reason_code_id IS NULL AND NOT (facts ->> 'reason')::boolean
                    AND announced THEN 'over'
                WHEN a.received > a.booked AND l.expires_at <> a.expires_at THEN 'lot_expiry'
            END AS problem
        FROM manifests.article a
        LEFT JOIN manifests.parcel p ON p.organization_id = org AND p.id = a.parcel_id
        LEFT JOIN items.lot l ON l.organization_id = org AND l.item_id = a.item_id
            AND l.lot_number = a.lot_number
        WHERE a.organization_id = org AND a.manifest_id = manifest AND a.deleted_at IS NULL
    ) x
    WHERE x.problem IS NOT NULL;
    IF problems IS NOT NULL THEN
        RETURN jsonb_build_object('problems', problems);
    END IF;

    SELECT coalesce(jsonb_agg(jsonb_build_object('n', 0, 'article', a.id, 'item', a.item_id,
        'asset', i.is_asset, 'received', a.received - a.booked,
        'defective', a.defective - a.booked_defective,
        'over', greatest(0, a.received - greatest(a.packed, a.booked)),
        'layout', coalesce(a.layout_id, p.layout_id),
        'lot', CASE WHEN i.lot_tracking <> 'none' THEN a.lot_number END,
        'expires', CASE WHEN l.expires_at IS NULL THEN a.expires_at END,
        'serials', manifests.serials_rest(a.serial_numbers, a.serials_received,
            a.received - a.booked),
        'reason', a.reason_code_id, 'comment', a.comment, 'parcel', a.parcel_id
    ) ORDER BY a.position, a.id), '[]')
    INTO parts
    FROM manifests.article a
    JOIN items.item i ON i.organization_id = org AND i.id = a.item_id
    LEFT JOIN manifests.parcel p ON p.organization_id = org AND p.id = a.parcel_id
    LEFT JOIN items.lot l ON l.organization_id = org AND l.item_id = a.item_id
        AND l.lot_number = a.lot_number
    WHERE a.organization_id = org AND a.manifest_id = manifest AND a.deleted_at IS NULL
        AND (a.received > a.booked OR a.defective > a.booked_defective);
    UPDATE manifests.article a
    SET booked = a.received, booked_defective = a.defective, updated_at = moment,
        version = a.version + 1
    WHERE a.organization_id = org AND a.manifest_id = manifest AND a.deleted_at IS NULL
        AND (a.received > a.booked OR a.defective > a.booked_defective);
    RETURN jsonb_build_object('parts', parts, 'store', stored);
END
$$;
