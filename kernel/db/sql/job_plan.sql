-- Makes a job's schedule known; a changed one begins anew.
CREATE OR REPLACE FUNCTION wharf.job_plan(v_queue text, v_lane text, v_every_us bigint,
    v_at_minute integer, v_each boolean) RETURNS void
    LANGUAGE sql AS $$
    INSERT INTO wharf.job_schedule AS s (queue, lane, every_us, at_minute, each_organization,
        next_at)
    VALUES ($1, $2, $3, $4, $5,
        CASE WHEN $3 IS NOT NULL THEN wharf.now() + $3 * interval '1 microsecond'
        ELSE wharf.job_next_day(wharf.now(), $4) END)
    ON CONFLICT (queue) DO UPDATE
        SET lane = EXCLUDED.lane, every_us = EXCLUDED.every_us, at_minute = EXCLUDED.at_minute,
        each_organization = EXCLUDED.each_organization, next_at = CASE
            WHEN (s.every_us, s.at_minute)
                IS NOT DISTINCT FROM (EXCLUDED.every_us, EXCLUDED.at_minute) THEN s.next_at
            ELSE EXCLUDED.next_at END
    WHERE (s.lane, s.every_us, s.at_minute, s.each_organization)
        IS DISTINCT FROM (EXCLUDED.lane, EXCLUDED.every_us, EXCLUDED.at_minute,
            EXCLUDED.each_organization)
$$;
