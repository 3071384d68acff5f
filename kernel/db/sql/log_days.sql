-- Returns the days of settings.logs.<key>. A test organization has the settings of its live one
-- (docs/decisions 10).
CREATE OR REPLACE FUNCTION wharf.log_days(settings jsonb, key text, otherwise integer)
    RETURNS integer LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN settings #>> ARRAY['logs', key] ~ '^[1-9][0-9]{0,3}$'
        THEN (settings #>> ARRAY['logs', key])::integer ELSE otherwise END
$$;
