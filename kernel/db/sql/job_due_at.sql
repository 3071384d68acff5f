-- Periods when the clock was set back by more than they are long: what was due a period from then lies further away than a period from now. Without this
-- nothing would fire until the clock is where it was. Less than a minute is what clocks are corrected by all the time, and nothing is done twice for it.
CREATE OR REPLACE FUNCTION wharf.job_due_at(s wharf.job_schedule, v_now timestamptz) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN s.next_at > v_now + COALESCE(s.every_us * interval '1 microsecond', interval '24 hours') + interval '1 minute' THEN v_now ELSE s.next_at END
$$;
