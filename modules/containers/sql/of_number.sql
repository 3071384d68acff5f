-- Returns the containers with a number, in lower or upper case; as shipments.of_number, by an
-- index that row-level security keeps from a plugin's statement.
CREATE OR REPLACE FUNCTION containers.of_number(number text) RETURNS SETOF containers.container
    LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 1 SET search_path = pg_catalog AS $$
BEGIN
    RETURN QUERY SELECT * FROM containers.container c
        WHERE c.organization_id = current_setting('wharf.organization', true)
            AND upper(c.tracking_number) = upper(of_number.number) AND c.deleted_at IS NULL;
END
$$;
