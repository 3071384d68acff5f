-- wharf: phase=expand
-- When a schedule's next time was reckoned. That lies ahead of now when the clock was set back; by more than an hour, the next time is reckoned anew, or else
-- nothing would run until the clock is where it was.
ALTER TABLE workflows.schedule ADD COLUMN reckoned_at timestamptz(3) NOT NULL DEFAULT wharf.now();
CREATE INDEX schedule_reckoned ON workflows.schedule (reckoned_at);

CREATE OR REPLACE FUNCTION workflows.late_schedules() RETURNS SETOF text LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog SET enable_seqscan = off AS $$
    SELECT organization_id FROM workflows.schedule WHERE next_at <= wharf.now()
    UNION SELECT organization_id FROM workflows.schedule WHERE reckoned_at > wharf.now() + interval '1 hour'
$$;
