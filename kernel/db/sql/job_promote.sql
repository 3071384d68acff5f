-- Makes the job in front of a line ready when it waits for nothing any more. Runs as a statement
-- of its own after the one that took away the job before it: only then it sees what a leasing
-- worker has marked meanwhile.
CREATE OR REPLACE FUNCTION wharf.job_promote(v_organization text, v_lane text, v_key text)
    RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_front bigint := wharf.job_front(v_organization, v_lane, v_key);
BEGIN
    UPDATE wharf.job SET state = 'ready'
        WHERE organization_id = v_organization AND id = v_front AND state = 'blocked';
END
$$;
