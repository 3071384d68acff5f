-- Returns the part of attempts that failed, 0 to 1; 0 without attempts.
CREATE OR REPLACE FUNCTION webhooks.rate(success bigint, failure bigint) RETURNS numeric
    LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN success + failure = 0 THEN 0
        ELSE round(failure::numeric / (success + failure), 4) END
$$;
