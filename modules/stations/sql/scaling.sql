-- Returns scaling as a factor from 0.25 to 3 (spec 04 section 6). Numbers from 25 to 300 are
-- percent, as older versions stored them; all others go to the nearest bound.
CREATE OR REPLACE FUNCTION stations.scaling(v numeric) RETURNS numeric
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN v IS NULL THEN 1
        WHEN v BETWEEN 0.25 AND 3 THEN v
        WHEN v BETWEEN 25 AND 300 THEN v / 100
        WHEN v < 0.25 THEN 0.25
        ELSE 3 END
$$;
