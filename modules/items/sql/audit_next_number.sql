-- Returns the next number of an audit at a location that none of its audits has. Its row of the
-- counter stays locked until the transaction ends.
CREATE OR REPLACE FUNCTION items.audit_next_number(location text) RETURNS text
    LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    org CONSTANT text := current_setting('wharf.organization', true);
    n bigint;
BEGIN
    LOOP
        INSERT INTO items.audit_counter AS c (organization_id, location_id, last)
        VALUES (org, location, 1)
        ON CONFLICT (organization_id, location_id) DO UPDATE SET last = c.last + 1
        RETURNING c.last INTO n;
        EXIT WHEN NOT EXISTS (
            SELECT 1
            FROM items.audit a
            WHERE a.organization_id = org AND a.location_id = location
                AND lower(a.number) = 'aud-' || n AND a.deleted_at IS NULL
        );
    END LOOP;
    RETURN 'AUD-' || n;
END
$$;
