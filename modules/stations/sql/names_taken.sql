-- Tells whether another station of a location has a name, or a name that is shown, in lower or
-- upper case; by indexes that row-level security keeps from a plugin's statement (as
-- shipments.of_number).
CREATE OR REPLACE FUNCTION stations.names_taken(location text, self text, name text, shown text)
RETURNS TABLE (name_taken boolean, shown_taken boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    org text := current_setting('wharf.organization', true);
BEGIN
    RETURN QUERY SELECT
        EXISTS (SELECT FROM stations.print_station s
            WHERE s.organization_id = org AND s.location_id = names_taken.location
                AND lower(s.name) = lower(names_taken.name)
                AND s.id <> names_taken.self AND s.deleted_at IS NULL),
        EXISTS (SELECT FROM stations.print_station s
            WHERE s.organization_id = org AND s.location_id = names_taken.location
                AND lower(s.display_name) = lower(names_taken.shown)
                AND s.id <> names_taken.self AND s.deleted_at IS NULL);
END
$$;
