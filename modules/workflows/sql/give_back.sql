-- Gives back what a job had that runs again: it is not over. Runs that were begun and those that
-- were not can't be told apart.
CREATE OR REPLACE FUNCTION workflows.give_back(org text, its_worker text) RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog AS $$
    UPDATE workflows.run
        SET status = 'waiting', worker = NULL, lease_until = NULL, due_at = wharf.now()
    WHERE organization_id = org AND status = 'running' AND worker = its_worker
$$;
