-- Returns the first instant after v_now at that minute of the day, UTC.
CREATE OR REPLACE FUNCTION wharf.job_next_day(v_now timestamptz, v_minute integer)
    RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN t > v_now THEN t ELSE t + interval '24 hours' END
    FROM (SELECT (date_trunc('day', v_now AT TIME ZONE 'UTC')
            + make_interval(mins => v_minute)) AT TIME ZONE 'UTC' AS t) d
$$;
