-- Returns the transactional unit of an item that a line means: the one that it names, else the one
-- whose barcode its code is, when that is none of the item itself; null: the base unit. What is
-- named and not there comes back with the problem.
CREATE OR REPLACE FUNCTION manifests.unit_of(
    org text, item text, named text, code text, OUT id text, OUT factor numeric, OUT problem text
)
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog AS $$
DECLARE
    u jsonb;
    own boolean;
BEGIN
    IF named IS NOT NULL THEN
        SELECT x INTO u
        FROM items.item i, jsonb_array_elements(i.transactional_units) x
        WHERE i.organization_id = org AND i.id = item AND x ->> 'id' = named;
        id := named;
        problem := CASE WHEN u IS NULL THEN 'unit' WHEN NOT (u ->> 'active')::boolean
            THEN 'unit_inactive' END;
    ELSIF code IS NOT NULL THEN
        SELECT x,
            items.codes_of(i.sku, i.gtin, i.upc, '[]')
                @> jsonb_build_array(lower(code COLLATE "default"))
        INTO u, own
        FROM items.item i
        LEFT JOIN LATERAL (
            SELECT e AS x
            FROM jsonb_array_elements(i.transactional_units) e
            WHERE (e ->> 'active')::boolean AND items.codes_of(NULL, NULL, NULL,
                jsonb_build_array(e)) @> jsonb_build_array(lower(code COLLATE "default"))
            LIMIT 1
        ) e ON true
        WHERE i.organization_id = org AND i.id = item;
        IF own THEN
            u := NULL;
        END IF;
        id := u ->> 'id';
    END IF;
    factor := (u ->> 'conversion_factor')::numeric;
END
$$;
