-- Counts what came for the lines of a manifest, whose row the caller has locked (spec 03 section
-- 7.3). facts: now, actor, over (most percent above packed, or null), reason (there is one for
-- all), layout and parcel (of all lines that name none), allow_expired. lines, of objects: n, id
-- (of a new article, when one is needed), received, defective (or none), j (as it was sent).
-- Returns {problems: [{n, member, problem}]}, or {parcel: id} when the one line is no item but the
-- code of a parcel, or {parts, parcels}: what is to be booked, and the parcels that are open now,
-- with made: the module parcels has its row. A line becomes several parts when several articles
-- take it.
CREATE OR REPLACE FUNCTION manifests.receive(manifest text, facts jsonb, lines jsonb)
    RETURNS jsonb
    LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
    org CONSTANT text := current_setting('wharf.organization', true);
    v jsonb;
    about jsonb;
    parts jsonb := '[]';
    problems jsonb := '[]';
    parcels jsonb;
BEGIN
    facts := facts || jsonb_build_object('announced', manifests.announced(org, manifest));
    FOR v IN SELECT e FROM jsonb_array_elements(lines) e LOOP
        about := manifests.receive_find(org, manifest, facts, v);
        IF about -> 'parcel_code' IS NOT NULL AND jsonb_array_length(lines) = 1 THEN
            RETURN jsonb_build_object('parcel', about -> 'parcel_code');
        END IF;
        IF about -> 'problem' IS NULL THEN
            about := manifests.receive_line(org, manifest, facts, v, about);
        END IF;
        IF about -> 'problem' IS NULL THEN
            parts := parts || (about -> 'parts');
        ELSE
            problems := problems || (about || jsonb_build_object('n', v -> 'n'));
        END IF;
    END LOOP;
    IF problems <> '[]' THEN
        RETURN jsonb_build_object('problems', problems);
    END IF;
    SELECT jsonb_agg(jsonb_build_object('id', p.id, 'made', p.made) ORDER BY p.id)
    INTO parcels
    FROM manifests.parcel p
    WHERE p.organization_id = org AND p.id IN (
        SELECT x ->> 'parcel' FROM jsonb_array_elements(parts) x
    );
    UPDATE manifests.parcel p
    SET received = true, unpacked = true, missing = false, stored = false, made = true
    WHERE p.organization_id = org AND p.id IN (
        SELECT x ->> 'id' FROM jsonb_array_elements(parcels) x
    );
    RETURN jsonb_build_object('parts', parts, 'parcels', coalesce(parcels, '[]'));
END
$$;
