-- Writes lines and parcels of a manifest as a request says them. facts: now, actor. parcels, of
-- objects: n (its number), id, known (the request named it), delete, j (as it was sent). lines:
-- the same, and parcel (its id, or null) and the quantities that were sent: requested, packed,
-- received, defective.
-- Returns [{of: "line" or "parcel", n, member, problem}]; with problems nothing is written.
CREATE OR REPLACE FUNCTION manifests.articles_set(
    manifest text, location text, facts jsonb, parcels jsonb, lines jsonb
) RETURNS jsonb
    LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
    org CONSTANT text := current_setting('wharf.organization', true);
    moment CONSTANT timestamptz := facts ->> 'now';
    base bigint;
    about jsonb;
    problems jsonb;
BEGIN
    SELECT jsonb_agg(v.line || jsonb_build_object(
        'item', coalesce(a.item_id, r.item), 'matches', r.n, 'there', a.id IS NOT NULL,
        'unit', u.id, 'unit_problem', u.problem,
        'requested', manifests.in_base((v.line ->> 'requested')::numeric, u.factor),
        'packed', manifests.in_base((v.line ->> 'packed')::numeric, u.factor),
        'received', manifests.in_base((v.line ->> 'received')::numeric, u.factor),
        'defective', manifests.in_base((v.line ->> 'defective')::numeric, u.factor)
    ))
    INTO about
    FROM jsonb_array_elements(lines) v(line)
    LEFT JOIN manifests.article a ON a.organization_id = org AND a.id = v.line ->> 'id'
        AND a.manifest_id = manifest AND a.deleted_at IS NULL
        AND a.parcel_id IS NOT DISTINCT FROM v.line ->> 'parcel'
    LEFT JOIN LATERAL (
        SELECT count(*) AS n, min(x) AS item
        FROM manifests.items_of(org, v.line -> 'j' ->> 'item_id', v.line -> 'j' ->> 'sku',
            coalesce(v.line -> 'j' ->> 'gtin', v.line -> 'j' ->> 'code')) x
    ) r ON NOT (v.line ->> 'known')::boolean
    LEFT JOIN LATERAL manifests.unit_of(org, coalesce(a.item_id, r.item),
        v.line -> 'j' ->> 'item_transactional_unit_id', v.line -> 'j' ->> 'code') u ON true;

    SELECT jsonb_agg(jsonb_build_object('of', x.of, 'n', x.n, 'member', x.member, 'problem',
        x.problem) ORDER BY x.of, x.n)
    INTO problems
    FROM (
        SELECT 'line' AS of, (v ->> 'n')::integer AS n, p.member, p.problem
        FROM jsonb_array_elements(about) v
        LEFT JOIN manifests.article a ON a.organization_id = org AND a.id = v ->> 'id'
        LEFT JOIN locations.layout y
            ON y.organization_id = org AND y.id = v -> 'j' ->> 'layout_id' AND y.deleted_at IS NULL
        CROSS JOIN LATERAL (
            VALUES ('id', CASE WHEN (v ->> 'known')::boolean AND NOT (v ->> 'there')::boolean
                    THEN 'unknown' END),
                ('code', CASE WHEN NOT (v ->> 'known')::boolean AND (v ->> 'matches')::integer = 0
                    THEN 'item' WHEN (v ->> 'matches')::integer > 1 THEN 'ambiguous' END),
                ('item_transactional_unit_id', v ->> 'unit_problem'),
                ('layout_id', CASE WHEN v -> 'j' ->> 'layout_id' IS NOT NULL
                    AND y.location_id IS DISTINCT FROM location THEN 'layout' END),
                ('defective_qty', CASE WHEN coalesce((v ->> 'defective')::numeric, a.defective, 0)
                    > coalesce((v ->> 'received')::numeric, a.received, 0) THEN 'defective' END),
                ('received_qty', CASE WHEN (v ->> 'there')::boolean AND (
                    (v ->> 'received')::numeric < a.booked
                    OR (v ->> 'defective')::numeric < a.booked_defective
                    OR coalesce((v ->> 'received')::numeric, a.received)
                        - coalesce((v ->> 'defective')::numeric, a.defective)
                        < a.booked - a.booked_defective
                    OR ((v ->> 'delete')::boolean AND a.booked > 0)) THEN 'booked' END)
        ) p(member, problem)
        WHERE p.problem IS NOT NULL
        UNION ALL
        SELECT 'parcel', (v ->> 'n')::integer, p.member, p.problem
        FROM jsonb_array_elements(parcels) v
        LEFT JOIN manifests.parcel k ON k.organization_id = org AND k.id = v ->> 'id'
            AND k.manifest_id = manifest
        LEFT JOIN locations.layout y
            ON y.organization_id = org AND y.id = v -> 'j' ->> 'layout_id' AND y.deleted_at IS NULL
        CROSS JOIN LATERAL (
            VALUES ('id', CASE WHEN (v ->> 'known')::boolean AND k.id IS NULL
                    THEN 'unknown' END),
                ('layout_id', CASE WHEN v -> 'j' ->> 'layout_id' IS NOT NULL
                    AND y.location_id IS DISTINCT FROM location THEN 'layout' END),
                ('id', CASE WHEN (v ->> 'delete')::boolean AND (k.received OR EXISTS (
                    SELECT 1
                    FROM manifests.article a
                    WHERE a.organization_id = org AND a.manifest_id = manifest
                        AND a.parcel_id = k.id AND a.booked > 0)) THEN 'booked' END)
        ) p(member, problem)
        WHERE p.problem IS NOT NULL
    ) x;
    IF problems IS NOT NULL THEN
        RETURN problems;
    END IF;

    SELECT coalesce(max(p.position), 0) INTO base
    FROM manifests.parcel p
    WHERE p.organization_id = org AND p.manifest_id = manifest;
    INSERT INTO manifests.parcel AS k (
        organization_id, id, manifest_id, position, tracking_number, container_number, layout_id,
        unpacked, defective, missing
    )
    SELECT org, v ->> 'id', manifest, base + 1 + (v ->> 'n')::bigint,
        v -> 'j' ->> 'tracking_number', v -> 'j' ->> 'container_number', v -> 'j' ->> 'layout_id',
        coalesce((v -> 'j' ->> 'unpacked')::boolean, false),
        coalesce((v -> 'j' ->> 'defective')::boolean, false),
        coalesce((v -> 'j' ->> 'missing')::boolean, false)
    FROM jsonb_array_elements(parcels) v
    WHERE NOT (v ->> 'known')::boolean;
    UPDATE manifests.parcel k
    SET tracking_number = CASE WHEN v.j ? 'tracking_number' THEN v.j ->> 'tracking_number'
            ELSE k.tracking_number END,
        container_number = CASE WHEN v.j ? 'container_number' THEN v.j ->> 'container_number'
            ELSE k.container_number END,
        layout_id = CASE WHEN v.j ? 'layout_id' THEN v.j ->> 'layout_id' ELSE k.layout_id END,
        unpacked = coalesce((v.j ->> 'unpacked')::boolean, k.unpacked),
        defective = coalesce((v.j ->> 'defective')::boolean, k.defective),
        missing = coalesce((v.j ->> 'missing')::boolean, k.missing)
    FROM jsonb_to_recordset(parcels) v(id text, known boolean, delete boolean, j jsonb)
    WHERE v.known AND NOT v.delete AND k.organization_id = org AND k.id = v.id;
    UPDATE manifests.article a
    SET deleted_at = moment, updated_at = moment, updated_by = facts ->> 'actor',
        version = a.version + 1
    WHERE a.organization_id = org AND a.manifest_id = manifest AND a.deleted_at IS NULL AND (
        a.id IN (
            SELECT v ->> 'id' FROM jsonb_array_elements(about) v WHERE (v ->> 'delete')::boolean
        ) OR a.parcel_id IN (
            SELECT v ->> 'id' FROM jsonb_array_elements(parcels) v WHERE (v ->> 'delete')::boolean
        ));
    DELETE FROM manifests.parcel k
    WHERE k.organization_id = org AND k.manifest_id = manifest AND k.id IN (
        SELECT v ->> 'id' FROM jsonb_array_elements(parcels) v WHERE (v ->> 'delete')::boolean
    );

    UPDATE manifests.article a
    SET requested = coalesce(v.requested, a.requested), packed = coalesce(v.packed, a.packed),
        received = coalesce(v.received, a.received), defective = coalesce(v.defective, a.defective),
        unit_id = coalesce(v.unit, a.unit_id),
        layout_id = CASE WHEN v.j ? 'layout_id' THEN v.j ->> 'layout_id' ELSE a.layout_id END,
        lot_number = CASE WHEN v.j ? 'lot_number' THEN v.j ->> 'lot_number' ELSE a.lot_number END,
        expires_at = CASE WHEN v.j ? 'expires_at' THEN (v.j ->> 'expires_at')::timestamptz
            ELSE a.expires_at END,
        serial_numbers = coalesce(nullif(v.j -> 'serial_numbers', 'null'), a.serial_numbers),
        reason_code_id = CASE WHEN v.j ? 'reason_code_id' THEN v.j ->> 'reason_code_id'
            ELSE a.reason_code_id END,
        attributes = coalesce(nullif(v.j -> 'attributes', 'null'), a.attributes),
        special_handling_tags = coalesce(nullif(v.j -> 'special_handling_tags', 'null'),
            a.special_handling_tags),
        value = CASE WHEN v.j ? 'value' THEN (v.j ->> 'value')::bigint ELSE a.value END,
        harmonized_code = CASE WHEN v.j ? 'harmonized_code' THEN v.j ->> 'harmonized_code'
            ELSE a.harmonized_code END,
        origin_country = CASE WHEN v.j ? 'origin_country' THEN v.j ->> 'origin_country'
            ELSE a.origin_country END,
        comment = CASE WHEN v.j ? 'comment' THEN v.j ->> 'comment' ELSE a.comment END,
        updated_at = moment, updated_by = facts ->> 'actor', version = a.version + 1
    FROM jsonb_to_recordset(about) v(
        id text, known boolean, delete boolean, j jsonb, unit text, requested numeric,
        packed numeric, received numeric, defective numeric
    )
    WHERE v.known AND NOT v.delete AND a.organization_id = org AND a.id = v.id;

    SELECT coalesce(max(a.position), 0) INTO base
    FROM manifests.article a
    WHERE a.organization_id = org AND a.manifest_id = manifest;
    INSERT INTO manifests.article (
        organization_id, id, manifest_id, location_id, parcel_id, position, item_id, requested,
        packed, received, defective, unit_id, layout_id, lot_number, expires_at, serial_numbers,
        reason_code_id, attributes, special_handling_tags, value, harmonized_code, origin_country,
        comment, created_at, updated_at, created_by, updated_by
    )
    SELECT org, v.id, manifest, location, v.parcel, base + 1 + v.n, v.item,
        coalesce(v.requested, 0), coalesce(v.packed, v.requested, 0), coalesce(v.received, 0),
        coalesce(v.defective, 0), v.unit, v.j ->> 'layout_id', v.j ->> 'lot_number',
        (v.j ->> 'expires_at')::timestamptz,
        coalesce(nullif(v.j -> 'serial_numbers', 'null'), '[]'), v.j ->> 'reason_code_id',
        coalesce(nullif(v.j -> 'attributes', 'null'), '[]'),
        coalesce(nullif(v.j -> 'special_handling_tags', 'null'), '[]'),
        (v.j ->> 'value')::bigint, v.j ->> 'harmonized_code', v.j ->> 'origin_country',
        v.j ->> 'comment', moment, moment, facts ->> 'actor', facts ->> 'actor'
    FROM jsonb_to_recordset(about) v(
        n bigint, id text, known boolean, parcel text, item text, j jsonb, unit text,
        requested numeric, packed numeric, received numeric, defective numeric
    )
    WHERE NOT v.known;
    RETURN NULL;
END
$$;
