-- wharf: order=first
-- Returns a moment as answers write it.
CREATE OR REPLACE FUNCTION trackers.moment(t timestamptz) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT to_char(t AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;
