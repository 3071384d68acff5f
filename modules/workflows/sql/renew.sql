-- Renews a run for whoever runs it, who asks about twice a second. Returns "go on", "cancel", or
-- "lost": it is somebody else's by now, or over. All runs of the worker are its own for another
-- 60 seconds.
CREATE OR REPLACE FUNCTION workflows.renew(org text, its_worker text, its_id text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog
    SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
    at timestamptz(3) := wharf.now();
    mine record;
BEGIN
    SELECT r.cancel, r.lease_until, r.workflow_id INTO mine FROM workflows.run r
        WHERE r.organization_id = org AND r.id = its_id AND r.status = 'running'
            AND r.worker = its_worker;
    IF NOT FOUND THEN
        RETURN 'lost';
    END IF;
    IF mine.lease_until < at + interval '45 seconds' THEN
        PERFORM set_config('synchronous_commit', 'off', true);
        UPDATE workflows.run r SET lease_until = at + interval '60 seconds'
            WHERE r.organization_id = org AND r.workflow_id = mine.workflow_id
                AND r.status = 'running' AND r.worker = its_worker;
    END IF;
    RETURN CASE WHEN mine.cancel THEN 'cancel' ELSE 'go on' END;
END
$$;
