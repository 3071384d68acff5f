-- Returns the locations that a record carries: its set, else its one location.
CREATE OR REPLACE FUNCTION wharf.recorded_locations(v_locations jsonb, v_location text)
    RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN v_locations IS NULL AND v_location IS NOT NULL THEN jsonb_build_array(v_location)
        ELSE v_locations
    END
$$;
