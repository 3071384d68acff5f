-- Returns the items that a line names: by id, by sku, or by a code that a scanner read (spec 09
-- section 4).
CREATE OR REPLACE FUNCTION manifests.items_of(org text, item text, sku text, code text)
    RETURNS SETOF text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog AS $$
BEGIN
    IF item IS NOT NULL THEN
        RETURN QUERY
            SELECT i.id FROM items.item i
            WHERE i.organization_id = org AND i.id = item AND i.deleted_at IS NULL;
    ELSIF items_of.sku IS NOT NULL THEN
        RETURN QUERY
            SELECT i.id FROM items.item i
            WHERE i.organization_id = org AND lower(i.sku) = lower(items_of.sku)
                AND i.deleted_at IS NULL;
    ELSIF code IS NOT NULL THEN
        RETURN QUERY
            SELECT i.id FROM items.item i
            WHERE i.organization_id = org AND i.deleted_at IS NULL
                AND i.codes @> jsonb_build_array(lower(code COLLATE "default"));
    END IF;
END
$$;
