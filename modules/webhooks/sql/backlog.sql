-- Tells how many lines of deliveries are due, and since when the first of them waits. See
-- wharf.count_backlogs.
CREATE OR REPLACE FUNCTION webhooks.backlog(OUT waiting bigint, OUT oldest timestamptz)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
    SELECT count(*), min(next_attempt_at) FROM webhooks.queue
    WHERE NOT in_flight AND next_attempt_at <= wharf.now()
$$;
