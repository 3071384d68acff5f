-- Makes the settings of a batch's transaction, until its end: it is given up when its worker is
-- silent. durable false: its commit does not wait for the disk, and it meets the list of what
-- others have put off of a GIN index before they do.
CREATE OR REPLACE FUNCTION batches.begun(durable boolean) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('idle_in_transaction_session_timeout', '20s', true);
    IF NOT durable THEN
        PERFORM set_config('synchronous_commit', 'off', true);
        PERFORM set_config('gin_pending_list_limit', '3500kB', true);
    END IF;
END
$$;
