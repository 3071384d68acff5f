-- Returns the way to a layout, from the root down, by position and name: in the order of these
-- arrays one walks depth-first through the layouts of a location.
CREATE OR REPLACE FUNCTION fulfillments.way(organization text, layout text) RETURNS text[]
    LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN (
        WITH RECURSIVE up AS (
            SELECT y.path, y.position, y.name, y.id, 1 AS n
            FROM locations.layout y
            WHERE y.organization_id = organization AND y.id = layout
            UNION ALL
            SELECT y.path, y.position, y.name, y.id, u.n + 1
            FROM up u
            JOIN locations.layout y ON y.organization_id = organization AND y.id = u.path
            WHERE u.n < 64
        )
        SELECT array_agg(
            (lpad(u.position::text, 19, '0') || lower(u.name) || ' ' || u.id) COLLATE "C"
            ORDER BY u.n DESC
        )
        FROM up u
    );
END
$$;
