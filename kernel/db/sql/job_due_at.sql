-- Returns when a schedule is due. What lies further away than its period was written before the
-- clock was set back, and is due now: without this nothing would fire until the clock is where it
-- was. Less than a minute is what clocks are corrected by all the time, and nothing is done twice
-- for it.
CREATE OR REPLACE FUNCTION wharf.job_due_at(s wharf.job_schedule, v_now timestamptz)
    RETURNS timestamptz LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN CASE WHEN s.next_at > v_now
        + COALESCE(s.every_us * interval '1 microsecond', interval '24 hours') + interval '1 minute'
        THEN v_now
        ELSE s.next_at END;
END
$$;
