-- Tells what waits in the whole installation and how long the oldest of it has: events that were
-- not processed, jobs that are due, and what plugins tell by a function backlog() of their schema,
-- which returns one row (waiting bigint, oldest timestamptz). For GET /metrics.
CREATE OR REPLACE FUNCTION wharf.count_backlogs()
    RETURNS TABLE (name text, waiting bigint, age_ms bigint)
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog AS $$
DECLARE
    plugin text;
BEGIN
    RETURN QUERY SELECT 'events', count(*), wharf.age_ms(min(o.created_at)) FROM wharf.outbox o;
    RETURN QUERY SELECT 'jobs', count(*), wharf.age_ms(min(j.run_at)) FROM wharf.job j
        WHERE j.state <> 'running' AND j.run_at <= wharf.now();
    FOR plugin IN SELECT DISTINCT m.plugin FROM wharf.migration m
        WHERE to_regprocedure(quote_ident(m.plugin) || '.backlog()') IS NOT NULL ORDER BY 1
    LOOP
        RETURN QUERY EXECUTE format(
            'SELECT %L, b.waiting, wharf.age_ms(b.oldest) FROM %I.backlog() b', plugin, plugin);
    END LOOP;
END
$$;

-- Tells for how many milliseconds that moment is past; none: 0.
CREATE OR REPLACE FUNCTION wharf.age_ms(at timestamptz) RETURNS bigint
    LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT COALESCE((extract(epoch FROM wharf.now() - at) * 1000)::bigint, 0)
$$;
