-- Tells whether there are more levels than items.levels_shown shows with the same arguments.
CREATE OR REPLACE FUNCTION items.levels_more(
    organization text, item text, reaches_all boolean, reached text[], location text, zero text,
    most integer
) RETURNS boolean
    LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN EXISTS (
        SELECT 1
        FROM items.level v
        WHERE v.organization_id = organization AND v.item_id = item
            AND (reaches_all OR v.location_id = ANY (reached))
            AND (location IS NULL OR v.location_id = ANY (string_to_array(location, ',')))
            AND (lower(zero) IN ('true', '1', 'yes') OR v.available <> 0 OR v.reserved <> 0
                OR v.damaged <> 0 OR v.manifested <> 0)
        OFFSET most
    );
END
$$;
