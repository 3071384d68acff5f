-- Returns how many base units a version of a bill yields; null when there is no such version.
CREATE OR REPLACE FUNCTION items.bom_output_of(org text, bom text, version text) RETURNS numeric
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog AS $$
BEGIN
    RETURN (
        SELECT v.output_qty
        FROM items.bom_version v
        WHERE v.organization_id = org AND v.bom_id = bom
            AND v.bom_version = items.bom_number(version)
    );
END
$$;
