-- Returns the job in front of a line: the one that runs, else the oldest. A job may be leased
-- when that is itself.
CREATE OR REPLACE FUNCTION wharf.job_front(v_organization text, v_lane text, v_key text) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT id FROM wharf.job WHERE lane = $2 AND key = $3 AND key <> '' AND (organization_id || '') = $1
    ORDER BY (state <> 'running'), (id + 0) LIMIT 1
$$;
