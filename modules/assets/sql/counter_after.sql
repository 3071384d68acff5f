-- Returns what follows a counter of digits and capital letters: the last place steps, 9 to 0 and Z
-- to A with one step of the place before it; one place more where there is none before (99 to 100,
-- ZZ to AAA).
CREATE OR REPLACE FUNCTION assets.counter_after(counter text) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    place integer := length(counter);
    sign text;
BEGIN
    WHILE place > 0 LOOP
        sign := substr(counter, place, 1);
        IF sign NOT IN ('9', 'Z') THEN
            RETURN overlay(counter PLACING chr(ascii(sign) + 1) FROM place FOR 1);
        END IF;
        sign := CASE sign WHEN '9' THEN '0' ELSE 'A' END;
        counter := overlay(counter PLACING sign FROM place FOR 1);
        place := place - 1;
    END LOOP;
    RETURN CASE left(counter, 1) WHEN '0' THEN '1' ELSE 'A' END || counter;
END
$$;
