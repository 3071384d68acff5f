-- Pauses the endpoints that answered 429, for all webhooks with that url. Of several answers to
-- one burst the longest pause counts, and one doubling.
CREATE OR REPLACE FUNCTION webhooks.pause(reports webhooks.outcome[], at timestamptz) RETURNS void
    LANGUAGE plpgsql AS $$
DECLARE
    e record;
    old webhooks.endpoint;
    times integer;
    wait_ms bigint;
BEGIN
    FOR e IN
        SELECT x.o, x.u, max(x.p) AS asked, bool_or(x.st = 'rate_limited') AS limited
        FROM unnest(reports) AS x GROUP BY x.o, x.u ORDER BY x.o, x.u
    LOOP
        IF NOT e.limited THEN
            UPDATE webhooks.endpoint k SET streak = 0
                WHERE k.organization_id = e.o AND k.url = e.u AND k.streak > 0
                AND COALESCE(k.paused_until, '-infinity') <= at;
            CONTINUE;
        END IF;
        INSERT INTO webhooks.endpoint (organization_id, url) VALUES (e.o, e.u)
            ON CONFLICT DO NOTHING;
        SELECT * INTO old FROM webhooks.endpoint k WHERE k.organization_id = e.o AND k.url = e.u
            FOR UPDATE;
        times := CASE WHEN old.paused_until > at THEN GREATEST(1, old.streak)
            ELSE old.streak + 1 END;
        wait_ms := CASE WHEN e.asked > 0 THEN e.asked
            ELSE LEAST(900000, 30000 * power(2, LEAST(times, 10) - 1)::bigint) END;
        UPDATE webhooks.endpoint k SET streak = times,
            paused_until = GREATEST(COALESCE(k.paused_until, '-infinity'),
                at + wait_ms * interval '1 millisecond')
            WHERE k.organization_id = e.o AND k.url = e.u;
        UPDATE webhooks.runtime k
            SET held_since = COALESCE(k.held_since, at), slow_limit = 1,
            next_due_at = LEAST(k.next_due_at, at)
            FROM (SELECT o.organization_id, o.webhook_id FROM webhooks.webhook w
                JOIN webhooks.runtime o ON o.organization_id = w.organization_id
                    AND o.webhook_id = w.id
                WHERE w.organization_id = e.o AND w.url = e.u ORDER BY 1, 2 FOR UPDATE OF o) l
            WHERE k.organization_id = l.organization_id AND k.webhook_id = l.webhook_id;
    END LOOP;
END
$$;
