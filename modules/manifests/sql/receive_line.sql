-- Counts one line of a receipt for its articles (spec 03 sections 7.3 and 7.4): those of the item,
-- in the parcel and of the lot when these are named, the first of which something is to come
-- first. What none takes counts for the last one; an item without article gets a new one. about:
-- what receive_find says. Returns {parts}, or {member, problem}. The defective units are the last
-- ones of the line, and so are those with serial numbers.
CREATE OR REPLACE FUNCTION manifests.receive_line(
    org text, manifest text, facts jsonb, line jsonb, about jsonb
) RETURNS jsonb
    LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
    j CONSTANT jsonb := line -> 'j';
    moment CONSTANT timestamptz := facts ->> 'now';
    inside CONSTANT text := coalesce(j ->> 'parcel_id', facts ->> 'parcel');
    it record;
    u record;
    a record;
    lot record;
    serials jsonb := coalesce(nullif(j -> 'serial_numbers', 'null'),
        nullif(about -> 'serials', 'null'), '[]');
    numbered CONSTANT integer := jsonb_array_length(serials);
    q numeric;
    d numeric;
    passed numeric := 0;
    takes jsonb;
    take numeric;
    bad numeric;
    over numeric;
    part_serials jsonb;
    number text;
    expires timestamptz;
    parts jsonb := '[]';
BEGIN
    SELECT i.is_asset, i.lot_tracking INTO it
    FROM items.item i
    WHERE i.organization_id = org AND i.id = about ->> 'item';
    SELECT * INTO u
    FROM manifests.unit_of(org, about ->> 'item', j ->> 'item_transactional_unit_id',
        CASE WHEN about ->> 'serials' IS NULL THEN j ->> 'code' END);
    IF u.problem IS NOT NULL THEN
        RETURN jsonb_build_object('member', 'item_transactional_unit_id', 'problem', u.problem);
    END IF;
    q := manifests.in_base((line ->> 'received')::numeric, u.factor);
    d := coalesce(manifests.in_base((line ->> 'defective')::numeric, u.factor), 0);
    IF d > q THEN
        RETURN '{"member": "defective_qty", "problem": "defective"}';
    ELSIF it.is_asset AND (q <> trunc(q) OR d <> trunc(d)) THEN
        RETURN '{"member": "received_qty", "problem": "fractional"}';
    ELSIF numbered > q OR (numbered > 0 AND NOT it.is_asset) THEN
        RETURN jsonb_build_object('member', 'serial_numbers', 'problem', CASE WHEN it.is_asset
            THEN 'serials' ELSE 'no_asset' END);
    END IF;
    takes := manifests.receive_takes(org, manifest, about, inside, j ->> 'lot_number', q);
    IF takes IS NULL THEN
        INSERT INTO manifests.article (
            organization_id, id, manifest_id, location_id, parcel_id, position, item_id,
            unexpected, created_at, updated_at, created_by, updated_by
        )
        SELECT org, line ->> 'id', manifest, m.location_id, inside, coalesce((
                SELECT max(x.position)
                FROM manifests.article x
                WHERE x.organization_id = org AND x.manifest_id = manifest
            ), 0) + 1, about ->> 'item', true, moment, moment, facts ->> 'actor',
            facts ->> 'actor'
        FROM manifests.manifest m
        WHERE m.organization_id = org AND m.id = manifest;
        takes := jsonb_build_array(jsonb_build_object('id', line ->> 'id', 'take', q));
    END IF;

    FOR a IN
        SELECT x.*, p.layout_id AS parcel_layout, (t.e ->> 'take')::numeric AS take
        FROM jsonb_array_elements(takes) WITH ORDINALITY t(e, o)
        JOIN manifests.article x ON x.organization_id = org AND x.id = t.e ->> 'id'
        LEFT JOIN manifests.parcel p ON p.organization_id = org AND p.id = x.parcel_id
        ORDER BY t.o
    LOOP
        take := a.take;
        bad := greatest(0, passed + take - greatest(passed, q - d));
        SELECT coalesce(jsonb_agg(s.e ORDER BY s.o), '[]') INTO part_serials
        FROM jsonb_array_elements(serials) WITH ORDINALITY s(e, o)
        WHERE q - numbered + s.o - 1 >= passed AND q - numbered + s.o - 1 < passed + take;
        over := greatest(0, a.received + take - greatest(a.packed, a.received));
        IF over > 0 AND (facts ->> 'announced')::boolean
                AND a.received + take > a.packed * (1 + (facts ->> 'over')::numeric / 100)
                AND coalesce(j ->> 'reason_code_id', a.reason_code_id) IS NULL
                AND NOT (facts ->> 'reason')::boolean THEN
            RETURN '{"member": "received_qty", "problem": "over"}';
        END IF;
        number := coalesce(j ->> 'lot_number',
            CASE WHEN it.lot_tracking <> 'none' THEN a.lot_number END);
        expires := coalesce((j ->> 'expires_at')::timestamptz,
            CASE WHEN number = a.lot_number THEN a.expires_at END);
        SELECT l.expires_at INTO lot
        FROM items.lot l
        WHERE l.organization_id = org AND l.item_id = a.item_id AND l.lot_number = number;
        IF lot.expires_at <> expires THEN
            RETURN '{"member": "expires_at", "problem": "lot_expiry"}';
        ELSIF coalesce(lot.expires_at, expires) <= moment
                AND NOT (facts ->> 'allow_expired')::boolean THEN
            RETURN '{"member": "lot_number", "problem": "expired"}';
        END IF;
        UPDATE manifests.article x
        SET received = x.received + take, booked = x.booked + take,
            defective = x.defective + bad, booked_defective = x.booked_defective + bad,
            serials_received = x.serials_received || part_serials, updated_at = moment,
            updated_by = facts ->> 'actor', version = x.version + 1
        WHERE x.organization_id = org AND x.id = a.id;
        parts := parts || jsonb_build_object('n', line -> 'n', 'article', a.id,
            'item', a.item_id, 'asset', it.is_asset,
            'received', take, 'defective', bad, 'over', over,
            'layout', coalesce(j ->> 'layout_id', facts ->> 'layout', a.layout_id,
                a.parcel_layout),
            'lot', number, 'expires', CASE WHEN lot.expires_at IS NULL THEN expires END,
            'serials', part_serials, 'reason', coalesce(j ->> 'reason_code_id',
                CASE WHEN over > 0 THEN a.reason_code_id END),
            'comment', j ->> 'comment', 'parcel', a.parcel_id, 'unit', u.id,
            'unit_quantity', CASE WHEN u.id IS NOT NULL AND take = q
                THEN (line ->> 'received')::numeric END);
        passed := passed + take;
    END LOOP;
    RETURN jsonb_build_object('parts', parts);
END
$$;
