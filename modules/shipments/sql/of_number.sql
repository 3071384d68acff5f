-- Returns the shipments with a number, in lower or upper case. Row-level security lets a
-- statement of a plugin use an index by plain columns only, not one by lower(...): it would walk
-- all shipments of the organization. This looks for itself, into the organization of the
-- transaction. In plpgsql, which keeps the plan: a function in SQL is planned anew by each
-- statement that calls it.
CREATE OR REPLACE FUNCTION shipments.of_number(number text) RETURNS SETOF shipments.shipment
    LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 1 SET search_path = pg_catalog AS $$
BEGIN
    RETURN QUERY SELECT * FROM shipments.shipment s
        WHERE s.organization_id = current_setting('wharf.organization', true)
            AND lower(s.tracking_number) = lower(of_number.number) AND s.deleted_at IS NULL;
END
$$;
