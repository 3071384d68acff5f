-- Releases runs that were claimed and not begun; ids: an array of texts.
CREATE OR REPLACE FUNCTION workflows.release(org text, its_worker text, ids json) RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog
    SET enable_seqscan = off AS $$
    UPDATE workflows.run r
        SET status = 'queued', worker = NULL, lease_until = NULL, attempt = r.attempt - 1,
        started_at = NULL
    FROM json_array_elements_text(ids) AS g(i)
    WHERE r.organization_id = org AND r.id = g.i AND r.status = 'running' AND r.worker = its_worker
$$;
