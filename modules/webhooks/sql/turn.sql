-- Settles what is over (`given`, as of complete) and takes what comes next, in one statement: an
-- engine asks for it beside its requests (docs/internals/webhooks.md 'How it works'). Returns rows
-- of `what`: send, a delivery to be sent (as claim answers); busy, an attempt that somebody else
-- held and that is to be told again; due, with the milliseconds in `retries` until there is
-- something to do, when there is room left.
DROP FUNCTION IF EXISTS webhooks.turn(text, json, text[]);
CREATE OR REPLACE FUNCTION webhooks.turn(its_server text, given json, ids text[])
    RETURNS TABLE (what text,
    organization_id text, webhook_id text, version bigint, attempt_id text, started_at timestamptz,
    lane text, resource_type text,
    resource_id text, delivery_id text, delivery_at timestamptz, event_id text, event_type text,
    sequence bigint, attempt integer,
    retries integer, trigger text, superseded integer, traceparent text, body text,
    parts text, parts_seen text, parts_at integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
#variable_conflict use_column
DECLARE
    n integer;
BEGIN
    IF given IS NOT NULL THEN
        RETURN QUERY SELECT 'busy', NULL, NULL, NULL::bigint, c.busy, NULL::timestamptz, NULL, NULL,
            NULL, NULL, NULL::timestamptz, NULL, NULL, NULL::bigint,
            NULL::integer, NULL::integer, NULL, NULL::integer, NULL, NULL, NULL, NULL,
            NULL::integer
            FROM webhooks.complete(its_server, given) c;
    END IF;
    RETURN QUERY SELECT 'send', c.* FROM webhooks.claim(its_server, ids) c;
    GET DIAGNOSTICS n = ROW_COUNT;
    IF n = 0 OR n < cardinality(ids) THEN
        RETURN QUERY SELECT 'due', NULL, NULL, NULL::bigint, NULL, NULL::timestamptz, NULL, NULL,
            NULL, NULL, NULL::timestamptz, NULL, NULL, NULL::bigint,
            NULL::integer,
            CASE WHEN EXISTS (SELECT FROM webhooks.poke) THEN LEAST(20, webhooks.next_due())
                ELSE webhooks.next_due() END, NULL,
            NULL::integer, NULL, NULL, NULL, NULL, NULL::integer;
    END IF;
END
$$;
