-- Deletes up to `most` mails of the outbox that are older than 30 days, and returns how many.
CREATE OR REPLACE FUNCTION wharf.purge_mail_outbox(most integer) RETURNS integer LANGUAGE sql AS $$
    WITH over AS (DELETE FROM wharf.mail_outbox WHERE (organization_id, id) IN (
        SELECT organization_id, id FROM wharf.mail_outbox
            WHERE created_at < wharf.now() - interval '30 days' LIMIT most) RETURNING 1)
    SELECT count(*)::integer FROM over
$$;
