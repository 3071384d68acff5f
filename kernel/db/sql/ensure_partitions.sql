-- wharf: order=first
-- Makes the partitions of the month before `at` to two months after it, for every table of any
-- schema that is partitioned by ranges of created_at, with the statistics targets of its columns
-- (LIKE leaves these out). Moves rows that fell into the default partition meanwhile. Makes at most
-- `most` of them (NULL: all). Returns how many partitions it made. A server at work makes one in a
-- transaction: with the locks of one table it can't be part of a deadlock.
DROP FUNCTION IF EXISTS wharf.ensure_partitions(timestamptz);
CREATE OR REPLACE FUNCTION wharf.ensure_partitions(at timestamptz, most integer DEFAULT NULL)
    RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    parent record;
    first_day timestamp;
    from_at timestamptz;
    to_at timestamptz;
    name text;
    col record;
    made integer := 0;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('wharf.partitions', 0));
    FOR parent IN
        SELECT n.nspname AS schema, c.relname AS "table", c.oid, d.relname AS default_table
        FROM pg_partitioned_table p
        JOIN pg_class c ON c.oid = p.partrelid
        JOIN pg_namespace n ON n.oid = c.relnamespace
        JOIN pg_attribute k ON k.attrelid = c.oid AND k.attnum = p.partattrs[0]
            AND k.attname = 'created_at'
        LEFT JOIN pg_class d ON d.oid = NULLIF(p.partdefid, 0)
        WHERE p.partstrat = 'r' AND p.partnatts = 1
    LOOP
        FOR month IN -1 .. 2 LOOP
            first_day := date_trunc('month', at AT TIME ZONE 'UTC')
                + make_interval(months => month);
            from_at := first_day AT TIME ZONE 'UTC';
            to_at := (first_day + interval '1 month') AT TIME ZONE 'UTC';
            name := format('%s_%s', parent."table", to_char(first_day, '"y"YYYY"m"MM'));
            CONTINUE WHEN to_regclass(format('%I.%I', parent.schema, name)) IS NOT NULL;
            EXECUTE format('CREATE TABLE %I.%I (LIKE %I.%I INCLUDING ALL)', parent.schema, name,
                parent.schema, parent."table");
            FOR col IN SELECT a.attname, a.attstattarget FROM pg_attribute a
                WHERE a.attrelid = parent.oid AND a.attnum > 0
                AND NOT a.attisdropped AND a.attstattarget >= 0
            LOOP
                EXECUTE format('ALTER TABLE %I.%I ALTER COLUMN %I SET STATISTICS %s', parent.schema,
                    name, col.attname, col.attstattarget);
            END LOOP;
            IF parent.default_table IS NOT NULL THEN
                EXECUTE format(
                    'WITH moved AS (DELETE FROM %I.%I WHERE created_at >= $1 AND created_at < $2'
                    ' RETURNING *)'
                    ' INSERT INTO %I.%I SELECT * FROM moved', parent.schema, parent.default_table,
                    parent.schema, name)
                    USING from_at, to_at;
            END IF;
            EXECUTE format('ALTER TABLE %I.%I ATTACH PARTITION %I.%I FOR VALUES FROM (%L) TO (%L)',
                parent.schema, parent."table", parent.schema, name, from_at, to_at);
            IF (SELECT relrowsecurity FROM pg_class WHERE oid = parent.oid) THEN
                PERFORM wharf.protect_table(format('%I.%I', parent.schema, name)::regclass);
            END IF;
            made := made + 1;
            IF made >= most THEN
                RETURN made;
            END IF;
        END LOOP;
    END LOOP;
    RETURN made;
END
$$;
