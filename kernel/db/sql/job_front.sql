-- Returns the job in front of a line: the one that runs, else the oldest. A job may be leased
-- when that is itself.
CREATE OR REPLACE FUNCTION wharf.job_front(v_organization text, v_lane text, v_key text)
    RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT id FROM wharf.job
        WHERE lane = v_lane AND key = v_key AND key <> ''
        AND (organization_id || '') = v_organization
        ORDER BY (state <> 'running'), (id + 0) LIMIT 1);
END
$$;
