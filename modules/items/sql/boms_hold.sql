-- Holds bills as they are until the transaction ends, for builds by them. One that was never built
-- is locked alone, since the build will mark it; builds of the others go side by side.
CREATE OR REPLACE FUNCTION items.boms_hold(boms text[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    org CONSTANT text := current_setting('wharf.organization', true);
BEGIN
    PERFORM 1
    FROM items.bom b
    WHERE b.organization_id = org AND b.id = ANY (boms) AND NOT b.has_build_history
    ORDER BY b.id
    FOR UPDATE;
    PERFORM 1
    FROM items.bom b
    WHERE b.organization_id = org AND b.id = ANY (boms)
    ORDER BY b.id
    FOR SHARE;
END
$$;
