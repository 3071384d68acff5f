-- Gives the role of plugins' SQL its rights, which a restore into another cluster does not bring.
DO $$
BEGIN
    IF to_regprocedure('wharf.grant_plugin(text)') IS NOT NULL THEN
        PERFORM wharf.grant_plugin(n.nspname::text)
        FROM pg_namespace n
        WHERE n.nspname IN (SELECT plugin FROM wharf.migration WHERE plugin <> 'wharf')
            AND (
                NOT has_schema_privilege('wharf_plugin', n.oid, 'USAGE')
                OR EXISTS (
                    SELECT FROM pg_class c
                    WHERE c.relnamespace = n.oid
                        AND c.relkind IN ('r', 'p')
                        AND NOT has_table_privilege('wharf_plugin', c.oid, 'SELECT')
                )
            );
        IF NOT has_schema_privilege('wharf_plugin', 'wharf', 'USAGE')
            OR EXISTS (
                SELECT FROM pg_class c
                WHERE c.relnamespace = 'wharf'::regnamespace
                    AND obj_description(c.oid, 'pg_class') = 'wharf:served'
                    AND NOT has_table_privilege('wharf_plugin', c.oid, 'SELECT')
            ) THEN
            PERFORM wharf.grant_identity();
        END IF;
    END IF;
END $$
