-- Tells how many runs are due and wait for a cell, and since when the first of them does. See
-- wharf.count_backlogs.
CREATE OR REPLACE FUNCTION workflows.backlog(OUT waiting bigint, OUT oldest timestamptz)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
    SELECT count(*), min(due_at) FROM workflows.run
    WHERE status IN ('queued', 'waiting') AND due_at <= wharf.now()
$$;
