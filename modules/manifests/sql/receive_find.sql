-- Finds what a line of a receipt is about: {item, article (the only one that may take it, or
-- null), serials}, or {parcel_code: id} for the code of a parcel, or {member, problem}.
CREATE OR REPLACE FUNCTION manifests.receive_find(
    org text, manifest text, facts jsonb, line jsonb
) RETURNS jsonb
    LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
    j CONSTANT jsonb := line -> 'j';
    code CONSTANT text := j ->> 'code';
    inside CONSTANT text := coalesce(j ->> 'parcel_id', facts ->> 'parcel');
    a record;
    items text[];
    own text[];
    parcel text;
BEGIN
    IF inside IS NOT NULL AND NOT EXISTS (
        SELECT 1
        FROM manifests.parcel p
        WHERE p.organization_id = org AND p.id = inside AND p.manifest_id = manifest
    ) THEN
        RETURN '{"member": "parcel_id", "problem": "parcel"}';
    END IF;
    IF j ->> 'article_id' IS NOT NULL THEN
        SELECT x.id, x.item_id, x.serial_numbers INTO a
        FROM manifests.article x
        WHERE x.organization_id = org AND x.id = j ->> 'article_id' AND x.manifest_id = manifest
            AND x.deleted_at IS NULL;
        IF NOT FOUND THEN
            RETURN '{"member": "article_id", "problem": "article"}';
        END IF;
        IF code IS NOT NULL AND NOT a.serial_numbers ? code
                AND a.item_id NOT IN (SELECT manifests.items_of(org, NULL, NULL, code)) THEN
            RETURN '{"member": "code", "problem": "mismatch"}';
        END IF;
        RETURN jsonb_build_object('item', a.item_id, 'article', a.id, 'serials',
            CASE WHEN a.serial_numbers ? code THEN jsonb_build_array(code) END);
    END IF;
    IF j ->> 'item_id' IS NULL AND j ->> 'sku' IS NULL AND j ->> 'gtin' IS NULL THEN
        IF code IS NULL THEN
            RETURN '{"member": "code", "problem": "nothing"}';
        END IF;
        SELECT x.id, x.item_id INTO a
        FROM manifests.article x
        WHERE x.organization_id = org AND x.manifest_id = manifest AND x.deleted_at IS NULL
            AND x.serial_numbers ? code
        ORDER BY x.serials_received ? code, x.position, x.id
        LIMIT 1;
        IF FOUND THEN
            RETURN jsonb_build_object('item', a.item_id, 'article', a.id, 'serials',
                jsonb_build_array(code));
        END IF;
    END IF;
    items := ARRAY(SELECT manifests.items_of(org, j ->> 'item_id', j ->> 'sku',
        coalesce(j ->> 'gtin', code)));
    own := ARRAY(
        SELECT DISTINCT x.item_id
        FROM manifests.article x
        WHERE x.organization_id = org AND x.manifest_id = manifest AND x.deleted_at IS NULL
            AND x.item_id = ANY (items)
    );
    IF cardinality(own) > 0 THEN
        items := own;
    END IF;
    IF cardinality(items) = 1 THEN
        RETURN jsonb_build_object('item', items[1]);
    ELSIF cardinality(items) > 1 THEN
        RETURN '{"member": "code", "problem": "ambiguous"}';
    END IF;
    SELECT p.id INTO parcel
    FROM manifests.parcel p
    WHERE p.organization_id = org AND p.manifest_id = manifest
        AND (p.id = code OR lower(p.tracking_number) = lower(code)
            OR lower(p.container_number) = lower(code))
    ORDER BY p.received, p.position, p.id
    LIMIT 1;
    IF parcel IS NOT NULL THEN
        RETURN jsonb_build_object('parcel_code', parcel, 'member', 'code', 'problem', 'item');
    END IF;
    RETURN jsonb_build_object('problem', 'item', 'member', CASE
        WHEN j ->> 'item_id' IS NOT NULL THEN 'item_id' WHEN j ->> 'sku' IS NOT NULL THEN 'sku'
        WHEN j ->> 'gtin' IS NOT NULL THEN 'gtin' ELSE 'code' END);
END
$$;
