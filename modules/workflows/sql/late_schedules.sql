-- Returns the organizations with schedules that should have been looked at.
CREATE OR REPLACE FUNCTION workflows.late_schedules() RETURNS SETOF text
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog SET enable_seqscan = off AS $$
    SELECT organization_id FROM workflows.schedule WHERE next_at <= wharf.now()
    UNION SELECT organization_id FROM workflows.schedule
        WHERE reckoned_at > wharf.now() + interval '1 hour'
$$;
