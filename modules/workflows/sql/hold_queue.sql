-- Takes the lock of an organization's queue until the end of the transaction.
CREATE OR REPLACE FUNCTION workflows.hold_queue(org text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    -- what a crash of the database takes back is run again
    PERFORM set_config('synchronous_commit', 'off', true);
    PERFORM pg_advisory_xact_lock(hashtextextended('workflows.queue ' || org, 0));
END
$$;
