-- Drops the partitions of a table whose newest possible row is older than `before`. Returns how
-- many; none while `wharf verify` reads, since to wait for it would make requests wait.
CREATE OR REPLACE FUNCTION wharf.drop_partitions(parent regclass, before timestamptz)
    RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    part record;
    dropped integer := 0;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('wharf.verify', 0)) THEN
        RETURN 0;
    END IF;
    FOR part IN
        SELECT c.oid::regclass AS name,
            (regexp_match(pg_get_expr(c.relpartbound, c.oid),
                'TO \(''([^'']+)''\)'))[1]::timestamptz AS ends
        FROM pg_inherits i
        JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = parent
    LOOP
        IF part.ends <= before THEN
            EXECUTE format('DROP TABLE %s', part.name);
            dropped := dropped + 1;
        END IF;
    END LOOP;
    RETURN dropped;
END
$$;
