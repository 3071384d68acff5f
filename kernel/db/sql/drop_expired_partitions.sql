-- Drops the partitions in which everything is over for everybody; those of events while no delivery
-- may still be under way. Drops at most `most` of them (NULL: all) and returns how many; a server
-- at work drops one in a transaction, for the reason in ensure_partitions.sql. They are not waited
-- for while others use the tables, and nothing is dropped while `wharf verify` or a backup reads.
-- Seals and what processing added follow their log lines and events.
DROP FUNCTION IF EXISTS wharf.drop_expired_partitions();
CREATE OR REPLACE FUNCTION wharf.drop_expired_partitions(most integer DEFAULT NULL) RETURNS integer
    LANGUAGE plpgsql SET lock_timeout = '2s' AS $$
DECLARE
    at timestamptz := wharf.now();
    longest integer;
    longest_request integer;
    part record;
    alive boolean;
    dropped integer := 0;
BEGIN
    -- Waits for another drop, which holds the lock below too: 0 would say that nothing is left.
    PERFORM pg_advisory_xact_lock(hashtextextended('wharf.partitions', 0));
    IF NOT pg_try_advisory_xact_lock(hashtextextended('wharf.verify', 0)) THEN
        RETURN 0;
    END IF;
    SELECT max(wharf.log_days(settings, 'retain_days', 365)),
        max(wharf.log_days(settings, 'request_retain_days', 14))
        INTO longest, longest_request FROM wharf.organization;
    FOR part IN
        SELECT c.oid::regclass AS name, p.kind,
            (regexp_match(pg_get_expr(c.relpartbound, c.oid),
                'FROM \(''([^'']+)''\)'))[1]::timestamptz AS begins,
            (regexp_match(pg_get_expr(c.relpartbound, c.oid),
                'TO \(''([^'']+)''\)'))[1]::timestamptz AS ends
        FROM unnest(ARRAY['change_log', 'request_log', 'event', 'log_seal',
                'event_done']) WITH ORDINALITY AS p(kind, n)
        JOIN pg_inherits i ON i.inhparent = ('wharf.' || p.kind)::regclass
        JOIN pg_class c ON c.oid = i.inhrelid
        ORDER BY p.n
    LOOP
        CONTINUE WHEN part.ends IS NULL;
        IF part.kind = 'event' THEN
            CONTINUE WHEN part.ends > at;
            EXECUTE format(
                'SELECT EXISTS (SELECT FROM %s WHERE expires_at > $1 - interval ''72 hours'')',
                part.name) INTO alive USING at;
        ELSIF part.kind = 'request_log' THEN
            alive := part.ends > at - make_interval(days => COALESCE(longest_request, 14));
        ELSIF part.kind = 'change_log' THEN
            -- A row may be sealed after younger ones: a day between keeps what is left one chain.
            alive := part.ends > at - make_interval(days => COALESCE(longest, 365) + 1)
                OR EXISTS (SELECT FROM wharf.outbox o
                    WHERE o.log_id IS NOT NULL AND o.created_at < part.ends);
            IF NOT alive THEN
                UPDATE wharf.log_chain c SET base_sequence = l.sequence, base_hash = l.hash FROM (
                    SELECT DISTINCT ON (s.organization_id) s.organization_id, s.sequence, s.hash
                        FROM wharf.log_seal s
                    WHERE s.created_at >= part.begins AND s.created_at < part.ends
                        ORDER BY s.organization_id, s.sequence DESC) l
                    WHERE c.organization_id = l.organization_id AND l.sequence > c.base_sequence;
            END IF;
        ELSE
            CONTINUE WHEN part.ends > at;
            EXECUTE format(
                'SELECT EXISTS (SELECT FROM wharf.%I WHERE created_at >= $1 AND created_at < $2)',
                CASE part.kind WHEN 'log_seal' THEN 'change_log' ELSE 'event' END) INTO alive
                    USING part.begins, part.ends;
        END IF;
        CONTINUE WHEN alive;
        EXECUTE format('DROP TABLE %s', part.name);
        dropped := dropped + 1;
        EXIT WHEN dropped >= most;
    END LOOP;
    RETURN dropped;
END
$$;
