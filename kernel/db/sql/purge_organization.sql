-- Deletes every row of one organization that was deleted 30 days ago, and of its test twin, in
-- every table of every module that has rows by organization. Returns false when there is none.
CREATE OR REPLACE FUNCTION wharf.purge_organization() RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    gone text[];
    target regclass;
    waiting regclass[];
    left_over regclass[];
BEGIN
    SELECT array_remove(ARRAY[id, test_organization_id], NULL) INTO gone FROM wharf.organization
    WHERE mode = 'live' AND deleted_at < wharf.now() - interval '30 days' ORDER BY deleted_at
        LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    SELECT array_agg(c.oid::regclass ORDER BY c.oid DESC) INTO waiting FROM pg_class c
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'organization_id'
        AND NOT a.attisdropped
    WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND EXISTS
        (SELECT FROM pg_policy p WHERE p.polrelid = c.oid AND p.polname = 'organization');
    -- Tables that others refer to wait until those are empty.
    WHILE waiting IS NOT NULL LOOP
        left_over := NULL;
        FOREACH target IN ARRAY waiting LOOP
            BEGIN
                EXECUTE format('DELETE FROM %s WHERE organization_id = ANY ($1)', target)
                    USING gone;
            EXCEPTION WHEN foreign_key_violation THEN
                left_over := left_over || target;
            END;
        END LOOP;
        IF left_over = waiting THEN
            RAISE EXCEPTION 'rows of organization % refer to each other in %', gone[1], left_over;
        END IF;
        waiting := left_over;
    END LOOP;
    RETURN true;
END
$$;
