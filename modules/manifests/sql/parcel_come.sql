-- Takes a whole parcel of a manifest, whose row the caller has locked: unpacked as asked, or as the
-- parcel says. lines: the request says what was in it. closed: the manifest is completed.
-- Returns {problem}, or {unpacked, made, rest}: rest, of a parcel that is unpacked and of which
-- nobody says what was in it, is what is still to come: [{article_id, quantity}].
CREATE OR REPLACE FUNCTION manifests.parcel_come(
    manifest text, parcel text, asked boolean, lines boolean, closed boolean
) RETURNS jsonb
    LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
    org CONSTANT text := current_setting('wharf.organization', true);
    p record;
    opens boolean;
    rest jsonb;
BEGIN
    SELECT * INTO p
    FROM manifests.parcel k
    WHERE k.organization_id = org AND k.id = parcel AND k.manifest_id = manifest;
    IF NOT FOUND THEN
        RETURN '{"problem": "parcel"}';
    END IF;
    opens := coalesce(asked, lines OR p.unpacked OR p.stored);
    IF closed AND NOT (p.stored AND opens) THEN
        RETURN '{"problem": "closed"}';
    ELSIF p.received AND NOT lines AND (NOT opens OR NOT p.stored) THEN
        RETURN '{"problem": "received"}';
    END IF;
    IF opens AND NOT lines THEN
        SELECT jsonb_agg(jsonb_build_object('article_id', a.id,
            'quantity', trim_scale(a.packed - a.received)) ORDER BY a.position, a.id)
        INTO rest
        FROM manifests.article a
        WHERE a.organization_id = org AND a.manifest_id = manifest AND a.parcel_id = parcel
            AND a.deleted_at IS NULL AND a.packed > a.received;
    END IF;
    UPDATE manifests.parcel k
    SET received = true, missing = false, unpacked = opens, stored = NOT opens,
        made = p.made OR (rest IS NULL AND NOT lines)
    WHERE k.organization_id = org AND k.id = parcel;
    RETURN jsonb_build_object('unpacked', opens, 'made', p.made, 'rest', rest);
END
$$;
