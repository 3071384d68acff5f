-- As shipments.of_number: a look by lower or upper case that row-level security keeps from its index.
CREATE OR REPLACE FUNCTION containers.of_number(number text) RETURNS SETOF containers.container
    LANGUAGE sql STABLE SECURITY DEFINER ROWS 1 SET search_path = pg_catalog AS $$
    SELECT * FROM containers.container c WHERE c.organization_id = current_setting('wharf.organization', true)
    AND upper(c.tracking_number) = upper(number) AND c.deleted_at IS NULL
$$;
