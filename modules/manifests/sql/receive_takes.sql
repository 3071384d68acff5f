-- Says which articles of a manifest take how much of a quantity of an item, in their order: [{id,
-- take}]; null when it has none of it. Articles of another lot are asked only when there is none of
-- this lot.
CREATE OR REPLACE FUNCTION manifests.receive_takes(
    org text, manifest text, about jsonb, inside text, lot text, quantity numeric
) RETURNS jsonb
    LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
    a record;
    rest numeric := quantity;
    takes jsonb := '[]';
    last jsonb;
BEGIN
    FOR a IN
        WITH c AS (
            SELECT x.id, x.position, greatest(0, x.packed - x.received) AS room,
                lot IS NULL OR x.lot_number IS NULL OR x.lot_number = lot AS fits
            FROM manifests.article x
            WHERE x.organization_id = org AND x.manifest_id = manifest AND x.deleted_at IS NULL
                AND x.item_id = about ->> 'item'
                AND (about ->> 'article' IS NULL OR x.id = about ->> 'article')
                AND (inside IS NULL OR about ->> 'article' IS NOT NULL OR x.parcel_id = inside)
        )
        SELECT c.id, c.room
        FROM c
        WHERE c.fits OR NOT EXISTS (SELECT 1 FROM c k WHERE k.fits)
        ORDER BY c.position, c.id
    LOOP
        last := jsonb_build_object('id', a.id, 'take', least(rest, a.room));
        IF least(rest, a.room) > 0 THEN
            takes := takes || last;
            rest := rest - least(rest, a.room);
        END IF;
        EXIT WHEN rest = 0;
    END LOOP;
    IF last IS NULL THEN
        RETURN NULL;
    ELSIF rest > 0 AND takes -> -1 ->> 'id' = last ->> 'id' THEN
        takes := (takes - -1) || jsonb_build_object('id', last -> 'id', 'take',
            (last ->> 'take')::numeric + rest);
    ELSIF rest > 0 THEN
        takes := takes || jsonb_build_object('id', last -> 'id', 'take', rest);
    END IF;
    RETURN takes;
END
$$;
